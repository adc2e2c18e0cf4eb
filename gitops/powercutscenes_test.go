package gitops_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk/powertest"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// powerCheckout makes the checkout with a few memories that everybody knows.
func powerCheckout(t testing.TB, dir string, edit func(*gitops.StoreOptions)) *powerUser {
	t.Helper()
	p := &powerUser{t: t, dir: dir}
	must(t, os.Mkdir(p.co(), 0o755))
	git(t, p.co(), "init", "-q", "--template=", ".")
	p.open(edit)
	p.put("Shared", new("one\ntwo\nthree\nfour\nfive"))
	p.put("Gone", new("x"))
	p.put("Mine", new("x"))
	p.commit()
	return p
}

func powerScenes() []powerScene {
	return []powerScene{
		{
			name: "create",
			prepare: func(t testing.TB, dir string) {
				must(t, os.Mkdir(filepath.Join(dir, "co"), 0o755))
				git(t, filepath.Join(dir, "co"), "init", "-q", "--template=", ".")
			},
			act: func(t testing.TB, p *powerUser) {
				p.open(nil)
				p.put("First", new("one"))
				p.commit()
				p.put("First", new("two"))
				must(t, p.s.Close())
			},
		},
		{
			name: "journal",
			prepare: func(t testing.TB, dir string) {
				p := powerCheckout(t, dir, nil)
				must2(p.s.Syncer().Squash(t.Context()))(t)
				must(t, p.s.Close())
			},
			act: func(t testing.TB, p *powerUser) {
				p.open(nil)
				p.put("First", new("one"))
				p.put("Shared", new("changed"))
				p.put("Gone", nil)
				p.commit()
				p.put("Shared", new("changed again"))
				p.many(6)
				p.put("Mine", nil)
				p.commit()
				must2(p.s.Syncer().Squash(t.Context()))(t)
				must(t, p.s.Close())
			},
			bears: []missingSync{
				{"memories", `^fsync co/\.git/foldwatch/temp/`, powertest.Journaled},
				{"many memories at once", `^syncfs$`, powertest.Journaled},
				{"the names of memories", `^fsync co/fold(/.)*$`, powertest.Loose},
				{"objects", `/tmp_obj_`, powertest.Journaled},
				{"the names of objects", `/objects/..$`, powertest.Loose},
				{"references", `/refs/.*/\.tmp-`, powertest.Journaled},
			},
		},
		{
			name: "sync", prepare: prepareSync, act: actSync, after: afterSync,
			bears: []missingSync{{"the names of packs", `/objects/pack$`, powertest.Loose}},
		},
		{
			name: "mirror",
			prepare: func(t testing.TB, dir string) {
				p := powerCheckout(t, dir, func(o *gitops.StoreOptions) { o.Mirror = filepath.Join(dir, "mirror.git") })
				must(t, p.s.Mirror(t.Context()))
				must(t, p.s.Close())
			},
			act: func(t testing.TB, p *powerUser) {
				p.open(func(o *gitops.StoreOptions) { o.Mirror = filepath.Join(p.dir, "mirror.git") })
				p.put("Gone", nil)
				p.commit()
				must(t, p.s.Mirror(t.Context()))
				must2(p.s.RepackAbove(t.Context(), 0, 100))(t)
				p.put("Shared", new("changed"))
				p.commit()
				must2(p.s.RepackAbove(t.Context(), 0, 1))(t)
				must(t, p.s.Close())
			},
			after: func(t testing.TB, p *powerUser) []string {
				if err := p.s.Mirror(t.Context()); err != nil {
					return []string{fmt.Sprintf("Mirror = %v", err)}
				}
				return p.fsckAt(filepath.Join(p.dir, "mirror.git"))
			},
		},
	}
}

// prepareSync lets two replicas know the same, and one publish what the other has
// not seen.
func prepareSync(t testing.TB, dir string) {
	remote := filepath.Join(dir, "remote.git")
	git(t, dir, "init", "-q", "--bare", "--template=", remote)
	p := powerCheckout(t, dir, nil)
	must2(p.s.Syncer().Sync(t.Context(), p.syncOptions()))(t)
	must(t, p.s.Close())
	other := newReplica(t, remote, nil)
	other.sync()
	shared := fold.SlugID("app", "Shared")
	other.put(shared, edited(other.read(shared.Path()), "one\n", "one of others\n"))
	other.put(fold.SlugID("app", "Gone"), nil)
	for i := range 3 {
		id, b := memoryFile(fmt.Sprintf("Theirs %d", i), "x")
		other.put(id, b)
	}
	other.sync()
	p.say(told{Path: fold.SlugID("app", "Gone").Path()}) // it may be gone from here too
}

// actSync publishes changes of its own onto theirs, and then, with nothing new
// there, once more.
func actSync(t testing.TB, p *powerUser) {
	p.open(nil)
	p.put("Shared", new("one\ntwo\nthree\nfour\nfive of mine"))
	p.put("Own", new("x"))
	p.commit()
	must2(p.s.Syncer().Sync(t.Context(), p.syncOptions()))(t)
	p.put("Own", new("of mine"))
	p.put("Mine", nil)
	p.commit()
	must2(p.s.Syncer().Sync(t.Context(), p.syncOptions()))(t)
	must(t, p.s.Close())
}

// afterSync goes on syncing, and expects that both sides have all, once.
func afterSync(t testing.TB, p *powerUser) (bad []string) {
	fault := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if _, err := p.s.Syncer().Sync(t.Context(), p.syncOptions()); err != nil {
		fault("Sync = %v", err)
	}
	want := map[string]string{}
	for title, token := range map[string]string{"Shared": "one of others", "Theirs 0": "x", "Theirs 1": "x", "Theirs 2": "x"} {
		want[fold.SlugID("app", title).Path()] = token
	}
	for path, token := range want {
		if b, err := p.s.Read(path); err != nil || !strings.Contains(string(b), token) {
			fault("%s = %q, %v, want %q", path, b, err, token)
		}
	}
	if b, err := p.s.Read(fold.SlugID("app", "Gone").Path()); !errors.Is(err, fs.ErrNotExist) {
		fault("what they deleted is back: %q, %v", b, err)
	}
	remote := filepath.Join(p.dir, "remote.git")
	here := map[string]string{}
	r := &replica{t: t, dir: p.co(), s: p.s}
	for path, b := range r.files() {
		here[path] = plumbing.ComputeHash(plumbing.BlobObject, []byte(b)).String()
	}
	there := map[string]string{}
	for line := range strings.Lines(git(t, remote, "ls-tree", "-r", "foldwatch")) {
		what, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		there[path] = strings.Fields(what)[2]
	}
	if !maps.Equal(here, there) {
		fault("here %v, there %v", here, there)
	}
	trees := strings.Fields(git(t, remote, "log", "--format=%T", "foldwatch"))
	if len(slices.Compact(slices.Clone(trees))) != len(trees) || len(trees) > 4 {
		fault("%d commits there, trees %q", len(trees), trees)
	}
	return bad
}

// many writes n new memories, and one anew, at once.
func (p *powerUser) many(n int) {
	p.t.Helper()
	var ws []gitops.Write
	var lines []told
	for i := range n {
		id, b := memoryFile(fmt.Sprintf("Many %d", i), "x")
		w := gitops.Write{ID: id, New: b}
		if i == 0 {
			id, w.New = memoryFile("First", "two")
			w.ID = id
			w.Base = must2(p.s.Read(id.Path()))(p.t)
		}
		ws, lines = append(ws, w), append(lines, told{Path: w.ID.Path(), Bytes: w.New})
	}
	p.say(lines...)
	_, skipped, err := p.s.PutMany(p.t.Context(), ws)
	if err != nil || len(skipped) > 0 {
		p.t.Fatalf("PutMany = %q, %v", skipped, err)
	}
	for i := range lines {
		lines[i].Acked = true
	}
	p.say(lines...)
}

// powerScenesDeep are those that only make crash plays.
func powerScenesDeep() []powerScene {
	return []powerScene{{name: "fetched", prepare: prepareFetched, act: actFetched, after: afterFetched}}
}

// prepareFetched makes a clone that has fetched the branch of memories.
func prepareFetched(t testing.TB, dir string) {
	remote := filepath.Join(dir, "remote.git")
	git(t, dir, "init", "-q", "--bare", "--template=", remote)
	a := newReplica(t, remote, nil)
	for i := range 4 {
		id, b := memoryFile(fmt.Sprintf("Theirs %d", i), "one\ntwo\nthree")
		a.put(id, b)
	}
	a.sync()
	first := fold.SlugID("app", "Theirs 0")
	a.put(first, edited(a.read(first.Path()), "two", "TWO"))
	a.sync()
	git(t, dir, "clone", "-q", "--template=", "--no-checkout", remote, filepath.Join(dir, "co"))
}

func actFetched(t testing.TB, p *powerUser) {
	p.open(nil)
	must2(p.s.Syncer().TakeFetched(t.Context()))(t)
	p.put("Own", new("x"))
	p.commit()
	must(t, p.s.Close())
}

// afterFetched goes on as an opening of the checkout does.
func afterFetched(t testing.TB, p *powerUser) (bad []string) {
	fault := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if p.s.Syncer().TakingFetched() || p.s.Tip() == "" {
		if _, err := p.s.Syncer().TakeFetched(t.Context()); err != nil {
			fault("TakeFetched = %v", err)
		}
	}
	for i := range 4 {
		want := "two"
		if i == 0 {
			want = "TWO"
		}
		if b, err := p.s.Read(fold.SlugID("app", fmt.Sprintf("Theirs %d", i)).Path()); err != nil || !strings.Contains(string(b), want) {
			fault("Theirs %d = %q, %v", i, b, err)
		}
	}
	return append(bad, p.fsckAt(filepath.Join(p.co(), ".git"))...)
}
