package token

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

func modelOf(p part) (model, error) {
	kind := p.kind()
	if kind == "" { // files of before 2020 do not say
		switch {
		case p["merges"] != nil:
			kind = "BPE"
		case p["continuing_subword_prefix"] != nil:
			kind = "WordPiece"
		}
	}
	switch kind {
	case "WordPiece":
		return newWordPiece(p)
	case "WordLevel":
		v, err := vocabulary(p)
		return wordLevel{v}, err
	case "BPE":
		return newBPE(p)
	case "Unigram":
		return newUnigram(p)
	}
	return nil, invalid("the model %.40q is not known", kind)
}

// A vocab is the tokens of a model that has them by name.
type vocab struct {
	id     map[string]int32
	unk    int32
	hasUnk bool
}

func vocabulary(p part) (vocab, error) {
	v := vocab{id: field[map[string]int32](p, "vocab")}
	if len(v.id) == 0 {
		return v, invalid("the vocabulary is empty, or no map from tokens to numbers")
	}
	if unk := field[string](p, "unk_token"); unk != "" {
		v.unk, v.hasUnk = v.id[unk]
	}
	return v, nil
}

func (v vocab) unknown() (int32, bool) { return v.unk, v.hasUnk }

func (v vocab) ids(yield func(string, int32)) {
	for s, id := range v.id {
		yield(s, id)
	}
}

func (v vocab) miss(out []int32) []int32 {
	if v.hasUnk {
		out = append(out, v.unk)
	}
	return out
}

type wordLevel struct{ vocab }

func (w wordLevel) cut(piece string, out []int32) []int32 {
	if id, ok := w.id[piece]; ok {
		return append(out, id)
	}
	return w.miss(out)
}

// wordPiece takes the longest beginning that is a token, again and again
// (Schuster & Nakajima, ICASSP 2012).
type wordPiece struct {
	vocab
	prefix  string
	most    int // runes of a word; longer ones are unknown
	longest int // bytes of a token
}

func newWordPiece(p part) (model, error) {
	v, err := vocabulary(p)
	w := wordPiece{vocab: v, prefix: fieldOr(p, "continuing_subword_prefix", "##"), most: fieldOr(p, "max_input_chars_per_word", 100)}
	for s := range v.id {
		w.longest = max(w.longest, len(s))
	}
	return w, err
}

func (w wordPiece) cut(piece string, out []int32) []int32 {
	if utf8.RuneCountInString(piece) > w.most {
		return w.miss(out)
	}
	n := len(out)
	for at := 0; at < len(piece); {
		prefix := ""
		if at > 0 {
			prefix = w.prefix
		}
		end := min(len(piece), at+w.longest)
		for end > at {
			if id, ok := w.id[prefix+piece[at:end]]; ok {
				out = append(out, id)
				break
			}
			for end--; end > at && !utf8.RuneStart(piece[end]); end-- {
			}
		}
		if end == at {
			return w.miss(out[:n]) // all of the word
		}
		at = end
	}
	return out
}

// bpe merges the pair of neighbours that was merged first in training, again and
// again (Sennrich et al., ACL 2016).
type bpe struct {
	vocab
	rank        map[[2]string]int
	prefix      string // of what continues a word
	suffix      string // of what ends one
	fuse, bytes bool
	whole       bool // a word that is a token is not cut
}

func newBPE(p part) (model, error) {
	v, err := vocabulary(p)
	if err != nil {
		return nil, err
	}
	b := bpe{
		vocab: v, rank: map[[2]string]int{}, prefix: field[string](p, "continuing_subword_prefix"), suffix: field[string](p, "end_of_word_suffix"),
		fuse: field[bool](p, "fuse_unk"), bytes: field[bool](p, "byte_fallback"), whole: field[bool](p, "ignore_merges"),
	}
	for i, raw := range field[[]json.RawMessage](p, "merges") {
		var pair [2]string
		var text string
		if json.Unmarshal(raw, &text) == nil {
			var ok bool
			if pair[0], pair[1], ok = strings.Cut(text, " "); !ok {
				return nil, invalid("merge %d is no pair", i)
			}
		} else if json.Unmarshal(raw, &pair) != nil {
			return nil, invalid("merge %d is no pair", i)
		}
		b.rank[pair] = i
	}
	return b, nil
}

// longestWord is how many symbols of one word are merged at once: the time grows
// with its square, and real words are short.
const longestWord = 512

func (b bpe) cut(piece string, out []int32) []int32 {
	if id, ok := b.id[piece]; ok && b.whole {
		return append(out, id)
	}
	symbols := make([]string, 0, len(piece))
	for i, r := range piece {
		s := string(r)
		if i > 0 && b.prefix != "" {
			s = b.prefix + s
		}
		symbols = append(symbols, s)
	}
	if len(symbols) > 0 && b.suffix != "" {
		symbols[len(symbols)-1] += b.suffix
	}
	for len(symbols) > 0 {
		n := min(len(symbols), longestWord)
		out = b.merge(symbols[:n:n], out)
		symbols = symbols[n:]
	}
	return out
}

func (b bpe) merge(symbols []string, out []int32) []int32 {
	for len(symbols) > 1 {
		best, at := math.MaxInt, -1
		for i := range len(symbols) - 1 {
			if r, ok := b.rank[[2]string{symbols[i], symbols[i+1]}]; ok && r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			break
		}
		symbols[at] += strings.TrimPrefix(symbols[at+1], b.prefix)
		symbols = append(symbols[:at+1], symbols[at+2:]...)
	}
	missed := false
	for _, s := range symbols {
		id, ok := b.id[s]
		if ok {
			out, missed = append(out, id), false
			continue
		}
		if b.bytes {
			if ids := byteTokens(b.id, s); ids != nil {
				out, missed = append(out, ids...), false
				continue
			}
		}
		if !missed || !b.fuse {
			out = b.miss(out)
		}
		missed = true
	}
	return out
}

// byteTokens are the tokens of the bytes of s, nil if not all have one.
func byteTokens(ids map[string]int32, s string) []int32 {
	out := make([]int32, 0, len(s))
	for i := range len(s) {
		id, ok := ids[fmt.Sprintf("<0x%02X>", s[i])]
		if !ok {
			return nil
		}
		out = append(out, id)
	}
	return out
}

// unigram takes the cut whose tokens are together most likely (Kudo, ACL 2018).
type unigram struct {
	id      map[string]int32
	score   []float64
	unk     int32
	hasUnk  bool
	penalty float64 // of a rune that is no token
	longest int     // bytes of a token
	bytes   bool
}

func newUnigram(p part) (model, error) {
	rows := field[[][2]json.RawMessage](p, "vocab")
	if len(rows) == 0 {
		return nil, invalid("the vocabulary is empty, or no list of tokens and scores")
	}
	u := unigram{id: make(map[string]int32, len(rows)), score: make([]float64, len(rows)), bytes: field[bool](p, "byte_fallback")}
	least := 0.0
	for i, row := range rows {
		var s string
		if json.Unmarshal(row[0], &s) != nil || json.Unmarshal(row[1], &u.score[i]) != nil {
			return nil, invalid("token %d has no score", i)
		}
		if _, twice := u.id[s]; !twice {
			u.id[s] = int32(i)
		}
		least, u.longest = min(least, u.score[i]), max(u.longest, len(s))
	}
	u.penalty = least - 10
	if raw, ok := p["unk_id"]; ok && string(raw) != "null" {
		n := field[int](p, "unk_id")
		if n < 0 || n >= len(rows) {
			return nil, invalid("the unknown token has number %d of %d", n, len(rows))
		}
		u.unk, u.hasUnk = int32(n), true
	}
	return u, nil
}

func (u unigram) unknown() (int32, bool) { return u.unk, u.hasUnk }

func (u unigram) ids(yield func(string, int32)) {
	for s, id := range u.id {
		yield(s, id)
	}
}

func (u unigram) cut(piece string, out []int32) []int32 {
	// best[i] is the most likely cut of the first i bytes: where its last token
	// begins, and which it is; -1 is a rune that has none.
	type step struct {
		score float64
		from  int
		id    int32
	}
	best := make([]step, len(piece)+1)
	for i := range best {
		best[i] = step{score: math.Inf(-1)}
	}
	best[0].score = 0
	for at := 0; at < len(piece); {
		_, width := utf8.DecodeRuneInString(piece[at:])
		single := false
		for end := at + width; end <= len(piece) && end-at <= u.longest; {
			if id, ok := u.id[piece[at:end]]; ok {
				if s := best[at].score + u.score[id]; s > best[end].score {
					best[end] = step{s, at, id}
				}
				single = single || end == at+width
			}
			if end == len(piece) {
				break
			}
			_, n := utf8.DecodeRuneInString(piece[end:])
			end += n
		}
		if s := best[at].score + u.penalty; !single && s > best[at+width].score {
			best[at+width] = step{s, at, -1}
		}
		at += width
	}
	var path []step
	var ends []int
	for at := len(piece); at > 0; at = best[at].from {
		path, ends = append(path, best[at]), append(ends, at)
	}
	missed := false
	for i, step := range slices.Backward(path) {
		if step.id >= 0 {
			out, missed = append(out, step.id), false
			continue
		}
		if u.bytes {
			if ids := byteTokens(u.id, piece[step.from:ends[i]]); ids != nil {
				out = append(out, ids...)
				continue
			}
		}
		if u.hasUnk && !missed { // neighbours are one
			out = append(out, u.unk)
		}
		missed = true
	}
	return out
}
