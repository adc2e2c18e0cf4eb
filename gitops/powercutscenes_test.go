package gitops_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
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
				must2(p.s.Squash(t.Context(), later()))(t)
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
				must2(p.s.Squash(t.Context(), later()))(t)
				must(t, p.s.Close())
			},
			bears: []missingSync{
				{"memories", `^fsync co/fold/.*\.fw-`, powertest.Journaled},
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
		{name: "branch", edit: toBranch, prepare: prepareBranch, act: actBranch, after: afterBranch},
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
	must2(p.s.Sync(t.Context(), p.syncOptions()))(t)
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
	must2(p.s.Sync(t.Context(), p.syncOptions()))(t)
	p.put("Own", new("of mine"))
	p.put("Mine", nil)
	p.commit()
	must2(p.s.Sync(t.Context(), p.syncOptions()))(t)
	must(t, p.s.Close())
}

// afterSync goes on syncing, and expects that both sides have all, once.
func afterSync(t testing.TB, p *powerUser) (bad []string) {
	fault := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if _, err := p.s.Sync(t.Context(), p.syncOptions()); err != nil {
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

// prepareBranch makes a checkout whose branch tracks fold/, with something staged.
func prepareBranch(t testing.TB, dir string) {
	p := &powerUser{t: t, dir: dir}
	git(t, dir, "init", "-q", "--template=", p.co())
	write(t, filepath.Join(p.co(), "a.go"), "package a\n")
	git(t, p.co(), "add", ".")
	git(t, p.co(), "commit", "-qm", "first")
	p.open(toBranch)
	p.put("Shared", new("one"))
	p.put("Gone", new("x"))
	p.commit()
	onto(t, p.s)
	must(t, p.s.Close())
	git(t, p.co(), "tag", "seen")
	write(t, filepath.Join(p.co(), "staged.go"), "package s\n")
	git(t, p.co(), "add", "staged.go")
	write(t, filepath.Join(p.co(), "a.go"), "package a // edited\n")
}

// actBranch commits onto the branch, and then in the place of its own commit.
func actBranch(t testing.TB, p *powerUser) {
	p.open(toBranch)
	p.put("First", new("one"))
	p.put("Shared", new("two"))
	p.commit()
	onto(t, p.s)
	p.put("First", new("two"))
	p.put("Gone", nil)
	p.commit()
	onto(t, p.s)
	must(t, p.s.Close())
}

// tries returns what runs git in the checkout, and tells a fault where it fails.
func (p *powerUser) tries(fault func(format string, args ...any)) func(args ...string) string {
	return func(args ...string) string {
		cmd := exec.CommandContext(p.t.Context(), "git", args...)
		cmd.Dir = p.co()
		out, err := cmd.CombinedOutput()
		if err != nil {
			fault("git %q: %v %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
}

// afterBranch commits what is still to be committed, and expects that the user's
// git is as it was and has all of fold/, in one commit.
func afterBranch(t testing.TB, p *powerUser) (bad []string) {
	fault := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if b, err := p.s.CommitBranch(t.Context()); err != nil || b.Wait.Reason != "" || b.Pending {
		fault("CommitBranch = %+v, %v", b, err)
	}
	bad = append(bad, p.fsckAt(filepath.Join(p.co(), ".git"))...)
	try := p.tries(fault)
	if got := try("status", "--porcelain=v1"); got != "M a.go\nA  staged.go" {
		fault("status is %q", got)
	}
	if got := try("rev-list", "--count", "seen..HEAD"); got != "0" && got != "1" {
		fault("%s commits onto the branch", got)
	}
	there := map[string]bool{}
	for line := range strings.Lines(try("ls-tree", "-r", "HEAD", "fold")) {
		what, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		there[strings.TrimPrefix(path, "fold/")+" "+strings.Fields(what)[2]] = true
	}
	r := &replica{t: t, dir: p.co(), s: p.s}
	files := r.files()
	for path, b := range files {
		if !there[path+" "+plumbing.ComputeHash(plumbing.BlobObject, []byte(b)).String()] {
			fault("HEAD lacks %s", path)
		}
	}
	if len(files) != len(there) {
		fault("HEAD has %d files of fold/, not %d", len(there), len(files))
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
