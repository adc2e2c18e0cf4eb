package daemon_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/vecindex/embedtest"
)

// TestDamageOfOneStoreLeavesTheOthers is F20 and F21 as a user sees them: the
// store that is damaged is made again from the others, which stay as they are, and
// status says which it was.
func TestDamageOfOneStoreLeavesTheOthers(t *testing.T) {
	t.Parallel()
	p := newProject(t, sampleTree())
	p.settle()
	p.restart() // files written while they were read are read once more
	p.settle()
	dump, answers, vectors := p.dump(), p.answers(), p.status().Vectors
	index := p.d.IndexDir(p.dir)
	flip := func(b []byte) { b[len(b)/2] ^= 1 }
	for _, tc := range []struct {
		below, prefix, ext string
		damage             func([]byte)
		says               string
	}{
		{"text.bleve", "", ".zap", func(b []byte) { clear(b) }, "words rebuilt"},
		{"vectors", "vectors.snap", "", flip, "vectors rebuilt"},
		{"vectors", "originals-", "", func(b []byte) { clear(b[:64]) }, "vectors rebuilt"},
	} {
		p.stop()
		what := fmt.Sprintf("%s/%s*%s damaged", tc.below, tc.prefix, tc.ext)
		n := 0
		err := filepath.WalkDir(filepath.Join(index, tc.below), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || !strings.HasPrefix(d.Name(), tc.prefix) || !strings.HasSuffix(d.Name(), tc.ext) {
				return err
			}
			n++
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			tc.damage(b)
			return os.WriteFile(path, b, 0o600)
		})
		if err != nil || n == 0 {
			t.Fatalf("%s: %d files, %v", what, n, err)
		}
		p.start()
		p.settle()
		said := strings.Join(p.status().Notices, "\n")
		for _, store := range []string{"index rebuilt", "words rebuilt", "vectors rebuilt"} {
			if (store == tc.says) != strings.Contains(said, store) {
				t.Errorf("%s: status says %q, want %s and no other", what, said, tc.says)
			}
		}
		if now := p.dump(); now != dump {
			t.Errorf("%s: the index differs:\n%s", what, differ(dump, now))
		}
		if now := p.answers(); now != answers {
			t.Errorf("%s: the answers differ:\n%s", what, differ(answers, now))
		}
		p.eventually(what+": all vectors are back", func() bool { s := p.status(); return s.VectorsDue == 0 && s.Vectors == vectors })
		if c := p.counters(); c["parses"] != 0 || c["described"] != 0 {
			t.Errorf("%s: %v", what, c)
		}
	}
}

// TestModelThatAnswersNonsenseDelaysOnlyVectors is the rest of F56, beside
// TestModelThatFailsDelaysOnlyVectors and the faults of package embed.
func TestModelThatAnswersNonsenseDelaysOnlyVectors(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"429", "HTML", "NaN", "zero", "none", "wrong dimension", "endless"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeOllama(t)
			p := newModelProject(t, map[string]string{"main.go": mainGo})
			p.settle()
			f.Break(embedtest.BrokenBy(name).Faults(f.Provider))
			p.choose("[providers.near]\nkind = \"ollama\"\nurl = \"" + f.URL + "\"\n[embedding]\nprovider = \"near\"\nmodel = \"tiny\"\n")
			p.eventually("status says why", func() bool { return strings.Contains(fmt.Sprint(p.status().Notices), "vectors are late") })
			p.write("lynx.go", "package app\n\n// Lynx hunts at night.\nfunc Lynx() {}\n")
			p.eventually("a save is found by words", func() bool { return p.found("Lynx", "lynx.go") })
			if n := f.Sent(); n > 40 {
				t.Errorf("asked for %d texts", n)
			}
			if st := p.status(); st.Embedder.Provider != "builtin" || st.State != "ready" {
				t.Errorf("status %s, %+v", st.State, st.Embedder)
			}
		})
	}
}
