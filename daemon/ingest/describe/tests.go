package describe

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// maxChecks is how many tests are named by what they test.
const maxChecks = 6

// testing says in one sentence what a test file tests.
func (d *description) testing() string {
	tests, benches, examples := 0, 0, 0
	for _, p := range d.parts {
		switch testKind(d.s.Language, p.name) {
		case "test":
			tests++
		case "benchmark":
			benches++
		case "example":
			examples++
		}
		if isType(p.kind) || p.kind == methodsElsewhere {
			for _, m := range slices.Concat(p.members, p.inner) {
				if testKind(d.s.Language, m) == "test" {
					tests++
				}
			}
		}
	}
	if n := countSaid(d.s); n > 0 {
		tests = n
	}
	var counts []string
	for _, c := range []struct {
		n    int
		word string
	}{{tests, "test"}, {benches, "benchmark"}, {examples, "example"}} {
		if c.n > 0 {
			counts = append(counts, plural(c.n, c.word))
		}
	}
	of := ""
	switch s := d.s; {
	case s.Tested != "":
		of = " of `" + s.Tested + "`"
	case s.Package != "":
		of = " of package " + strings.TrimSuffix(s.Package, "_test")
	}
	line := joinWords(counts) + of
	if len(counts) == 0 {
		var names []string
		for _, p := range d.ranked[:min(3, len(d.ranked))] {
			names = append(names, p.name)
		}
		if len(names) > 0 {
			return "Holds " + joinWords(quoteAll(names)) + " for the tests" + of + "."
		}
		if of == "" {
			return d.caption() + " of tests, " + plural(countLines(d.s.Source), "line") + "."
		}
		return "Tests" + of + "."
	}
	if shown := d.checks[:min(maxChecks, len(d.checks))]; len(shown) > 0 {
		line += ": " + strings.Join(shown, ", ")
		if left := len(d.checks) - len(shown); left > 0 {
			line += fmt.Sprintf(" and %d more", left)
		}
	}
	return line + "."
}

// checksOf returns in words what the tests of a file test, in their order.
func checksOf(s *Subject, parts []component) []string {
	var out []string
	add := func(name string) {
		if w := testWords(s.Language, name); w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	for _, p := range parts {
		if testKind(s.Language, p.name) != "" && !isType(p.kind) {
			add(p.name)
		}
		if isType(p.kind) || p.kind == methodsElsewhere {
			for _, m := range slices.Concat(p.members, p.inner) {
				if testKind(s.Language, m) == "test" {
					add(m)
				}
			}
		}
	}
	said, _ := saidTests(s)
	for _, name := range said {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// testWords turns the name of a test into words: TestReadResponse_HTTP2 is
// "read response HTTP2".
func testWords(language, name string) string {
	for _, p := range []string{"Test", "Fuzz", "Benchmark", "Example", "test_", "test", "bench_"} {
		if rest, ok := strings.CutPrefix(name, p); ok && rest != "" && (language != "go" || p[0] < 'a') {
			name = rest
			break
		}
	}
	for _, p := range []string{"Test", "Tests", "_test"} {
		name = strings.TrimSuffix(name, p)
	}
	var words []string
	for part := range strings.SplitSeq(name, "_") {
		words = append(words, camelWords(part)...)
	}
	return strings.Join(words, " ")
}

// camelWords splits a name at its capitals; words all of capitals stay so.
func camelWords(name string) []string {
	var out []string
	r := []rune(name)
	start := 0
	for i := 1; i <= len(r); i++ {
		begins := i == len(r) || unicode.IsUpper(r[i]) && (!unicode.IsUpper(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1]))
		if !begins {
			continue
		}
		w := string(r[start:i])
		if i-start == 1 || strings.ToUpper(w) != w {
			w = strings.ToLower(w)
		}
		if start = i; w != "" {
			out = append(out, w)
		}
	}
	return out
}

// countSaid returns how many tests a file has by the calls of it and test.
func countSaid(s *Subject) int {
	_, n := saidTests(s)
	return n
}

// saidTests returns the sentences given to describe, it and test, each once, and
// how many calls of the latter two there are.
func saidTests(s *Subject) (out []string, n int) {
	switch s.Language {
	case "javascript", "typescript", "tsx", "vue", "svelte", "ruby":
	default:
		return nil, 0
	}
	src := s.Source
	for line := range bytes.Lines(src[:min(len(src), 256<<10)]) {
		t := bytes.TrimLeft(line, " \t")
		for _, call := range []string{"describe", "it", "test", "context"} {
			rest, ok := bytes.CutPrefix(t, []byte(call))
			if !ok || len(rest) < 4 || isWordByte(rest[0]) {
				continue
			}
			i := bytes.IndexAny(rest, "\"'`")
			if i < 0 || i > 16 || bytes.ContainsAny(rest[:i], "=;") {
				break
			}
			end := bytes.IndexByte(rest[i+1:], rest[i])
			if end <= 0 || end > 100 || bytes.Contains(rest[i+1:i+1+end], []byte("${")) {
				break
			}
			if call == "it" || call == "test" {
				n++
			}
			if name := cleanLine(string(rest[i+1 : i+1+end])); !slices.Contains(out, name) {
				out = append(out, name)
			}
			break
		}
		if len(out) == 200 {
			break
		}
	}
	return out, n
}
