//go:build accept

package rig

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/testdata/walktest"
)

// TestWalk walks over real histories: from commit to commit, with changes, stashes and
// resets between, and after each step the index is compared with a fresh one.
// FOLDWATCH_HISTORIES lists them, with spaces between: git checkouts, which are cloned,
// or name=folder,folder,... of successive versions, of which one commit each is made.
// FOLDWATCH_STEPS and FOLDWATCH_SEED may say how many steps and which, and
// FOLDWATCH_FILE_MEMORIES where descriptions go.
func TestWalk(t *testing.T) {
	histories := strings.Fields(os.Getenv("FOLDWATCH_HISTORIES"))
	if len(histories) == 0 {
		t.Skip(`SKIP: no histories to walk over; make walk HISTORIES="checkout name=version,version ..."`)
	}
	number := func(name string, otherwise uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	steps, seed := number("FOLDWATCH_STEPS", 60), number("FOLDWATCH_SEED", rand.Uint64N(1_000_000))
	t.Logf("FOLDWATCH_SEED=%d", seed)
	m := newMachine(t)
	for _, name := range []string{"HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"} { // the fresh index asks git from here
		for _, v := range m.env() {
			if text, ok := strings.CutPrefix(v, name+"="); ok {
				t.Setenv(name, text)
			}
		}
	}
	m.serve()
	for i, h := range histories {
		began := time.Now()
		w := walker{machine: m, mode: cmp.Or(os.Getenv("FOLDWATCH_FILE_MEMORIES"), "auto"), scratch: t.TempDir()}
		w.history(h, filepath.Join(m.home, fmt.Sprint("walk", i)))
		bad := w.walk(seed, int(steps))
		fmt.Printf("%s n=%d bad=%d secs=%.0f\n", w.name, steps, bad, time.Since(began).Seconds())
	}
}

// A walker walks over one checkout.
type walker struct {
	*machine
	name, dir, slug, mode, scratch string
}

// history makes a checkout of what h names at dir.
func (w *walker) history(h, dir string) {
	name, versions, ok := strings.Cut(h, "=")
	if w.dir, w.name = dir, name; !ok {
		w.name = filepath.Base(strings.TrimSuffix(strings.TrimRight(h, "/"), "/.git"))
		w.git(w.home, "clone", "-q", "--no-local", h, dir)
		return
	}
	w.git(w.home, "init", "-q", dir)
	for i, v := range strings.Split(versions, ",") {
		if i > 0 {
			w.git(dir, "rm", "-q", "-r", "--ignore-unmatch", ".")
			w.git(dir, "clean", "-q", "-x", "-f", "-d") // what the version before ignores
		}
		if err := os.CopyFS(dir, os.DirFS(v)); err != nil {
			w.t.Fatal(err)
		}
		if out, err := exec.CommandContext(w.t.Context(), "chmod", "-R", "u+w", dir).CombinedOutput(); err != nil { // module caches are read-only
			w.t.Fatalf("chmod: %v\n%s", err, out)
		}
		w.git(dir, "add", "-A")
		w.git(dir, "commit", "-q", "--allow-empty", "-m", "Version "+filepath.Base(v))
	}
}

// walk makes the steps and returns after how many the index was not a fresh one.
func (w *walker) walk(seed uint64, steps int) (bad int) {
	cl := w.answering(20 * time.Second)
	added, err := cl.AddProject(w.t.Context(), wire.ProjectCreate{Path: w.dir, FileMemories: w.mode})
	if err != nil {
		w.t.Fatal(err)
	}
	w.slug = added.Project.Slug
	defer func() {
		if err := cl.RemoveProject(w.t.Context(), w.slug, wire.ProjectRemove{Purge: true}); err != nil {
			w.t.Error(err)
		}
	}()
	walk := walktest.New(w.dir, seed, func(args ...string) (string, error) {
		c := exec.CommandContext(w.t.Context(), "git", args...)
		c.Dir, c.Env = w.dir, w.env()
		out, err := c.CombinedOutput()
		return string(out), err
	})
	for n := range steps + 1 {
		did := "the first index"
		if n > 0 {
			if did, err = walk.Switch(); err != nil {
				w.t.Fatalf("%s, step %d: %s: %v", w.name, n, did, err)
			}
		}
		diff := ""
		if !eventually(20*time.Second, 50*time.Millisecond, func() bool {
			w.quiet(cl, w.slug)
			diff = w.compare()
			return diff == ""
		}) {
			bad++
			w.t.Errorf("%s, step %d: %s: the index is not a fresh one (- has, + fresh):\n%s", w.name, n, did, diff)
			if _, err := cl.Reindex(w.t.Context(), w.slug, wire.Reindex{Rebuild: true}); err != nil {
				w.t.Fatal(err)
			}
			w.quiet(cl, w.slug)
		}
	}
	return bad
}

// compare returns in what the index is not a fresh one, "" if in nothing.
func (w *walker) compare() string {
	fresh, err := walktest.Checkout{Dir: w.dir, Slug: w.slug, FileMemories: w.mode}.FreshIndex(w.t.Context(), w.scratch)
	if err != nil {
		w.t.Fatal(err)
	}
	is, err := w.dump()
	if err != nil {
		return err.Error() // it was written to while it was copied
	}
	is, fresh = walktest.Undated(is), walktest.Undated(fresh)
	if is == fresh {
		return ""
	}
	in := func(text string) map[string]bool {
		set := map[string]bool{}
		for line := range strings.SplitSeq(text, "\n") {
			set[line] = true
		}
		return set
	}
	x, y := in(is), in(fresh)
	var out []string
	for line := range x {
		if !y[line] {
			out = append(out, "- "+line)
		}
	}
	for line := range y {
		if !x[line] {
			out = append(out, "+ "+line)
		}
	}
	sort.Strings(out)
	return fmt.Sprintf("%d lines\n%s", len(out), strings.Join(out[:min(len(out), 12)], "\n"))
}

// dump returns what the index of the daemon says, from a copy of its database.
func (w *walker) dump() (_ string, err error) {
	found, err := filepath.Glob(filepath.Join(w.home, "fw", "state", "index", "*", "index.db"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%d indexes (%v)", len(found), err)
	}
	dir, err := os.MkdirTemp(w.scratch, "copy")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(found[0] + end)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "index.db"+end), b, 0o600)
		}
		if err != nil && !os.IsNotExist(err) {
			return "", err
		}
	}
	x, err := index.Open(context.Background(), dir)
	if err != nil {
		return "", err
	}
	defer closing(x, &err)
	var b bytes.Buffer
	err = x.Dump(context.Background(), &b)
	return b.String(), err
}

func closing(c io.Closer, err *error) {
	if e := c.Close(); *err == nil {
		*err = e
	}
}
