package gitops_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func toBranch(o *gitops.StoreOptions) { o.CommitTo = "branch" }

// powerScenesDeep are those that only make crash plays.
func powerScenesDeep() []powerScene {
	return []powerScene{
		{name: "branch sync", edit: toBranch, prepare: prepareBranchSync, act: actBranchSync, after: afterBranchSync},
		{name: "put off", edit: toBranch, prepare: preparePutOff, act: actPutOff, after: afterPutOff},
		{name: "fetched", prepare: prepareFetched, act: actFetched, after: afterFetched},
	}
}

// prepareBranchSync makes a clone whose branch tracks fold/, and another that has
// pushed what it has not seen.
func prepareBranchSync(t testing.TB, dir string) {
	remote := filepath.Join(dir, "remote.git")
	git(t, dir, "clone", "-q", "--bare", "--template=", sharedRemote(t), remote)
	p := &powerUser{t: t, dir: dir}
	git(t, dir, "clone", "-q", "--template=", remote, p.co())
	p.open(toBranch)
	p.put("Shared", new("one\ntwo\nthree\nfour\nfive"))
	p.put("Mine", new("x"))
	p.commit()
	onto(t, p.s)
	must2(p.s.SyncBranch(t.Context(), p.syncOptions()))(t)
	must(t, p.s.Close())
	other := newClone(t, remote)
	other.edit(fold.SlugID("app", "Shared").Path(), "one\n", "one of others\n", true)
	other.remember("Theirs", "x")
	other.synced()
	must(t, other.s.Close())
	write(t, filepath.Join(p.co(), "staged.go"), "package s\n")
	git(t, p.co(), "add", "staged.go")
}

// actBranchSync takes in what they pushed beside a commit of its own, which is made
// again, and pushes that.
func actBranchSync(t testing.TB, p *powerUser) {
	p.open(toBranch)
	p.put("Shared", new("one\ntwo\nthree\nfour\nfive of mine"))
	p.put("Own", new("x"))
	p.put("Mine", nil)
	p.commit()
	onto(t, p.s)
	must2(p.s.SyncBranch(t.Context(), p.syncOptions()))(t)
	must2(p.s.CommitBranch(t.Context()))(t)
	must2(p.s.SyncBranch(t.Context(), p.syncOptions()))(t)
	must(t, p.s.Close())
}

func afterBranchSync(t testing.TB, p *powerUser) (bad []string) {
	fault := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	for range 2 {
		if b, err := p.s.CommitBranch(t.Context()); err != nil || b.Wait.Reason != "" {
			fault("CommitBranch = %+v, %v", b, err)
		}
		if b, err := p.s.SyncBranch(t.Context(), p.syncOptions()); err != nil || b.Wait.Waits() {
			fault("SyncBranch = %+v, %v", b, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(p.co(), ".git", "foldwatch", "upstream.git", "objects", "pack", "tmp_*"))
	if err != nil || len(left) > 0 {
		fault("a fetch has left %q, %v", left, err)
	}
	try := p.tries(fault)
	if got := try("status", "--porcelain=v1"); got != "A  staged.go" {
		fault("status is %q", got)
	}
	if here, there := try("rev-parse", "HEAD"), try("--git-dir="+filepath.Join(p.dir, "remote.git"), "rev-parse", "main"); here != there {
		fault("HEAD is %s, the remote's %s", here, there)
	}
	if got := try("log", "--merges", "--format=%s", "HEAD"); got != "" {
		fault("merges %q", got)
	}
	for title, token := range map[string]string{"Shared": "one of others", "Theirs": "x"} {
		if b, err := p.s.Read(fold.SlugID("app", title).Path()); err != nil || !strings.Contains(string(b), token) {
			fault("%s = %q, %v, want %q", title, b, err, token)
		}
	}
	return append(bad, p.fsckAt(filepath.Join(p.co(), ".git"))...)
}

// bisection says that one of the user is under way.
func (p *powerUser) bisection() string { return filepath.Join(p.co(), ".git", "BISECT_LOG") }

func preparePutOff(t testing.TB, dir string) {
	prepareBranch(t, dir)
	p := &powerUser{t: t, dir: dir}
	write(t, p.bisection(), "git bisect start\n")
}

// actPutOff changes and deletes during a bisection, and goes on when it has ended.
func actPutOff(t testing.TB, p *powerUser) {
	p.open(toBranch)
	p.put("Shared", new("two"))
	p.commit()
	p.put("Shared", new("three"))
	p.put("Gone", nil)
	p.put("First", new("one"))
	p.commit()
	must(t, os.Remove(p.bisection()))
	must2(p.s.PlacePutOff(t.Context()))(t)
	p.put("Shared", new("four"))
	p.commit()
	onto(t, p.s)
	must(t, p.s.Close())
}

// afterPutOff ends the bisection, and expects in the files what every reader had.
func afterPutOff(t testing.TB, p *powerUser) (bad []string) {
	fault := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	_ = os.Remove(p.bisection())
	if waits, err := p.s.PlacePutOff(t.Context()); err != nil || waits != "" || len(p.s.PutOff()) > 0 {
		fault("PlacePutOff = %q, %v", waits, err)
	}
	if _, err := p.s.Commit(t.Context(), nil, ""); err != nil {
		fault("Commit = %v", err)
	}
	for path, may := range p.ledger() {
		got, err := os.ReadFile(filepath.Join(p.co(), "fold", path))
		if _, buried := fold.Buried(got); buried || errors.Is(err, fs.ErrNotExist) {
			got, err = nil, nil
		}
		found := err == nil
		if found {
			found = false
			for _, b := range may {
				found = found || (got == nil) == (b == nil) && string(got) == string(b)
			}
		}
		if !found {
			fault("%s holds %q, %v, want one of %q", path, got, err, may)
		}
	}
	return append(bad, afterBranch(t, p)...)
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
	must2(p.s.TakeFetched(t.Context()))(t)
	p.put("Own", new("x"))
	p.commit()
	must(t, p.s.Close())
}

// afterFetched goes on as an opening of the checkout does.
func afterFetched(t testing.TB, p *powerUser) (bad []string) {
	fault := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if p.s.TakingFetched() || p.s.Tip() == "" {
		if _, err := p.s.TakeFetched(t.Context()); err != nil {
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
