package describe

import (
	"bytes"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// The limits of a signature, in bytes.
const (
	maxParams = 80
	maxReturn = 40
)

// signatureOf returns the parameters and the result of a function as its source
// declares them, "(a, b int) error"; "" if they are not plain to see. Default
// values are left out: they may be anything. A chunk with a secret in it is not
// quoted.
func signatureOf(language string, src []byte, c fold.Chunk, name string) string {
	if c.Hidden || c.StartByte < 0 || c.EndByte > len(src) || c.StartByte >= c.EndByte {
		return ""
	}
	code := src[c.StartByte:min(c.EndByte, c.StartByte+8<<10)]
	at := declared(code, name)
	if at < 0 {
		return ""
	}
	rest := afterName(code[at:])
	if len(rest) == 0 || rest[0] != '(' {
		return ""
	}
	params, n := bracketed(rest)
	if n == 0 {
		return ""
	}
	return "(" + clipParams(language, params) + ")" + result(language, rest[n:])
}

// declared returns the offset behind the name in the line that declares it, -1
// if there is none. Comments and attributes above it are passed over.
func declared(code []byte, name string) int {
	key := []byte(name)
	if len(key) == 0 {
		return -1
	}
	closing := ""
	for at := 0; at < len(code); {
		end := bytes.IndexByte(code[at:], '\n')
		if end < 0 {
			end = len(code) - at
		}
		line := code[at : at+end]
		t := bytes.TrimLeft(line, " \t")
		switch {
		case closing != "":
			if bytes.Contains(t, []byte(closing)) {
				closing = ""
			}
		case bytes.HasPrefix(t, []byte("/*")):
			if !bytes.Contains(t, []byte("*/")) {
				closing = "*/"
			}
		case len(t) == 0, t[0] == '#' && (len(t) == 1 || t[1] != 'd'), t[0] == '@', t[0] == '[', bytes.HasPrefix(t, []byte("//")), bytes.HasPrefix(t, []byte("--")), t[0] == '*':
		default:
			for from := 0; ; {
				i := bytes.Index(line[from:], key)
				if i < 0 {
					break
				}
				i += from
				from = i + len(key)
				if (i == 0 || !isWordByte(line[i-1])) && (from == len(line) || !isWordByte(line[from])) {
					return at + from
				}
			}
		}
		at += end + 1
	}
	return -1
}

// afterName skips what may stand between a name and its parameters: type
// parameters, "= async function", "= (".
func afterName(rest []byte) []byte {
	rest = bytes.TrimLeft(rest, " \t?!")
	if len(rest) > 0 && (rest[0] == '<' || rest[0] == '[') {
		if _, n := bracketed(rest); n > 0 {
			rest = bytes.TrimLeft(rest[n:], " \t")
		}
	}
	if len(rest) > 0 && rest[0] == '=' && !bytes.HasPrefix(rest, []byte("=>")) {
		rest = bytes.TrimLeft(rest[1:], " \t")
		rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte("async")), " \t")
		rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte("function")), " \t*")
	}
	return rest
}

// bracketed returns what stands between the bracket that s begins with and the
// one that closes it, and how long both are with it; 0 if it is long or open.
func bracketed(s []byte) (inner string, n int) {
	deep := 0
	for i := 0; i < len(s) && i < 600; i++ {
		switch s[i] {
		case '(', '[', '{':
			deep++
		case '<':
			if s[0] == '<' {
				deep++
			}
		case '>':
			if s[0] == '<' && (i == 0 || s[i-1] != '=' && s[i-1] != '-') {
				deep--
			}
		case ')', ']', '}':
			deep--
		case '"', '\'', '`':
			if j := bytes.IndexByte(s[i+1:], s[i]); j >= 0 && bytes.IndexByte(s[i+1:i+1+j], '\n') < 0 {
				i += j + 1
			}
			continue
		default:
			continue
		}
		if deep == 0 {
			return string(s[1:i]), i + 1
		}
	}
	return "", 0
}

// clipParams shortens parameters: no receiver, no default values, and as many
// as fit.
func clipParams(language, params string) string {
	var out []string
	size := 0
	for _, p := range splitParams(params) {
		if p = cleanLine(withoutDefault(p)); p == "" || p == "/" || p == "*" || p == "self" || p == "cls" || p == "&self" || p == "&mut self" || p == "mut self" || p == "void" {
			continue
		}
		if i := strings.Index(p, "//"); i >= 0 || strings.ContainsAny(p, "`\"#@") {
			if language == "java" || language == "kotlin" || language == "csharp" {
				p = p[strings.LastIndexByte(p, ' ')+1:]
			} else {
				continue
			}
		}
		if strings.HasPrefix(p, "{") {
			p = "{…}"
		}
		if size += len(p) + 2; size > maxParams {
			out = append(out, "…")
			break
		}
		out = append(out, p)
	}
	return strings.Join(out, ", ")
}

// splitParams splits parameters at commas that stand in no brackets.
func splitParams(s string) []string {
	var out []string
	deep, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(', '[', '{', '<':
			deep++
		case ')', ']', '}':
			deep--
		case '>':
			if i > 0 && s[i-1] != '=' && s[i-1] != '-' {
				deep--
			}
		case ',':
			if deep <= 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

func withoutDefault(p string) string {
	deep := 0
	for i := range len(p) {
		switch p[i] {
		case '(', '[', '{', '<':
			deep++
		case ')', ']', '}', '>':
			deep--
		case '=':
			if deep <= 0 && (i+1 == len(p) || p[i+1] != '>') {
				return p[:i]
			}
		}
	}
	return p
}

// result returns what stands between the parameters of a function and its body,
// where that is its result.
func result(language string, rest []byte) string {
	end := len(rest)
	for i := range min(len(rest), 4*maxReturn) {
		if c := rest[i]; c == '{' || c == '\n' || c == ';' || c == '=' && i > 0 && rest[i-1] == ' ' {
			end = i
			break
		}
	}
	r := strings.TrimSpace(string(rest[:min(end, 4*maxReturn)]))
	switch language {
	case "go":
	case "python":
		r = strings.TrimSuffix(r, ":")
		if !strings.HasPrefix(r, "->") {
			return ""
		}
	case "rust", "swift", "zig", "php", "typescript", "tsx", "kotlin", "scala":
		if r, _, _ = strings.Cut(r, " where "); language != "zig" && !strings.HasPrefix(r, "->") && !strings.HasPrefix(r, ":") {
			return ""
		}
	default:
		return ""
	}
	if r == "" || len(r) > maxReturn || strings.Count(r, "[") != strings.Count(r, "]") || strings.Count(r, "(") != strings.Count(r, ")") || strings.ContainsAny(r, "`\"'#") || strings.Contains(r, "//") {
		return ""
	}
	if r[0] == ':' {
		return ": " + strings.TrimSpace(r[1:])
	}
	return " " + r
}
