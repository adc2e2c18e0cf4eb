package token

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// normalizer returns what cleans text before it is split.
func normalizer(p part, depth int) (func(string) string, error) {
	if p == nil {
		return func(s string) string { return s }, nil
	}
	switch p.kind() {
	case "BertNormalizer":
		lower := fieldOr(p, "lowercase", true)
		return bert(fieldOr(p, "clean_text", true), fieldOr(p, "handle_chinese_chars", true), fieldOr(p, "strip_accents", lower), lower), nil
	case "Lowercase":
		return strings.ToLower, nil
	case "NFC":
		return norm.NFC.String, nil
	case "NFD":
		return norm.NFD.String, nil
	case "NFKC":
		return norm.NFKC.String, nil
	case "NFKD":
		return norm.NFKD.String, nil
	case "StripAccents":
		return stripMarks, nil
	case "Precompiled", "Nmt":
		// SentencePiece brings a table of its own. It is NFKC, with blanks for the
		// other white space and without what cannot be seen.
		return sentencePiece, nil
	case "Strip":
		left, right := fieldOr(p, "strip_left", true), fieldOr(p, "strip_right", true)
		return func(s string) string {
			if left {
				s = strings.TrimLeftFunc(s, unicode.IsSpace)
			}
			if right {
				s = strings.TrimRightFunc(s, unicode.IsSpace)
			}
			return s
		}, nil
	case "Prepend":
		prefix := field[string](p, "prepend")
		return func(s string) string {
			if s == "" {
				return s
			}
			return prefix + s
		}, nil
	case "Replace":
		find, err := pattern(p)
		if err != nil {
			return nil, err
		}
		with := field[string](p, "content")
		return func(s string) string { return find.ReplaceAllLiteralString(s, with) }, nil
	case "Sequence":
		if depth > maxDepth {
			return nil, invalid("it is nested too deep")
		}
		var steps []func(string) string
		for _, q := range field[[]part](p, "normalizers") {
			f, err := normalizer(q, depth+1)
			if err != nil {
				return nil, err
			}
			steps = append(steps, f)
		}
		return func(s string) string {
			for _, f := range steps {
				s = f(s)
			}
			return s
		}, nil
	}
	return nil, invalid("the normalizer %.40q is not known", p.kind())
}

// pattern reads what is looked for: text, or a regular expression.
func pattern(p part) (*regexp.Regexp, error) {
	q := field[part](p, "pattern")
	if s, ok := q["String"]; ok && s != nil {
		return regexp.MustCompile(regexp.QuoteMeta(field[string](q, "String"))), nil
	}
	expr := field[string](q, "Regex")
	re, err := regexp.Compile(expr)
	if err != nil || expr == "" {
		return nil, invalid("the pattern %.60q is not known", expr)
	}
	return re, nil
}

func bert(clean, chinese, accents, lower bool) func(string) string {
	return func(s string) string {
		var b strings.Builder
		b.Grow(len(s))
		for _, r := range s {
			switch {
			case clean && (r == 0 || r == 0xFFFD || isControl(r)):
			case clean && unicode.IsSpace(r):
				b.WriteByte(' ')
			case chinese && isChinese(r):
				b.WriteByte(' ')
				b.WriteRune(r)
				b.WriteByte(' ')
			default:
				b.WriteRune(r)
			}
		}
		s = b.String()
		if accents {
			s = stripMarks(norm.NFD.String(s))
		}
		if lower {
			s = strings.ToLower(s)
		}
		return s
	}
}

func isControl(r rune) bool {
	if r == '\t' || r == '\n' || r == '\r' {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Co)
}

func isChinese(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2A6DF ||
		r >= 0x2A700 && r <= 0x2B73F || r >= 0x2B740 && r <= 0x2B81F || r >= 0x2B820 && r <= 0x2CEAF ||
		r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F
}

// stripMarks drops the marks that decomposition has set apart.
func stripMarks(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, s)
}

func sentencePiece(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case isControl(r), r == 0xFFFD:
			return -1
		}
		return r
	}, norm.NFKC.String(s))
}
