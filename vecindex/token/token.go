// Package token cuts text into the tokens of a model, as the tokenizer.json of
// its folder says: WordPiece, BPE, Unigram and WordLevel, with the usual ways to
// clean and split text before.
//
// What a file asks for and is not known here is an error, never passed over: other
// tokens would be other vectors. A text that spells a special token, such as [SEP],
// is text.
package token

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Bounds of a tokenizer file: the largest in use have some 17 MB and 250,000
// tokens.
const (
	maxFile   = 64 << 20
	maxTokens = 2 << 20
	maxDepth  = 8
)

// A Tokenizer cuts texts. It is safe for concurrent use.
type Tokenizer struct {
	normalize func(string) string
	split     func([]string) []string
	model     model
	before    []int32 // special tokens around a text
	after     []int32
	added     map[string]int32
	addedExpr *regexp.Regexp // finds them; nil if there are none
	max       int            // tokens of one text; 0 if the file does not say
	size      int
}

// A model cuts one piece of text.
type model interface {
	cut(piece string, out []int32) []int32
	unknown() (int32, bool)
	ids(yield func(string, int32))
}

// Unknown returns the id of the token for what has none, if the model has one.
func (t *Tokenizer) Unknown() (int32, bool) { return t.model.unknown() }

// Max returns how many tokens of one text the file says are read, 0 if it does not.
func (t *Tokenizer) Max() int { return t.max }

// Size returns one more than the largest id.
func (t *Tokenizer) Size() int { return t.size }

// longestText bounds what is looked at of a text, in bytes for each token that is
// wanted: no language has longer words in its vocabulary.
const longestText = 64

// Encode returns the tokens of a text, at most that many, with the special ones
// around if the model was trained with them and special says so.
func (t *Tokenizer) Encode(text string, special bool, most int) []int32 {
	if len(text) > most*longestText {
		text = strings.ToValidUTF8(text[:most*longestText], "")
	}
	var out []int32
	room := most
	if special {
		out = append(out, t.before...)
		room -= len(t.after)
	}
	for text != "" && len(out) < room {
		at, end := len(text), len(text)
		if t.addedExpr != nil {
			if m := t.addedExpr.FindStringIndex(text); m != nil {
				at, end = m[0], m[1]
			}
		}
		out = t.plain(text[:at], out)
		if at < end {
			out = append(out, t.added[text[at:end]])
		}
		text = text[end:]
	}
	if len(out) > room {
		out = out[:max(room, 0)]
	}
	if special {
		out = append(out, t.after...)
	}
	return out
}

func (t *Tokenizer) plain(text string, out []int32) []int32 {
	if text == "" {
		return out
	}
	for _, piece := range t.split([]string{t.normalize(text)}) {
		if piece != "" {
			out = t.model.cut(piece, out)
		}
	}
	return out
}

// part is an object of the file that says by its type what it is.
type part map[string]json.RawMessage

func (p part) kind() string { return field[string](p, "type") }

// field returns a value of p, the zero value if it is not there or of another type.
func field[T any](p part, name string) T {
	var v T
	if json.Unmarshal(p[name], &v) != nil {
		var zero T
		return zero
	}
	return v
}

// fieldOr is field with a default for what is not there.
func fieldOr[T any](p part, name string, or T) T {
	if raw, ok := p[name]; !ok || string(raw) == "null" {
		return or
	}
	return field[T](p, name)
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("tokenizer: %s: %w", fmt.Sprintf(format, args...), fold.ErrInvalid)
}

// Parse reads a tokenizer.json. It returns ErrInvalid if b is none, or asks for
// something that is not known here; the text names it.
func Parse(b []byte) (*Tokenizer, error) {
	if len(b) > maxFile {
		return nil, invalid("%d bytes", len(b))
	}
	var f struct {
		Truncation *struct {
			MaxLength int `json:"max_length"`
		} `json:"truncation"`
		Added []struct {
			ID      int32  `json:"id"`
			Content string `json:"content"`
			Special bool   `json:"special"`
		} `json:"added_tokens"`
		Normalizer    part `json:"normalizer"`
		PreTokenizer  part `json:"pre_tokenizer"`
		PostProcessor part `json:"post_processor"`
		Model         part `json:"model"`
	}
	if err := json.Unmarshal(b, &f); err != nil || f.Model == nil {
		return nil, invalid("it is no tokenizer.json with a model")
	}
	t := &Tokenizer{added: map[string]int32{}}
	var err error
	if t.normalize, err = normalizer(f.Normalizer, 0); err != nil {
		return nil, err
	}
	if t.split, err = splitter(f.PreTokenizer, 0); err != nil {
		return nil, err
	}
	if t.model, err = modelOf(f.Model); err != nil {
		return nil, err
	}
	known := map[string]int32{}
	t.model.ids(func(s string, id int32) { known[s] = id })
	var patterns []string
	for _, a := range f.Added {
		if a.Content == "" {
			continue
		}
		known[a.Content] = a.ID
		if !a.Special {
			t.added[a.Content] = a.ID
			patterns = append(patterns, regexp.QuoteMeta(a.Content))
		}
	}
	if len(known) > maxTokens {
		return nil, invalid("%d tokens", len(known))
	}
	for s, id := range known {
		if id < 0 || id >= maxTokens {
			return nil, invalid("token %.40q has number %d", s, id)
		}
		t.size = max(t.size, int(id)+1)
	}
	if len(patterns) > 0 && len(patterns) <= 4096 {
		slices.SortFunc(patterns, func(a, b string) int { return len(b) - len(a) }) // the longest first
		if t.addedExpr, err = regexp.Compile(strings.Join(patterns, "|")); err != nil {
			return nil, invalid("its added tokens cannot be looked for")
		}
	}
	if t.before, t.after, err = special(f.PostProcessor, 0); err != nil {
		return nil, err
	}
	if f.Truncation != nil && f.Truncation.MaxLength > 0 {
		t.max = f.Truncation.MaxLength
	}
	return t, nil
}

// special reads which tokens are put around a text.
func special(p part, depth int) (before, after []int32, err error) {
	if p == nil {
		return nil, nil, nil
	}
	switch p.kind() {
	case "BertProcessing", "RobertaProcessing":
		pair := func(name string) []int32 {
			v := field[[]json.RawMessage](p, name)
			if len(v) != 2 {
				return nil
			}
			var id int32
			if json.Unmarshal(v[1], &id) != nil {
				return nil
			}
			return []int32{id}
		}
		before, after = pair("cls"), pair("sep")
	case "TemplateProcessing":
		ids := field[map[string]struct {
			IDs []int32 `json:"ids"`
		}](p, "special_tokens")
		seen := false
		for _, step := range field[[]part](p, "single") {
			if _, ok := step["Sequence"]; ok {
				seen = true
				continue
			}
			tok := field[part](step, "SpecialToken")
			add := ids[field[string](tok, "id")].IDs
			if seen {
				after = append(after, add...)
			} else {
				before = append(before, add...)
			}
		}
	case "ByteLevel":
	case "Sequence":
		for _, q := range field[[]part](p, "processors") {
			if depth > maxDepth {
				return nil, nil, invalid("it is nested too deep")
			}
			b, a, err := special(q, depth+1)
			if err != nil {
				return nil, nil, err
			}
			before, after = append(before, b...), append(after, a...)
		}
	default:
		return nil, nil, invalid("the post processor %.40q is not known", p.kind())
	}
	if len(before)+len(after) > 16 {
		return nil, nil, invalid("%d special tokens around a text", len(before)+len(after))
	}
	for _, id := range slices.Concat(before, after) {
		if id < 0 || id >= maxTokens {
			return nil, nil, invalid("a special token has number %d", id)
		}
	}
	return before, after, nil
}
