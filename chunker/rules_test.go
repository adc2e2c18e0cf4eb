package chunker_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// names returns what is named in r, in order.
func names(r chunker.Result) []string {
	var out []string
	for _, c := range r.Chunks {
		if c.NodeName != "" {
			out = append(out, c.NodeType+" "+c.NodeName)
		}
	}
	return out
}

// docs returns what documents the file and its chunks.
func docs(r chunker.Result) []string {
	out := []string{r.Doc}
	for _, c := range r.Chunks {
		out = append(out, c.Doc)
	}
	return out
}

// Line ends, a byte order mark, and letters of other scripts move no bound off
// the bytes of the file, and hide nothing that is named in it.
func TestCutKeepsBytes(t *testing.T) {
	if chunker.Engine() == "text" {
		t.Skip("built without parsers")
	}
	for _, s := range samples(t) {
		plain := chunker.Cut(s.path, s.src, chunker.Options{})
		for how, src := range map[string][]byte{
			"CRLF":            bytes.ReplaceAll(s.src, []byte("\n"), []byte("\r\n")),
			"byte order mark": append([]byte("\ufeff"), s.src...),
			"no line feed":    bytes.TrimRight(s.src, "\n"),
			"blank lines":     append(bytes.Clone(s.src), "\n\n \t\n"...),
			"other letters":   bytes.ReplaceAll(s.src, []byte("e"), []byte("é")),
		} {
			r := chunker.Cut(s.path, src, chunker.Options{})
			if err := broken(src, r); err != nil {
				t.Errorf("%s with %s: %v", s.path, how, err)
			}
			if r.Strategy != plain.Strategy && how != "other letters" {
				t.Errorf("%s with %s: cut as %s, without as %s", s.path, how, r.Strategy, plain.Strategy)
			}
			if got, want := names(r), names(plain); how != "other letters" && !slices.Equal(got, want) {
				t.Errorf("%s with %s: named are\n%q, want\n%q", s.path, how, got, want)
			}
			if got, want := docs(r), docs(plain); how != "other letters" && !slices.Equal(got, want) {
				t.Errorf("%s with %s: docs are\n%q, want\n%q", s.path, how, got, want)
			}
		}
	}
}

// The rules of chunks, in every language and at every size: what is small and
// has no name joins a neighbour, a gap between members belongs to what holds
// them, and whatever belongs to something comes behind its header.
func TestCutKeepsRules(t *testing.T) {
	for _, s := range samples(t) {
		for _, opt := range []chunker.Options{{}, {MaxLines: 12, MinLines: 3}, {MaxLines: 40, MinLines: 8}} {
			src := slices.Concat(s.src, []byte("\n"), s.src)
			r := chunker.Cut(s.path, src, opt)
			if err := broken(src, r); err != nil {
				t.Errorf("%s: %v", s.path, err)
			}
			if r.Strategy != "syntax" {
				continue
			}
			least := opt.MinLines
			if least == 0 {
				least = 5
			}
			headers := map[string]bool{}
			for i, c := range r.Chunks {
				lines := 1 + strings.Count(strings.TrimRight(string(src[c.StartByte:c.EndByte]), " \t\r\n})];,"), "\n")
				part := false // of a gap that was too long
				for _, j := range []int{i - 1, i + 1} {
					if j >= 0 && j < len(r.Chunks) && r.Chunks[j].NodeName == "" && r.Chunks[j].Parent == c.Parent {
						both := max(c.EndLine, r.Chunks[j].EndLine) - min(c.StartLine, r.Chunks[j].StartLine) + 1
						part = part || opt.MaxLines > 0 && both > opt.MaxLines
					}
				}
				if c.NodeName == "" && lines < least && len(r.Chunks) > 1 && !part {
					t.Errorf("%s: lines %d-%d of no name stand alone", s.path, c.StartLine, c.EndLine)
				}
				if i > 0 && i+1 < len(r.Chunks) && c.NodeName == "" && c.Parent != r.Chunks[i+1].Parent && headers[r.Chunks[i+1].Parent] &&
					r.Chunks[i-1].Parent == r.Chunks[i+1].Parent {
					t.Errorf("%s: lines %d-%d lie in %q and say they lie in %q", s.path, c.StartLine, c.EndLine, r.Chunks[i+1].Parent, c.Parent)
				}
				if c.NodeName == "" && c.Parent != "" && !headers[c.Parent] {
					t.Errorf("%s: lines %d-%d belong to %q, which has no header before them", s.path, c.StartLine, c.EndLine, c.Parent)
				}
				headers[c.NodeName] = true
			}
		}
	}
}

// The grammar of YAML takes the comment of what comes next for a part of what
// came before.
func TestCutGivesYAMLItsComments(t *testing.T) {
	if chunker.Engine() == "text" {
		t.Skip("built without parsers")
	}
	src := []byte("# The file.\n\n# About one.\none:\n  a: 1\n  b: 2\n\n# About two.\n# More.\ntwo:\n  - a\n  - b: 1\n    c: 2\n# About three.\nthree:\n  x: 1\n  y: 2\n")
	r := chunker.Cut("a.yaml", src, chunker.Options{})
	if err := broken(src, r); err != nil {
		t.Fatal(err)
	}
	want := []string{"About one.", "About two.", "About three."}
	var got []string
	for _, c := range r.Chunks {
		got = append(got, c.Doc)
	}
	if !slices.Equal(got, want) || r.Doc != "The file." {
		t.Errorf("docs of chunks are %q, want %q; that of the file is %q", got, want, r.Doc)
	}
}

// A change of one line leaves the chunks it does not touch, and their ids, as
// they are: nothing else is embedded again.
func TestCutOfChangedFile(t *testing.T) {
	for _, s := range samples(t) {
		r := chunker.Cut(s.path, s.src, chunker.Options{})
		if r.Strategy != "syntax" || len(r.Chunks) < 4 {
			continue
		}
		last := r.Chunks[len(r.Chunks)-1]
		src := append(bytes.Clone(s.src), '\n')
		old := map[string]bool{}
		for _, c := range chunker.Assign("0123456789abcdef", r.Chunks) {
			old[c.ID] = true
		}
		fresh := slices.DeleteFunc(chunker.Assign("0123456789abcdef", chunker.Cut(s.path, src, chunker.Options{}).Chunks), func(c fold.Chunk) bool { return old[c.ID] })
		if len(fresh) > 1 || len(fresh) == 1 && fresh[0].StartByte != last.StartByte {
			t.Errorf("%s: a line feed at the end made %d chunks new", s.path, len(fresh))
		}
	}
}

// Ten times the file costs ten times the work, give or take what the machine
// does besides.
func TestCutIsLinear(t *testing.T) {
	if cpuTime() == 0 {
		t.Skip("the CPU time of a thread is not known on this system")
	}
	if testing.Short() || raced {
		t.Skip("it takes a while, or is not what is measured")
	}
	for _, s := range samples(t) {
		small := bytes.Repeat(append(bytes.Clone(s.src), '\n'), 1+(20<<10)/len(s.src))
		big := bytes.Repeat(small, 10)
		cost := func(src []byte) (least time.Duration, strategy string) {
			for i := range 3 {
				began := cpuTime()
				r := chunker.Cut(s.path, src, chunker.Options{Deadline: time.Minute})
				if took := cpuTime() - began; i == 0 || took < least {
					least = took
				}
				strategy = r.Strategy
			}
			return least, strategy
		}
		for attempt := 1; ; attempt++ { // others share the caches of the machine
			one, how := cost(small)
			ten, same := cost(big)
			if how != same { // beyond a cap the work is of another kind
				t.Logf("%s: %s, and %s at ten times the size", s.path, how, same)
				break
			}
			if ten <= 15*max(one, 2*time.Millisecond) {
				break
			}
			if attempt == 3 {
				t.Errorf("%s: %d bytes took %v, ten times as many %v: %.1f times as long", s.path, len(small), one, ten, float64(ten)/float64(one))
				break
			}
		}
	}
}
