package token

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitter returns what cuts cleaned text into pieces that a model is given one at
// a time.
func splitter(p part, depth int) (func([]string) []string, error) {
	if p == nil {
		return func(s []string) []string { return s }, nil
	}
	switch p.kind() {
	case "BertPreTokenizer":
		return each(func(s string, out []string) []string {
			for _, w := range strings.FieldsFunc(s, unicode.IsSpace) {
				out = isolate(w, isPunctuation, out)
			}
			return out
		}), nil
	case "Whitespace":
		words := regexp.MustCompile(`[\p{L}\p{M}\p{N}\p{Pc}]+|[^\p{L}\p{M}\p{N}\p{Pc}\s]+`)
		return each(func(s string, out []string) []string { return append(out, words.FindAllString(s, -1)...) }), nil
	case "WhitespaceSplit":
		return each(func(s string, out []string) []string { return append(out, strings.FieldsFunc(s, unicode.IsSpace)...) }), nil
	case "Punctuation":
		return each(func(s string, out []string) []string { return isolate(s, isPunctuation, out) }), nil
	case "Digits":
		if field[bool](p, "individual_digits") {
			return each(func(s string, out []string) []string { return isolate(s, unicode.IsNumber, out) }), nil
		}
		return each(digits), nil
	case "ByteLevel":
		prefix, by := fieldOr(p, "add_prefix_space", true), fieldOr(p, "use_regex", true)
		return each(func(s string, out []string) []string { return byteLevel(s, prefix, by, out) }), nil
	case "Metaspace":
		return metaspace(p), nil
	case "Split":
		return splitBy(p)
	case "Sequence":
		if depth > maxDepth {
			return nil, invalid("it is nested too deep")
		}
		var steps []func([]string) []string
		for _, q := range field[[]part](p, "pretokenizers") {
			f, err := splitter(q, depth+1)
			if err != nil {
				return nil, err
			}
			steps = append(steps, f)
		}
		return func(s []string) []string {
			for _, f := range steps {
				s = f(s)
			}
			return s
		}, nil
	}
	return nil, invalid("the pre-tokenizer %.40q is not known", p.kind())
}

func each(f func(s string, out []string) []string) func([]string) []string {
	return func(pieces []string) []string {
		out := make([]string, 0, 2*len(pieces))
		for _, p := range pieces {
			out = f(p, out)
		}
		return out
	}
}

// isolate makes a piece of every rune for which alone holds.
func isolate(s string, alone func(rune) bool, out []string) []string {
	from := 0
	for i, r := range s {
		if !alone(r) {
			continue
		}
		if from < i {
			out = append(out, s[from:i])
		}
		from = i + utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, n := utf8.DecodeRuneInString(s[i:])
			from = i + n
		}
		out = append(out, s[i:from])
	}
	if from < len(s) {
		out = append(out, s[from:])
	}
	return out
}

// isPunctuation is BERT's notion of it: all of ASCII that is neither letter nor
// digit counts.
func isPunctuation(r rune) bool {
	return r >= 33 && r <= 47 || r >= 58 && r <= 64 || r >= 91 && r <= 96 || r >= 123 && r <= 126 || unicode.IsPunct(r)
}

// digits sets runs of digits apart.
func digits(s string, out []string) []string {
	from, was := 0, false
	for i, r := range s {
		if is := unicode.IsNumber(r); i > 0 && is != was {
			out, from, was = append(out, s[from:i]), i, is
		} else {
			was = is
		}
	}
	if from < len(s) {
		out = append(out, s[from:])
	}
	return out
}

func metaspace(p part) func([]string) []string {
	mark := fieldOr(p, "replacement", "▁")
	scheme := fieldOr(p, "prepend_scheme", "always")
	if !fieldOr(p, "add_prefix_space", true) {
		scheme = "never"
	}
	split := fieldOr(p, "split", true)
	return func(pieces []string) []string {
		var out []string
		for i, s := range pieces {
			s = strings.ReplaceAll(s, " ", mark)
			if (scheme == "always" || scheme == "first" && i == 0) && !strings.HasPrefix(s, mark) && s != "" {
				s = mark + s
			}
			if !split {
				out = append(out, s)
				continue
			}
			from := 0
			for at := len(mark); at < len(s); {
				next := strings.Index(s[at:], mark)
				if next < 0 {
					break
				}
				if from < at+next {
					out = append(out, s[from:at+next])
				}
				from = at + next
				at = from + len(mark)
			}
			if from < len(s) {
				out = append(out, s[from:])
			}
		}
		return out
	}
}

// splitBy cuts at what a pattern finds.
func splitBy(p part) (func([]string) []string, error) {
	behavior, invert := field[string](p, "behavior"), field[bool](p, "invert")
	find, err := pattern(p)
	if err != nil {
		// The pattern of GPT-2 looks ahead, which Go's expressions cannot.
		if expr := field[string](field[part](p, "pattern"), "Regex"); expr == gpt2Pattern && !invert && behavior != "Removed" {
			return each(gpt2), nil
		}
		return nil, err
	}
	switch behavior {
	case "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous":
	default:
		return nil, invalid("the way to split %.40q is not known", behavior)
	}
	return each(func(s string, out []string) []string {
		type span struct {
			from, to int
			match    bool
		}
		var spans []span
		at := 0
		for _, m := range find.FindAllStringIndex(s, -1) {
			if m[0] == m[1] {
				continue
			}
			if at < m[0] {
				spans = append(spans, span{at, m[0], invert})
			}
			spans = append(spans, span{m[0], m[1], !invert})
			at = m[1]
		}
		if at < len(s) {
			spans = append(spans, span{at, len(s), invert})
		}
		from := -1 // of a piece that goes on
		for i, sp := range spans {
			last := i == len(spans)-1
			switch behavior {
			case "Removed":
				if !sp.match {
					out = append(out, s[sp.from:sp.to])
				}
				continue
			case "Isolated":
				out = append(out, s[sp.from:sp.to])
				continue
			}
			if from < 0 {
				from = sp.from
			}
			var ends bool
			switch behavior {
			case "MergedWithPrevious":
				ends = last || sp.match || !spans[i+1].match
			case "MergedWithNext":
				ends = last || !sp.match || spans[i+1].match
			default: // Contiguous
				ends = last || sp.match != spans[i+1].match
			}
			if ends {
				out, from = append(out, s[from:sp.to]), -1
			}
		}
		return out
	}), nil
}

const gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// gpt2 cuts as the pattern of GPT-2 does: contractions, words, numbers and the rest,
// each with the blank before it; of a run of blanks the last goes to what follows.
func gpt2(s string, out []string) []string {
	for s != "" {
		n := gpt2Piece(s)
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

func gpt2Piece(s string) int {
	for _, c := range []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if strings.HasPrefix(s, c) {
			return len(c)
		}
	}
	body := strings.TrimPrefix(s, " ")
	lead := len(s) - len(body)
	if r, _ := utf8.DecodeRuneInString(body); body != "" && !unicode.IsSpace(r) {
		class := gpt2Class(r)
		n := strings.IndexFunc(body, func(r rune) bool { return gpt2Class(r) != class })
		if n < 0 {
			n = len(body)
		}
		return lead + n
	}
	n := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) })
	if n < 0 {
		return len(s)
	}
	_, last := utf8.DecodeLastRuneInString(s[:n])
	if n > last { // the last blank goes to what follows
		return n - last
	}
	return n
}

func gpt2Class(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return 0
	case unicode.IsLetter(r):
		return 1
	case unicode.IsNumber(r):
		return 2
	}
	return 3
}

// byteLevel cuts as GPT-2 does and writes every byte as a rune that can be seen.
func byteLevel(s string, prefix, by bool, out []string) []string {
	if prefix && s != "" && !strings.HasPrefix(s, " ") {
		s = " " + s
	}
	pieces := []string{s}
	if by {
		pieces = gpt2(s, nil)
	}
	for _, p := range pieces {
		var b strings.Builder
		for i := range len(p) {
			b.WriteRune(byteRune(p[i]))
		}
		out = append(out, b.String())
	}
	return out
}

// byteRune is GPT-2's alphabet: what can be seen stands for itself, the other bytes
// for the runes from 256 on, in their order.
func byteRune(c byte) rune {
	switch {
	case c >= '!' && c <= '~', c >= 0xA1 && c <= 0xAC, c >= 0xAE:
		return rune(c)
	case c <= ' ':
		return 256 + rune(c)
	case c >= 0x7F && c <= 0xA0:
		return 256 + 33 + rune(c-0x7F)
	}
	return 256 + 33 + 34 // 0xAD
}
