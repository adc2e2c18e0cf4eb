// Package secret finds credentials in text, and names the files that hold
// nothing else.
//
// The rules are those of gitleaks. They are regular expressions, too slow to
// run over every source file, so each is only tried in the neighbourhood of a
// word it cannot match without. What is found is told by rule and line; the
// value itself never leaves the package.
package secret

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// A Finding is a place that holds a credential. It does not hold the value.
type Finding struct {
	Rule string // id of the rule: aws-access-token, private-key, …
	Line int    // from 1; of the first line of the match
}

// Version tells the rules from others, for what is cached of what they found.
// Whoever changes what [Scan] finds changes it.
const Version = "2"

// Scan returns what looks like a credential in b, by line, one finding per rule
// and line. Rules named in allow are not applied. The first call loads the
// rules, which takes some 100 ms. It is safe for concurrent use.
func Scan(b []byte, allow ...string) []Finding {
	if len(b) == 0 {
		return nil
	}
	rs := rules()
	var found []Finding
	for rule, spans := range rs.candidates(b) {
		r := rs.all[rule]
		if slices.Contains(allow, r.id) {
			continue
		}
		for _, sp := range spans {
			for _, line := range r.find(b[sp.start:sp.end]) {
				found = append(found, Finding{Rule: r.id, Line: line + bytes.Count(b[:sp.start], []byte{'\n'})})
			}
		}
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), strings.Compare(a.Rule, b.Rule))
	})
	return dropGeneric(slices.Compact(found))
}

// dropGeneric leaves out a generic finding on a line where a rule knows better.
func dropGeneric(found []Finding) []Finding {
	known := map[int]bool{}
	for _, f := range found {
		if f.Rule != genericRule {
			known[f.Line] = true
		}
	}
	return slices.DeleteFunc(found, func(f Finding) bool { return f.Rule == genericRule && known[f.Line] })
}

// A span is a stretch of bytes, [start, end).
type span struct{ start, end int }

// Around a keyword a rule sees at least these many bytes, widened to whole
// lines. The longest name and value that a rule of one line spans are some 250
// and 400 bytes; a key file and a curl command may go over many lines.
const (
	before    = 256
	after     = 1024
	afterLong = 16 << 10
	lineMost  = 4096 // how far a window is widened to whole lines
)

// candidates returns, by rule, the windows of b in which it could match.
func (rs *ruleSet) candidates(b []byte) map[int][]span {
	out := map[int][]span{}
	lower := rs.words.find(b)
	for _, hit := range lower {
		for _, r := range rs.byWord[hit.word] {
			rule := rs.all[r]
			if rule.prefilter != nil && !rule.prefilter(b, hit.at, hit.at+len(rs.words.list[hit.word])) {
				continue
			}
			spans := out[r]
			start, end := window(b, hit.at, rule.context)
			if n := len(spans); n > 0 && start <= spans[n-1].end {
				spans[n-1].end = max(spans[n-1].end, end)
			} else {
				spans = append(spans, span{start, end})
			}
			out[r] = spans
		}
	}
	return out
}

// window returns the bytes around at that a rule must see.
func window(b []byte, at, reach int) (start, end int) {
	start, end = max(0, at-before), min(len(b), at+reach)
	if i := bytes.LastIndexByte(b[max(0, start-lineMost):start], '\n'); i >= 0 {
		start = max(0, start-lineMost) + i + 1
	} else if start <= lineMost {
		start = 0
	}
	if i := bytes.IndexByte(b[end:min(len(b), end+lineMost)], '\n'); i >= 0 {
		end += i + 1
	} else if len(b)-end <= lineMost {
		end = len(b)
	}
	return start, end
}
