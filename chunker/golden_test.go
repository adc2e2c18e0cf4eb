package chunker_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestCutGolden cuts testdata/<language>/* and compares with the .golden beside.
func TestCutGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		path = filepath.ToSlash(path)
		if strings.HasSuffix(path, ".golden") || strings.Contains(path, "/fuzz/") {
			continue
		}
		t.Run(strings.TrimPrefix(path, "testdata/"), func(t *testing.T) {
			src, err := os.ReadFile(path)
			if err != nil {
				t.Skip("a directory")
			}
			r := chunker.Cut(path, src, chunker.Options{SlowGo: true})
			checkPartition(t, path, src, r)
			got := dump(r)
			golden := path + ".golden"
			if *update && chunker.Engine() != "text" {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if chunker.Engine() == "text" && r.Strategy != "syntax" && strings.HasPrefix(string(want), r.Language+", syntax") {
				t.Skip("built without parsers")
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("Cut(%s): -want +got\n%s", path, diff)
			}
		})
	}
}

// TestSamples fails for a language that has a table and no golden sample.
func TestSamples(t *testing.T) {
	for _, path := range chunker.SyntaxPaths() {
		lang := chunker.Language(path, nil)
		goldens, err := filepath.Glob("testdata/" + lang + "/*.golden")
		if err != nil {
			t.Fatal(err)
		}
		ok := false
		for _, golden := range goldens {
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			ok = ok || strings.HasPrefix(string(want), lang+", syntax") && strings.Count(string(want), "\n") > 5
		}
		if !ok {
			t.Errorf("no sample of %s in testdata/%s that was cut by syntax", lang, lang)
		}
	}
}

func dump(r chunker.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s", r.Language, r.Strategy)
	if r.Package != "" {
		fmt.Fprintf(&b, ", package %s", r.Package)
	}
	fmt.Fprintf(&b, "\ndoc: %s\n", r.Doc)
	for _, s := range r.Imports {
		fmt.Fprintf(&b, "import: %s\n", s)
	}
	for _, c := range r.Chunks {
		fmt.Fprintf(&b, "%3d-%-3d %s", c.StartLine, c.EndLine, c.NodeType)
		if c.NodeName != "" {
			fmt.Fprintf(&b, " %s", c.NodeName)
		}
		if c.Parent != "" {
			fmt.Fprintf(&b, " (in %s)", c.Parent)
		}
		if c.Doc != "" {
			fmt.Fprintf(&b, ": %s", c.Doc)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// checkPartition reports where the chunks of r do not partition src, or say
// wrong things about their ranges.
func checkPartition(t *testing.T, path string, src []byte, r chunker.Result) {
	t.Helper()
	at := 0
	for i, c := range r.Chunks {
		if c.StartByte != at || c.EndByte <= c.StartByte || c.EndByte > len(src) {
			t.Fatalf("%s: chunk %d is [%d, %d), want a start at %d and an end up to %d", path, i, c.StartByte, c.EndByte, at, len(src))
		}
		at = c.EndByte
		if got := 1 + strings.Count(string(src[:c.StartByte]), "\n"); c.StartLine != got {
			t.Fatalf("%s: chunk %d: StartLine = %d, want %d", path, i, c.StartLine, got)
		}
		if got := 1 + strings.Count(string(src[:c.EndByte-1]), "\n"); c.EndLine != got {
			t.Fatalf("%s: chunk %d: EndLine = %d, want %d", path, i, c.EndLine, got)
		}
		if want := fold.ChunkHash(src[c.StartByte:c.EndByte]); c.Hash != want {
			t.Fatalf("%s: chunk %d: Hash = %s, want %s", path, i, c.Hash, want)
		}
		if c.NodeType == "" || c.Language != r.Language {
			t.Fatalf("%s: chunk %d: type %q, language %q", path, i, c.NodeType, c.Language)
		}
	}
	if at != len(src) && !r.Truncated {
		t.Fatalf("%s: chunks end at %d of %d", path, at, len(src))
	}
}
