package syntax

import "bytes"

const (
	maxExpression = 16 << 10 // bytes of an expression in markup
	maxUnclosed   = 64       // expressions without an end, beyond which none is looked for
)

// maskExpressions returns a copy of the markup src, of the same length, in which
// the expressions of a template language are made plain letters: they hold <, >
// and quotes, which a parser of HTML would take for its own. Open is what they
// begin with, {{ or a single brace. Line feeds, comments, scripts and styles
// stay.
func maskExpressions(src []byte, open string) []byte {
	out := bytes.Clone(src)
	failed := 0
	unclosed := make(map[string]bool) // not looked for again, or it costs the square
	skip := func(at int, end string) int {
		if !unclosed[end] {
			if i := bytes.Index(src[at:], []byte(end)); i >= 0 {
				return at + i + len(end)
			}
			unclosed[end] = true
		}
		return at + 1
	}
	for at := 0; at < len(src) && failed < maxUnclosed; {
		i := bytes.IndexAny(src[at:], "<{")
		if i < 0 {
			break
		}
		at += i
		rest := src[at:]
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			at = skip(at, "-->")
		case bytes.HasPrefix(rest, []byte("<script")):
			at = skip(at, "</script")
		case bytes.HasPrefix(rest, []byte("<style")):
			at = skip(at, "</style")
		case bytes.HasPrefix(rest, []byte(open)) || bytes.HasPrefix(rest, []byte("{%")):
			n := expression(rest[:min(len(rest), maxExpression)])
			for j := at; j < at+n; j++ {
				if out[j] != '\n' && out[j] != '\r' {
					out[j] = 'x'
				}
			}
			if at += max(n, 1); n == 0 {
				failed++
			}
		default:
			at++
		}
	}
	return out
}

// expression returns the length of the braces that b begins with and of what is
// in them, 0 if they are not closed.
func expression(b []byte) int {
	depth := 0
	var quote byte
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote || c == '\n' && quote != '`' {
				quote = 0 // an apostrophe in text ends with its line
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
