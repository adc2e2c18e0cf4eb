package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
)

// A kennel is a machine with one large checkout, whose daemon is killed.
type kennel struct {
	t     *testing.T
	top   string
	dir   string // the checkout
	files int
	env   []string
}

// newKennel makes a checkout of so many small files, an hour old: a file as
// young as its index has to be read twice.
func newKennel(t *testing.T, files int) *kennel {
	t.Helper()
	top := t.TempDir()
	home := filepath.Join(top, "home")
	k := &kennel{t: t, top: top, dir: filepath.Join(top, "app"), files: files, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "TMPDIR=" + os.TempDir(),
		"FOLDWATCH_HOME=" + filepath.Join(home, "fw"), "GIT_CONFIG_GLOBAL=" + filepath.Join(home, ".gitconfig"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada Dev", "GIT_AUTHOR_EMAIL=ada@example.invalid", "GIT_COMMITTER_NAME=Ada Dev", "GIT_COMMITTER_EMAIL=ada@example.invalid",
		"NO_COLOR=1", "LC_ALL=C.UTF-8", goRace,
	}}
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for i := range files {
		p := filepath.Join(k.dir, fmt.Sprintf("part%02d", i/100), fmt.Sprintf("file%04d.go", i))
		text := fmt.Sprintf("// Package part holds wombat%d.\npackage part\n\n// Wombat%d digs %d holes in a night.\nfunc Wombat%d(holes int) int {\n\tif holes > %d {\n\t\treturn holes\n\t}\n\treturn %d\n}\n\n"+
			"// Burrow%d is where they sleep.\ntype Burrow%d struct {\n\tDepth int\n\tExits []string\n}\n", i, i, i, i, i, i, i, i)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, old, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "Begin"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = k.dir, k.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return k
}

// A keeper is one life of the daemon.
type keeper struct {
	*kennel
	local.Client
	proc *exec.Cmd
	log  bytes.Buffer
}

// serve starts the daemon and returns when it answers.
func (k *kennel) serve() *keeper {
	k.t.Helper()
	l := &keeper{kennel: k, proc: exec.CommandContext(k.t.Context(), "foldwatch", "serve")}
	l.proc.Dir, l.proc.Env, l.proc.Stderr = k.top, k.env, &l.log
	if err := l.proc.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(l.kill)
	app := newApp(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	app.config.Environ = nil
	app.Getenv = func(name string) string {
		for _, v := range k.env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
	k.eventually("the daemon answers", func() bool {
		c, err := app.daemon.Dialed(k.t.Context())
		l.Client = c
		return err == nil && c != nil
	})
	return l
}

// kill is kill -9.
func (l *keeper) kill() {
	if l.proc.ProcessState == nil {
		_ = l.proc.Process.Kill()
		_ = l.proc.Wait() // killed, as we asked
	}
}

func (k *kennel) eventually(what string, ok func() bool) {
	k.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			k.t.Fatalf("after two minutes, still not: %s", what)
		}
		<-tick.C
	}
}

func (l *keeper) status() wire.ProjectStatus {
	l.t.Helper()
	st, err := l.ProjectStatus(l.t.Context(), "app")
	if err != nil {
		l.t.Fatalf("status: %v", err)
	}
	return st
}

// add registers the checkout; the first index begins.
func (l *keeper) add(memories string) {
	l.t.Helper()
	if _, err := l.AddProject(l.t.Context(), wire.ProjectCreate{Path: l.dir, Slug: "app", FileMemories: memories}); err != nil {
		l.t.Fatal(err)
	}
}

// done waits until everything is indexed, vectors too.
func (l *keeper) done() wire.ProjectStatus {
	l.t.Helper()
	var st wire.ProjectStatus
	l.eventually("all is indexed", func() bool {
		st = l.status()
		return st.State == "ready" && st.Files.Indexed == l.files && st.VectorsDue == 0 && st.Queued == 0 && st.Progress == nil
	})
	return st
}

// answers is what some searches find, and what there is.
func (l *keeper) answers(st wire.ProjectStatus) []string {
	l.t.Helper()
	out := []string{fmt.Sprint("memories, chunks, links, vectors: ", st.Memories, st.Chunks, st.Links, st.Vectors)}
	for i := 0; i < l.files; i += l.files / 20 {
		for _, q := range []string{fmt.Sprintf("wombat%d", i), fmt.Sprintf("where does burrow%d sleep", i)} {
			r, err := l.Search(l.t.Context(), "app", wire.SearchRequest{Query: q, Limit: 3})
			if err != nil {
				l.t.Fatal(err)
			}
			line := q + ":"
			for _, hit := range r.Results[:min(len(r.Results), 1)] {
				line += fmt.Sprintf(" %s %s %d", hit.ID, hit.Title, len(hit.MatchedChunks))
			}
			out = append(out, line)
		}
	}
	return out
}

// TestFirstIndexGoesOn kills the daemon at random moments of a first index. What
// was stored before is neither read nor cut again, searches answer meanwhile,
// by words before there are vectors, and the end is that of an undisturbed run.
func TestFirstIndexGoesOn(t *testing.T) {
	if raced {
		t.Skip("SKIP: indexes thousands of files; `make accept` runs it without the race detector")
	}
	t.Parallel()
	if testing.Short() {
		t.Skip("SKIP: runs a daemon")
	}
	// With a memory file each, files are stored 256 and then 1,024 at a time.
	for memories, crashes := range map[string]int{"local": 3, "fold": 1} {
		files := 1000 * (1 + crashes)
		t.Run(memories, func(t *testing.T) {
			t.Parallel()
			calm := newKennel(t, files)
			l := calm.serve()
			l.add(memories)
			l.eventually("a search finds something", l.finds)
			st := l.done()
			want := l.answers(st)
			if n := st.Counters["parses"]; n != int64(files) {
				t.Errorf("%d parses for %d files", n, files)
			}
			l.kill()

			k := newKennel(t, files)
			l = k.serve()
			l.add(memories)
			rnd := rand.New(rand.NewPCG(8, uint64(len(memories))))
			stored, midway := 0, 0
			for life := 0; life < crashes && stored < files; life++ {
				goal := stored + 1 + rnd.IntN((files-stored+3)/4)
				l.eventually(fmt.Sprintf("life %d stores %d files", life, goal), func() bool {
					stored = l.stored()
					return stored >= goal
				})
				l.kill()
				t.Logf("killed with %d of %d files stored", stored, files)
				if l = k.serve(); stored < files {
					midway++
				}
			}
			if midway == 0 {
				t.Error("no crash came before the end")
			}
			got := l.done()
			for _, name := range []string{"files_read", "parses"} {
				if n := got.Counters[name]; n > int64(files-stored) {
					t.Errorf("%s after the last crash: %d, where %d of %d files were stored before", name, n, stored, files)
				}
			}
			t.Logf("%d of %d files stored at the last crash; then %d read, %d cut, %d from the cache", stored, files,
				got.Counters["files_read"], got.Counters["parses"], got.Counters["chunk_cache_hits"])
			if have := l.answers(got); !slices.Equal(have, want) {
				for i := range want {
					if have[i] != want[i] {
						t.Errorf("after the crashes %q, undisturbed %q", have[i], want[i])
					}
				}
			}
		})
	}
}

// stored is how many files the first index has stored, as it tells itself.
func (l *keeper) stored() int {
	l.t.Helper()
	list, err := l.Jobs(l.t.Context(), "app", 10)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, j := range list.Items {
		if j.Status == "running" && j.Progress != nil && (j.Progress.Stage == "indexing text" || j.Progress.Stage == "describing") {
			return j.Progress.Searchable
		}
	}
	if st := l.status(); st.State == "ready" {
		return st.Files.Indexed
	}
	return 0
}

// finds reports whether a search finds something. That is to be while more is to
// come, and by words alone.
func (l *keeper) finds() bool {
	r, err := l.Search(context.Background(), "app", wire.SearchRequest{Query: "holes in a night", Limit: 3})
	if err != nil {
		l.t.Errorf("a search during the first index: %v", err)
		return false
	}
	if len(r.Results) == 0 {
		return false
	}
	if st, err := l.Status(context.Background()); err != nil || !r.IndexStale || st.Counters["embeds"] > 5 { // a few are questions
		l.t.Errorf("searches find something only now: index stale %v, %d texts embedded, %v", r.IndexStale, st.Counters["embeds"], err)
	}
	return true
}
