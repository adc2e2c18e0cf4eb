package gitops_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/gitsync"
	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// kindOf returns the kind of a sync error; "" for none.
func kindOf(err error) transport.Kind {
	if e, ok := errors.AsType[*transport.Error](err); ok {
		return e.Kind
	}
	return ""
}

// byHand clones the remote's branch, lets change edit the clone, and pushes
// what it made of it.
func byHand(t testing.TB, remote string, change func(dir string)) {
	t.Helper()
	dir := filepath.Join(realDir(t), "clone")
	git(t, filepath.Dir(dir), "clone", "-q", "-b", "foldwatch", remote, dir)
	change(dir)
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "by hand")
	git(t, dir, "push", "-q", "origin", "foldwatch")
}

// syncForeign: G6 in both directions. What others put on the branch is not
// taken, not followed, and not taken away by us.
func syncForeign(t *testing.T) {
	remote := bareRemote(t)
	a, b := newReplica(t, remote, nil), newReplica(t, remote, nil)
	id, text := memoryFile("Good", "x")
	a.put(id, text)
	a.sync()
	bad, badText := memoryFile("Bad", "x")
	wrong := fold.SlugID("app", "wrong name")
	byHand(t, remote, func(dir string) {
		write(t, filepath.Join(dir, "LICENSE"), "free\n")
		write(t, filepath.Join(dir, ".github/x.md"), "# hidden\n")
		write(t, filepath.Join(dir, "1/2/3/4/5/6/7/8/9.md"), "# deep\n")
		write(t, filepath.Join(dir, "big.md"), "# big\n"+strings.Repeat("x", 1<<20))
		write(t, filepath.Join(dir, wrong.Path()), string(badText)) // says another id
		write(t, filepath.Join(dir, bad.Path()), "---\nid: [\n---\n<<<<<<< a\n=======\n>>>>>>> b\n")
		write(t, filepath.Join(dir, "note.md"), "# A note\n\nof a person\n")
		must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link.md")))
		must(t, os.Symlink("..", filepath.Join(dir, "up")))
	})
	extra, extraText := memoryFile("Extra", "x")
	b.put(extra, extraText)
	got := b.sync()
	have := b.files()
	if len(have) != 3 || have["note.md"] == "" || have[id.Path()] != string(text) || have[extra.Path()] == "" {
		t.Errorf("files are %v", have)
	}
	why := map[string]string{}
	for _, s := range got.Aside {
		why[s.Path] = s.Err.Error()
		if !errors.Is(s.Err, fold.ErrQuarantined) {
			t.Errorf("%s: %v, want quarantined", s.Path, s.Err)
		}
	}
	for _, p := range []string{"big.md", wrong.Path(), bad.Path()} {
		if why[p] == "" || b.s.Status().SetAside[p] == "" || b.syncState().Held[p] == "" {
			t.Errorf("nothing is told of %s: %v", p, why)
		}
	}
	tree := git(t, remote, "ls-tree", "-r", "foldwatch")
	for _, want := range []string{"120000 blob", "\tup", "\tLICENSE", "\t.github/x.md", "\tbig.md", "\t1/2/3/4/5/6/7/8/9.md", "\t" + extra.Path(), "\t" + bad.Path()} {
		if !strings.Contains(tree, want) {
			t.Errorf("the remote lost %q:\n%s", want, tree)
		}
	}
	// A person mends a file: it comes in, and nothing is told any more.
	byHand(t, remote, func(dir string) { write(t, filepath.Join(dir, bad.Path()), string(badText)) })
	b.sync()
	if b.read(bad.Path()) != string(badText) || b.syncState().Held[bad.Path()] != "" || b.s.Status().SetAside[bad.Path()] != "" {
		t.Errorf("the mended file did not come in: %+v", b.s.Status())
	}
	// Deleted on the remote what never came in: no trouble.
	byHand(t, remote, func(dir string) { must(t, os.Remove(filepath.Join(dir, "big.md"))) })
	b.sync()
	if len(b.syncState().Held) != 1 {
		t.Errorf("held are %v", b.syncState().Held)
	}
	fsck(t, b.dir)
}

// syncMalformed: F37. Objects that git would not make are not received.
func syncMalformed(t *testing.T) {
	remote := bareRemote(t)
	a := newReplica(t, remote, nil)
	id, text := memoryFile("One", "x")
	a.put(id, text)
	a.sync()
	blob := git(t, remote, "rev-parse", "foldwatch:"+id.Path())
	raw := filepath.Join(t.TempDir(), "tree")
	oid, err := hex.DecodeString(blob)
	must(t, err)
	write(t, raw, "100644 .git\x00"+string(oid))
	tree := git(t, remote, "hash-object", "-t", "tree", "-w", "--literally", raw)
	commit := git(t, remote, "commit-tree", "-p", "foldwatch", "-m", "evil", tree)
	git(t, remote, "update-ref", "refs/heads/foldwatch", commit)
	a.wantKind(transport.Refused)
	if a.syncState().RemoteTip == commit {
		t.Error("the commit was taken")
	}
	fsck(t, a.dir)
}

// syncSecret: F54. A secret in a pulled file stays out of fold/, one of ours
// stays out of the remote, and the user is told without the value.
func syncSecret(t *testing.T) {
	remote := bareRemote(t)
	const secret = "AKIA-" + "SYNTHETIC"
	known := false
	scan := func(o *gitops.StoreOptions) {
		o.Check = func(path string, b []byte) error {
			if known && bytes.Contains(b, []byte(secret)) {
				return fmt.Errorf("%s:7: made-up: %w", path, fold.ErrSecret)
			}
			_, err := fold.Decode("app", path, b)
			return err
		}
	}
	a, b := newReplica(t, remote, scan), newReplica(t, remote, scan)
	leak, leakText := memoryFile("Leak", secret)
	fine, fineText := memoryFile("Fine", "x")
	a.put(leak, leakText)
	a.put(fine, fineText)
	a.sync()
	known = true
	got := b.sync()
	if b.read(leak.Path()) != "" || b.read(fine.Path()) == "" || len(got.Aside) != 1 || !errors.Is(got.Aside[0].Err, fold.ErrSecret) {
		t.Errorf("Sync = %+v with files %v", got, b.files())
	}
	if strings.Contains(fmt.Sprint(got.Aside), secret) {
		t.Error("the value is told")
	}
	// Recorded before the rule was known, published after: held back.
	known = false
	own, ownText := memoryFile("Own leak", secret)
	b.put(own, ownText)
	known = true
	extra, extraText := memoryFile("Extra", "x")
	b.put(extra, extraText)
	got = b.sync()
	if tree := git(t, remote, "ls-tree", "-r", "foldwatch"); strings.Contains(tree, own.Path()) || !strings.Contains(tree, extra.Path()) {
		t.Errorf("the remote has\n%s", tree)
	}
	if git(t, remote, "log", "--format=%h", "-S"+secret, "foldwatch", "--", own.Path()) != "" {
		t.Error("the secret is in the remote's history")
	}
	if len(got.Aside) == 0 || b.syncState().Back[own.Path()] == "" || b.read(own.Path()) != string(ownText) {
		t.Errorf("nothing is told of what is held back: %+v", b.syncState())
	}
	b.sync()
	if st := b.syncState(); st.Back[own.Path()] == "" || b.s.Status().SetAside[own.Path()] == "" {
		t.Errorf("what is held back is forgotten: %+v", st)
	}
	// The rule was wrong: what was held comes in, and what was held back goes
	// out, by itself.
	known = false
	b.sync()
	if b.read(leak.Path()) == "" || b.read(own.Path()) != string(ownText) {
		t.Errorf("files are %v", b.files())
	}
	if st := b.syncState(); len(st.Held)+len(st.Back) > 0 || len(b.s.Status().SetAside) > 0 || st.Unpushed > 0 {
		t.Errorf("SyncState = %+v", st)
	}
	converge(t, a, b)
}

// syncRewritten: G14.
func syncRewritten(t *testing.T) {
	remote := bareRemote(t)
	a, b := newReplica(t, remote, nil), newReplica(t, remote, nil)
	first, firstText := memoryFile("First", "x")
	second, secondText := memoryFile("Second", "x")
	a.put(first, firstText)
	a.sync()
	a.put(second, secondText)
	a.sync()
	b.sync()
	git(t, remote, "update-ref", "refs/heads/foldwatch", "foldwatch~1")
	_, err := b.s.Syncer().Sync(t.Context(), b.opt)
	if kindOf(err) != transport.Rewritten || !strings.Contains(fold.Hint(err), "--resync") || !errors.Is(err, fold.ErrConflict) {
		t.Fatalf("Sync with a rewritten remote = %v, hint %q", err, fold.Hint(err))
	}
	if len(b.files()) != 2 {
		t.Errorf("files are %v", b.files())
	}
	// Edits are held back too, not only polls.
	third, thirdText := memoryFile("Third", "x")
	b.put(third, thirdText)
	if _, err := b.s.Syncer().Sync(t.Context(), b.opt); kindOf(err) != transport.Rewritten {
		t.Errorf("Sync of an edit = %v", err)
	}
	b.opt.Resync = true
	b.sync()
	b.opt.Resync = false
	if got := git(t, remote, "ls-tree", "-r", "--name-only", "foldwatch"); strings.Count(got, "\n") != 2 {
		t.Errorf("after --resync the remote has\n%s", got)
	}
	a.opt.Resync = true
	a.sync()
	a.opt.Resync = false
	git(t, remote, "update-ref", "-d", "refs/heads/foldwatch")
	if _, err := b.s.Syncer().Sync(t.Context(), b.opt); kindOf(err) != transport.Rewritten || !strings.Contains(err.Error(), "gone") {
		t.Errorf("Sync with a deleted branch = %v", err)
	}
	b.opt.Resync = true
	if got := b.sync(); !got.Pushed {
		t.Errorf("--resync of a deleted branch = %+v", got)
	}
	b.opt.Resync = false
	converge(t, a, b) // a need not: what it saw is there again
	linear(t, remote)
}

// syncOtherRemote: another remote is not a rewritten one.
func syncOtherRemote(t *testing.T) {
	a := newReplica(t, bareRemote(t), nil)
	id, text := memoryFile("One", "x")
	a.put(id, text)
	a.sync()
	_, err := a.s.Syncer().Squash(t.Context())
	must(t, err)
	a.opt.Remote = bareRemote(t)
	if got := a.sync(); !got.Pushed {
		t.Errorf("Sync with a new remote = %+v", got)
	}
	linear(t, a.opt.Remote)
}

// syncGuarded: G8, I8. What vanished is not deleted on the remote.
func syncGuarded(t *testing.T) {
	remote := bareRemote(t)
	a, b := newReplica(t, remote, nil), newReplica(t, remote, nil)
	for i := range 15 {
		id, text := memoryFile(fmt.Sprint("Memory ", i), "x")
		_, err := a.s.Put(t.Context(), gitops.Write{ID: id, New: text})
		must(t, err)
	}
	a.commit()
	converge(t, a, b)
	must(t, os.RemoveAll(filepath.Join(a.dir, "fold")))
	for range 2 {
		if _, err := a.s.Syncer().Sync(t.Context(), a.opt); kindOf(err) != transport.Guarded {
			t.Errorf("Sync without fold/ = %v", err)
		}
		_, err := a.s.CommitAll(t.Context())
		must(t, err)
	}
	b.sync()
	if len(b.files()) != 15 {
		t.Errorf("the other has %d files", len(b.files()))
	}
}

// syncLocal: memories with visibility: local never leave, nor do they take
// away what others published under their name.
func syncLocal(t *testing.T) {
	remote := bareRemote(t)
	a, b := newReplica(t, remote, nil), newReplica(t, remote, nil)
	id, text := memoryFile("Shared", "public words")
	private := edited(string(edited(string(text), "public words", "private words")), "source: agent\n", "source: agent\nvisibility: local\n")
	if bytes.Equal(private, text) || !bytes.Contains(private, []byte("visibility: local")) {
		t.Fatalf("no local memory: %s", private)
	}
	b.put(id, private)
	a.put(id, text)
	a.sync()
	for range 2 {
		b.sync()
		b.put(id, edited(b.read(id.Path()), "private words", "private words, more"))
	}
	b.put(id, nil)
	b.sync()
	a.sync()
	if a.read(id.Path()) != string(text) || b.read(id.Path()) != "" {
		t.Errorf("a has %q, b has %q", a.read(id.Path()), b.read(id.Path()))
	}
	if git(t, remote, "log", "--format=%h", "-Sprivate words", "foldwatch") != "" {
		t.Error("private words are on the remote")
	}
	// One that was public and becomes local is withdrawn.
	other, otherText := memoryFile("Other", "x")
	a.put(other, otherText)
	converge(t, a)
	a.put(other, edited(string(otherText), "source: agent\n", "source: agent\nvisibility: local\n"))
	a.sync()
	if tree := git(t, remote, "ls-tree", "-r", "foldwatch"); strings.Contains(tree, other.Path()) || a.read(other.Path()) == "" {
		t.Errorf("the remote has\n%s", tree)
	}
}

// syncProject: G19.
func syncProject(t *testing.T) {
	remote := bareRemote(t)
	project := func(r *replica, p conf.Project) {
		write(t, filepath.Join(r.dir, "fold", conf.ProjectFile), string(conf.EncodeProject(p)))
		r.commit()
	}
	a, b := newReplica(t, remote, nil), newReplica(t, remote, nil)
	older := conf.Project{ID: "proj_aaaa", Slug: "app", Name: "App", CreatedAt: later().AddDate(-1, 0, 0).UTC().Truncate(1e9), Exclude: []string{"dist/**"}}
	younger := conf.Project{ID: "proj_bbbb", Slug: "app", Name: "The app", CreatedAt: later().UTC().Truncate(1e9), Exclude: []string{"build/**"}}
	project(a, younger)
	a.sync()
	project(b, older)
	got := b.sync()
	want := older
	want.Exclude = []string{"build/**", "dist/**"}
	if p, _, err := conf.ParseProject([]byte(b.read(conf.ProjectFile))); err != nil || p.ID != "proj_aaaa" || fmt.Sprint(p.Exclude) != fmt.Sprint(want.Exclude) {
		t.Errorf("project is %+v, %v", p, err)
	}
	if got.Project == nil || got.Project.ID != "proj_aaaa" || got.Joined {
		t.Errorf("Sync = %+v", got)
	}
	converge(t, a, b)
	if b.read(conf.ProjectFile) != string(conf.EncodeProject(want)) {
		t.Errorf("project file is not canonical:\n%s", b.read(conf.ProjectFile))
	}
	// Another slug: the remote's wins, before anything is published.
	c := newReplica(t, remote, func(o *gitops.StoreOptions) { o.Slug = "other" })
	project(c, conf.Project{ID: "proj_cccc", Slug: "other", CreatedAt: later().AddDate(-9, 0, 0).UTC().Truncate(1e9), Exclude: []string{"c/**"}})
	id, text := memoryFile("Of c", "x")
	c.put(id, text)
	got = c.sync()
	if !got.Joined || got.Pushed || got.Project == nil || got.Project.Slug != "app" || len(got.Project.Exclude) != 3 {
		t.Fatalf("first Sync with another slug = %+v", got)
	}
	if len(c.files()) != 2 || !strings.Contains(c.read(conf.ProjectFile), "proj_aaaa") {
		t.Errorf("files are %v", c.files())
	}
	must(t, c.s.Close())
	c.s = openStore(t, c.dir, nil)
	converge(t, c, a, b)
}

// syncConcurrentEdit: an edit that is not recorded yet is merged with what
// comes, also where the remote deletes the file.
func syncConcurrentEdit(t *testing.T) {
	remote := bareRemote(t)
	a, b := newReplica(t, remote, nil), newReplica(t, remote, nil)
	id, text := memoryFile("Shared", "one\ntwo\nthree\nfour\nfive")
	gone, goneText := memoryFile("Gone", "x")
	a.put(id, text)
	a.put(gone, goneText)
	converge(t, a, b)
	a.put(id, edited(string(text), "one\n", "one of a\n"))
	a.put(gone, nil)
	a.sync()
	write(t, filepath.Join(b.dir, "fold", id.Path()), string(edited(string(text), "five\n", "five of b\n")))
	write(t, filepath.Join(b.dir, "fold", gone.Path()), string(edited(string(goneText), "x\n", "still needed\n")))
	b.sync()
	got := b.read(id.Path())
	if !strings.Contains(got, "one of a") || !strings.Contains(got, "five of b") {
		t.Errorf("Shared = %q", got)
	}
	converge(t, b, a)
	if !strings.Contains(a.read(gone.Path()), "still needed") || a.read(id.Path()) != got {
		t.Errorf("a has %v", a.files())
	}
}

// TestSyncTouchesNothingElse: I2, I4.
func TestSyncTouchesNothingElse(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	remote := bareRemote(t)
	git(t, dir, "remote", "add", "origin", remote)
	git(t, dir, "push", "-q", "origin", "main")
	git(t, dir, "fetch", "-q", "origin")
	a := &replica{t: t, dir: dir, opt: gitsync.SyncOptions{Remote: remote, Local: true, Publish: true}, s: openStore(t, dir, nil)}
	b := newReplica(t, remote, nil)
	before := snapshot(t, dir)
	refs := git(t, remote, "for-each-ref")
	id, text := memoryFile("One", "x")
	a.put(id, text)
	a.sync()
	b.sync()
	b.put(id, edited(string(text), "x\n", "y\n"))
	b.sync()
	a.sync()
	if a.read(id.Path()) != b.read(id.Path()) {
		t.Error("not in step")
	}
	if after := snapshot(t, dir); !maps.Equal(before, after) {
		t.Errorf("the checkout changed")
	}
	if got := git(t, remote, "for-each-ref"); !strings.HasSuffix(strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(refs), " ")) || strings.Count(got, "\n") != 1 {
		t.Errorf("references of the remote: %s", got)
	}
}

// syncSquashed: what is recorded and squashed while a sync is under way is
// published by the next.
func syncSquashed(t *testing.T) {
	remote := bareRemote(t)
	a, b := newReplica(t, remote, nil), newReplica(t, remote, nil)
	first, firstText := memoryFile("First", "x")
	a.put(first, firstText)
	converge(t, a, b)
	for i, at := range []string{"merge", "pushed", "files", "journal", "refs"} {
		a.put(first, edited(a.read(first.Path()), "x\n", fmt.Sprint("x\n\nline of a ", i, "\n")))
		a.sync()
		mine, mineText := memoryFile(fmt.Sprint("Before ", i), "x")
		b.put(mine, mineText)
		meanwhile, text := memoryFile(fmt.Sprint("Meanwhile ", i), "x")
		opt := b.opt
		opt.Step = func(step string) error {
			if step != at || b.read(meanwhile.Path()) != "" {
				return nil
			}
			b.put(meanwhile, text)
			_, err := b.s.Syncer().Squash(t.Context())
			return err
		}
		_, err := b.s.Syncer().Sync(t.Context(), opt)
		must(t, err)
		b.sync()
		tree := git(t, remote, "ls-tree", "-r", "--name-only", "foldwatch")
		if !strings.Contains(tree, meanwhile.Path()) || !strings.Contains(tree, mine.Path()) {
			t.Errorf("squashed at %q and not published:\n%s", at, tree)
		}
		a.sync()
	}
	converge(t, a, b)
	linear(t, remote)
}

// syncLostRace: F31. Others push first, twice, then not; then five times in a row.
func syncLostRace(t *testing.T) {
	remote := bareRemote(t)
	a, b := newReplica(t, remote, nil), newReplica(t, remote, nil)
	id, text := memoryFile("One", "x")
	a.put(id, text)
	converge(t, a, b)
	own, ownText := memoryFile("Own", "x")
	b.put(own, ownText)
	n, limit := 0, 2
	opt := b.opt
	opt.Step = func(step string) error {
		if step == "push" && n < limit {
			n++
			other, otherText := memoryFile(fmt.Sprint("Other ", n), "x")
			a.put(other, otherText)
			a.sync()
		}
		return nil
	}
	got, err := b.s.Syncer().Sync(t.Context(), opt)
	if err != nil || !got.Pushed || n != 2 {
		t.Errorf("Sync = %+v, %v after %d lost races", got, err, n)
	}
	b.put(own, edited(string(ownText), "x\n", "y\n"))
	limit = 1000
	_, err = b.s.Syncer().Sync(t.Context(), opt)
	if kindOf(err) != transport.Lost || n != 7 || !errors.Is(err, fold.ErrUnavailable) || fold.Hint(err) == "" {
		t.Errorf("Sync that always loses = %v after %d", err, n-2)
	}
	converge(t, a, b)
	linear(t, remote)
}

// What came is deleted, or brought back to what it was, before the branch has
// moved: that is published, though the journal ends as it was, and also where
// something else was written between the last squash and the sync.
func syncDeletedAtOnce(t *testing.T) {
	for _, wrote := range []bool{false, true} {
		remote := bareRemote(t)
		a, b := newReplica(t, remote, nil), newReplica(t, remote, nil)
		gone, text := memoryFile("soon gone", "said once")
		kept, other := memoryFile("kept", "said once")
		edited, first := memoryFile("edited", "first")
		late, words := memoryFile("late", "written while others sync")
		a.put(edited, first)
		a.sync()
		b.sync()
		_, second := memoryFile("edited", "second")
		if _, err := a.s.Put(t.Context(), gitops.Write{ID: edited, Base: first, New: second}); err != nil {
			t.Fatal(err)
		}
		a.put(gone, text)
		a.put(kept, other)
		a.sync()
		b.opt.Step = func(step string) error {
			switch {
			case step == "files" && wrote:
				b.put(late, words)
				b.commit()
			case step == "refs":
				for _, w := range []gitops.Write{{ID: gone, Base: text}, {ID: edited, Base: second, New: first}} {
					if _, err := b.s.Put(t.Context(), w); err != nil {
						return err
					}
				}
				b.commit()
			}
			return nil
		}
		b.sync()
		b.opt.Step = nil
		b.sync()
		a.sync()
		b.sync()
		for _, r := range []*replica{a, b} {
			if r.read(gone.Path()) != "" || r.read(kept.Path()) != string(other) || r.read(edited.Path()) != string(first) {
				t.Errorf("of three memories, one deleted and one brought back as they came, %s has %q, %q and %q", r.dir, r.read(gone.Path()), r.read(kept.Path()), r.read(edited.Path()))
			}
			if wrote && r.read(late.Path()) != string(words) {
				t.Errorf("%s has not what was written meanwhile: %q", r.dir, r.read(late.Path()))
			}
		}
	}
}
