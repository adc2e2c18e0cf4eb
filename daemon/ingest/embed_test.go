package ingest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/selection"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// embeddingOf returns an Ingester over one source file that is indexed, with what
// was cut of it.
func embeddingOf(t *testing.T, name, text string) (*Ingester, *cut.File) {
	t.Helper()
	in, _, _ := preparing(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	in.readFrom(root, selection.Rules{})
	t.Cleanup(func() { _ = in.root.Close() })
	if in.Vectors, err = vecindex.Open(t.TempDir(), "test", 8); err != nil {
		t.Fatal(err)
	}
	if in.Index, err = index.Open(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Index.Close(); err != nil {
			t.Error(err)
		}
	})
	pr, err := in.reader.Read(t.Context(), name, index.File{}, false, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.reader.Finish(t.Context(), pr); err != nil {
		t.Fatal(err)
	}
	if _, err := in.apply(t.Context(), []index.Change{{File: &pr.File}}); err != nil {
		t.Fatal(err)
	}
	return in, pr
}

// textsOf returns what is embedded of a file's chunks, by key.
func textsOf(t *testing.T, in *Ingester, pr *cut.File) map[string]string {
	t.Helper()
	out := map[string]string{}
	_, err := in.eachText(t.Context(), &due{id: pr.ID, path: pr.Path, row: &index.Row{}, chunks: pr.Chunks}, func(e embedText) error {
		out[e.key] = e.text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOverlapShowsNoCredential embeds with each chunk of a file the lines before
// it, but none of a chunk that holds a credential.
func TestOverlapShowsNoCredential(t *testing.T) {
	token := "AKIA" + "Z7QK3MXW5VRT2PLH"
	for _, at := range []int{0, 1, 42, 49, 50, 51, 99, 100, 101, 140} {
		var b strings.Builder
		for i := range 400 {
			if i == at {
				fmt.Fprintf(&b, "aws_access_key_id = %s\n", token)
			}
			fmt.Fprintf(&b, "setting%d = bird%d\n", i, i)
		}
		in, pr := embeddingOf(t, "birds.conf", b.String())
		in.Overlap = 10
		texts := textsOf(t, in, pr)
		hidden, over := 0, 0
		for i, c := range pr.Chunks {
			text, ok := texts[chunkKey(c.ID)]
			if c.Hidden {
				hidden++
				if ok {
					t.Errorf("credential in line %d: the chunk that holds it is embedded", at+1)
				}
				continue
			}
			if strings.Contains(text, token) {
				t.Errorf("credential in line %d: it is embedded with lines %d-%d", at+1, c.StartLine, c.EndLine)
			}
			if more := strings.Count(text, "\n") - 1 - (c.EndLine - c.StartLine + 1); more == 10 {
				over++
			} else if i > 0 && !pr.Chunks[i-1].Hidden || more != 0 {
				t.Errorf("credential in line %d: lines %d-%d are embedded with %d more", at+1, c.StartLine, c.EndLine, more)
			}
		}
		if hidden != 1 || over < len(pr.Chunks)-3 {
			t.Errorf("credential in line %d: %d chunks hidden, %d of %d with overlap", at+1, hidden, over, len(pr.Chunks))
		}
	}
}

// TestOnlyWhatLacksAVectorIsEmbedded leaves chunks alone that have one, unless
// their text reaches into others.
func TestOnlyWhatLacksAVectorIsEmbedded(t *testing.T) {
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, "// F%d does it.\nfunc F%d() {\n\tprintln(%d)\n}\n\n", i, i, i)
	}
	in, pr := embeddingOf(t, "a.go", "package a\n\n"+b.String())
	in.Overlap = 10
	if n := len(textsOf(t, in, pr)); n != len(pr.Chunks)+1 {
		t.Errorf("%d texts for %d chunks and their memory", n, len(pr.Chunks))
	}
	var put []vecindex.Vec
	for _, c := range pr.Chunks[:len(pr.Chunks)-1] {
		put = append(put, vecindex.Vec{Key: chunkKey(c.ID), Memory: pr.ID, V: []float32{1, 0, 0, 0, 0, 0, 0, 0}})
	}
	if err := in.Vectors.Apply(1, put, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(textsOf(t, in, pr)); n != 2 {
		t.Errorf("%d texts for one chunk and the memory", n)
	}
	if chunker.Overlaps(pr.Chunks, 1) {
		t.Error("a function overlaps with the one before")
	}
}

// counting is an embedder that counts, and says what it was given.
type counting struct {
	calls, texts, most int
}

func (*counting) Identity() embed.Identity { return embed.Identity{Provider: "test", Dim: 8} }

func (c *counting) Embed(_ context.Context, texts []string, _ embed.Kind) ([][]float32, error) {
	c.calls++
	c.texts += len(texts)
	c.most = max(c.most, len(texts))
	out := make([][]float32, len(texts))
	for i := range out {
		out[i] = []float32{0, 0, 1, 0, 0, 0, 0, 0}
	}
	return out, nil
}

// TestEmbedYieldsInTheMiddleOfAFile: a save waits for some texts at most, however
// many one file has, and none but those of memories is embedded twice.
func TestEmbedYieldsInTheMiddleOfAFile(t *testing.T) {
	var b strings.Builder
	b.WriteString("package a\n")
	const functions = 500
	for i := range functions {
		fmt.Fprintf(&b, "\n// F%d does it.\nfunc F%d() {\n\tprintln(%d)\n}\n", i, i, i)
	}
	in, pr := embeddingOf(t, "a.go", b.String())
	in.Overlap = 10
	count := &counting{}
	in.Options.Embed = count
	if _, err := in.apply(t.Context(), []index.Change{in.sourceChange(t.Context(), pr, nil)}); err != nil {
		t.Fatal(err)
	}
	calls := 0
	for more := true; more; calls++ {
		if calls > functions {
			t.Fatal("it never ends")
		}
		before, asked := count.texts, false
		var err error
		more, err = in.Embed(t.Context(), func() bool { asked = true; return true }, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := count.texts - before; n > embedTexts || more != asked {
			t.Errorf("%d texts are embedded while something waits, which was asked: %v, more: %v", n, asked, more)
		}
	}
	if calls < functions/embedTexts || in.Vectors.Len() != len(pr.Chunks)+1 {
		t.Errorf("%d calls, %d vectors of %d", calls, in.Vectors.Len(), len(pr.Chunks)+1)
	}
	if want := len(pr.Chunks) + calls; count.texts != want {
		t.Errorf("%d texts were embedded in %d calls, want %d", count.texts, calls, want)
	}
	calls = count.calls
	if more, err := in.Embed(t.Context(), nil, nil); err != nil || more || count.calls != calls {
		t.Errorf("with all done: more %v, %v, %d calls", more, err, count.calls-calls)
	}
}
