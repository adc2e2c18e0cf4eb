package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/testdata/fulltest"
	"github.com/foldwatch/foldwatch/testdata/walktest"
)

// equalsFresh waits until the index says what one that is made from nothing says.
func (p *project) equalsFresh(mode, scratch, when string) {
	p.t.Helper()
	c := walktest.Checkout{Dir: p.dir, Slug: p.slug, FileMemories: mode}
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		p.settle()
		fresh, err := c.FreshIndex(p.ctx(), scratch)
		if err != nil {
			p.t.Fatal(err)
		}
		is, fresh := walktest.Undated(p.dump()), walktest.Undated(fresh)
		if is == fresh {
			d, err := p.d.Drift(p.ctx(), local(), p.slug)
			if err != nil {
				p.t.Fatal(err)
			}
			if len(d.Behind) > 0 || d.Documents != d.Memories+d.Chunks {
				p.t.Errorf("after %s the index is a fresh one, and doctor says: %+v", when, d)
			}
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("after %s the index is not what a fresh one is (- has, + fresh):\n%s\ngit status:\n%s", when, differ(is, fresh), p.git("status", "--short"))
		}
		<-tick.C
	}
}

var walked = map[string]string{
	"main.go":           "package main\n\nimport \"fmt\"\n\n// Quokka smiles.\nfunc Quokka() { fmt.Println() }\n",
	"main_test.go":      "package main\n\nfunc TestQuokka() {}\n",
	"go.mod":            "module example.com/walked\n\ngo 1.24\n",
	"README.md":         "# Walked\n\nSee [two](two/two.go).\n",
	"two/two.go":        "package two\n\n// Two is two.\nfunc Two() int { return 2 }\n",
	"two/two_test.go":   "package two\n\nfunc TestTwo() {}\n",
	"two/deep/deep.go":  "package deep\n\n// Deep is deep.\nfunc Deep() {}\n",
	"den/notes.md":      "# Notes\n\nOf the den.\n",
	"den/den.go":        "package den\n\n// Den is dark.\nfunc Den() {}\n",
	"burrow/x/y/z.go":   "package y\n\n// Z is last.\nfunc Z() {}\n",
	"burrow/burrow.txt": "The burrow is long.\n",
	".gitignore":        "*.log\n",
}

// TestIndexEqualsAFreshOne walks at random over a checkout, and after each step the
// index is what one is that is made from nothing. FOLDWATCH_SEED=n walks as a run did
// that printed it.
func TestIndexEqualsAFreshOne(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("SKIP: runs daemons for some time")
	}
	seed := rand.Uint64N(1_000_000)
	if text := os.Getenv("FOLDWATCH_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []string{"local", "fold"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			t.Logf("FOLDWATCH_SEED=%d", seed)
			p := newMachine(t).add(New(t, walked), wire.ProjectCreate{Slug: "app", FileMemories: mode})
			p.watches()
			scratch := t.TempDir()
			p.equalsFresh(mode, scratch, "the first index")
			w := walktest.New(p.dir, seed, func(args ...string) (string, error) {
				cmd := exec.Command("git", args...)
				cmd.Dir = p.dir
				out, err := cmd.CombinedOutput()
				return string(out), err
			})
			var did []string
			for i := range fulltest.Pick(12, 400) {
				step, err := w.Step()
				did = append(did, fmt.Sprintf("%d: %s", i, step))
				if err != nil {
					t.Fatalf("step %s: %v", did[i], err)
				}
				p.equalsFresh(mode, scratch, fmt.Sprintf("seed %d, steps\n%s\n", seed, strings.Join(did[max(0, i-5):], "\n")))
			}
		})
	}
}

// TestABatchOfFilesAndFolders: files that come in the same batch as a folder comes or
// goes are found, and so is what took the place of something of another kind.
func TestABatchOfFilesAndFolders(t *testing.T) {
	t.Parallel()
	p := newMachine(t).add(New(t, walked), wire.ProjectCreate{Slug: "app", FileMemories: "local"})
	p.watches()
	scratch := t.TempDir()
	fresh := func(name string) string { return "package p\n\n// " + name + " is new.\nfunc " + name + "() {}\n" }
	for _, b := range []struct {
		what  string
		batch func(p *project) error
		found string // by a search; "" for nothing new
		in    string
	}{
		{"a folder goes and a file comes", func(p *project) error {
			err := os.RemoveAll(p.file("two"))
			p.write("fresh.go", fresh("Freshwater"))
			return err
		}, "Freshwater", "fresh.go"},
		{"a folder comes and a file comes", func(p *project) error {
			aside := p.file(".git/aside") // so that its files come at once
			p.write(".git/aside/c.go", fresh("Cormorant"))
			err := os.Rename(aside, p.file("moved"))
			p.write("lone.go", fresh("Lonesome"))
			return err
		}, "Lonesome", "lone.go"},
		{"a folder is moved and a file comes beside it", func(p *project) error {
			p.write("moved/d.go", fresh("Dotterel"))
			err := os.Rename(p.file("moved"), p.file("den/moved"))
			p.write("den/e.go", fresh("Egret"))
			return err
		}, "Egret", "den/e.go"},
		{"a file gives way to a folder", func(p *project) error {
			err := os.Remove(p.file("fresh.go"))
			p.write("fresh.go/f.go", fresh("Fulmar"))
			return err
		}, "Fulmar", "fresh.go/f.go"},
		{"a folder gives way to a file", func(p *project) error {
			err := os.Rename(p.file("den"), p.file(".git/gone"))
			p.write("den", "Gannets dive.\n")
			return err
		}, "Gannets", "den"},
		{"and back", func(p *project) error {
			err := os.Remove(p.file("den"))
			if err == nil {
				err = os.Rename(p.file(".git/gone"), p.file("den"))
			}
			return err
		}, "Egret", "den/e.go"},
		{"a folder is not ignored any more", func(p *project) error {
			p.write(".gitignore", "hidden/\n")
			p.write("hidden/h.go", fresh("Hobby"))
			p.equalsFresh("local", scratch, "ignoring a folder")
			p.write("beside.go", fresh("Beside"))
			return os.Remove(p.file(".gitignore"))
		}, "Hobby", "hidden/h.go"},
		{"the source of a test goes", func(p *project) error { return os.Remove(p.file("main.go")) }, "", ""},
		{"and comes back, with another", func(p *project) error {
			p.write("main.go", fresh("Main"))
			p.write("plover.go", fresh("Plover"))
			p.write("plover_test.go", "package p\n\nfunc TestPlover() {}\n")
			return nil
		}, "Plover", "plover.go"},
	} {
		if err := b.batch(p); err != nil {
			t.Fatalf("%s: %v", b.what, err)
		}
		p.equalsFresh("local", scratch, b.what)
		if b.found != "" && !p.found(b.found, b.in) {
			t.Errorf("%s: a search for %s does not find %s", b.what, b.found, b.in)
		}
	}
}

// TestStaleIsSaidOfWhatIsIndexed: that a file is again as it was described is taken
// from git only where the file it looked at is the one that is indexed.
func TestStaleIsSaidOfWhatIsIndexed(t *testing.T) {
	t.Parallel()
	p := newMachine(t).add(New(t, walked), wire.ProjectCreate{Slug: "app", FileMemories: "fold"})
	p.watches()
	scratch := t.TempDir()
	stale := func(name string, want bool) {
		t.Helper()
		p.eventually(fmt.Sprintf("%s is stale: %v", name, want), func() bool { return p.mustGet(p.fileID(name)).Stale == want })
	}
	p.write("den/notes.md", "# Notes\n\nOf another den.\n")
	stale("den/notes.md", true)
	p.settle()
	// The index keeps the file that was saved, and git is asked about another.
	if _, err := p.d.Pause(p.ctx(), local(), p.slug, wire.Pause{}); err != nil {
		t.Fatal(err)
	}
	p.git("stash", "push", "-q")
	if err := p.d.RefreshStale(p.ctx(), p.slug); err != nil {
		t.Fatal(err)
	}
	stale("den/notes.md", true)
	p.git("stash", "pop", "-q")
	if _, err := p.d.Resume(p.ctx(), local(), p.slug); err != nil {
		t.Fatal(err)
	}
	p.equalsFresh("fold", scratch, "a stash that went and came back")
	stale("den/notes.md", true)

	// What is left out is not told of.
	p.write(".foldwatchignore", "two/deep/\n")
	p.equalsFresh("fold", scratch, "leaving out a folder")
	if err := os.RemoveAll(p.file("two/deep")); err != nil {
		t.Fatal(err)
	}
	p.equalsFresh("fold", scratch, "removing what is left out")
}
