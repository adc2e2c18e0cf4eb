package usergit_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops/gittest"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func TestLocate(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	base := realDir(t)
	linked := filepath.Join(base, "linked")
	git(t, dir, "worktree", "add", "-q", linked)
	bare := filepath.Join(base, "x.git")
	git(t, base, "clone", "-q", "--bare", dir, bare)
	bareLinked := filepath.Join(base, "of-bare")
	git(t, bare, "worktree", "add", "-q", bareLinked, "main")
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", bare, "sub")
	sep := filepath.Join(base, "sep")
	git(t, base, "init", "-q", "--separate-git-dir", filepath.Join(base, "sep-git"), sep)
	dotBare := filepath.Join(base, "proj")
	git(t, base, "clone", "-q", "--bare", dir, filepath.Join(dotBare, ".bare"))
	write(t, filepath.Join(dotBare, ".git"), "gitdir: ./.bare\n")
	git(t, dotBare, "worktree", "add", "-q", "wt", "main")

	join := filepath.Join
	for _, tc := range []struct {
		path string
		want usergit.Repo
		fold string
	}{
		{dir, usergit.Repo{WorkTree: dir, GitDir: join(dir, ".git"), CommonDir: join(dir, ".git"), MainTree: dir}, join(dir, "fold")},
		{join(dir, "dir/b.go"), usergit.Repo{WorkTree: dir, GitDir: join(dir, ".git"), CommonDir: join(dir, ".git"), MainTree: dir}, join(dir, "fold")},
		{join(dir, ".git/refs"), usergit.Repo{WorkTree: dir, GitDir: join(dir, ".git"), CommonDir: join(dir, ".git"), MainTree: dir}, join(dir, "fold")},
		{linked, usergit.Repo{WorkTree: linked, GitDir: join(dir, ".git/worktrees/linked"), CommonDir: join(dir, ".git"), MainTree: dir, Linked: true}, join(dir, "fold")},
		{bare, usergit.Repo{GitDir: bare, CommonDir: bare, Bare: true}, join(bare, "foldwatch/fold")},
		{bareLinked, usergit.Repo{WorkTree: bareLinked, GitDir: join(bare, "worktrees/of-bare"), CommonDir: bare, Bare: true, Linked: true}, join(bare, "foldwatch/fold")},
		{join(dotBare, "wt"), usergit.Repo{WorkTree: join(dotBare, "wt"), GitDir: join(dotBare, ".bare/worktrees/wt"), CommonDir: join(dotBare, ".bare"), Bare: true, Linked: true}, join(dotBare, ".bare/foldwatch/fold")},
		{join(dir, "sub"), usergit.Repo{WorkTree: join(dir, "sub"), GitDir: join(dir, ".git/modules/sub"), CommonDir: join(dir, ".git/modules/sub"), MainTree: join(dir, "sub"), Submodule: true}, join(dir, "sub/fold")},
		{sep, usergit.Repo{WorkTree: sep, GitDir: join(base, "sep-git"), CommonDir: join(base, "sep-git"), MainTree: sep}, join(sep, "fold")},
	} {
		l := locate(t, tc.path)
		if *l != tc.want {
			t.Errorf("Locate(%s) =\n%+v, want\n%+v", tc.path, *l, tc.want)
		}
		if got := l.FoldPath(""); got != tc.fold {
			t.Errorf("FoldPath of %s = %s, want %s", tc.path, got, tc.fold)
		}
		if len(l.Key()) != 16 {
			t.Errorf("Key of %s = %q", tc.path, l.Key())
		}
	}
	if locate(t, dir).Key() == locate(t, linked).Key() {
		t.Error("linked work tree has the key of the main one")
	}
}

func TestLocateRefuses(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	none := realDir(t)
	stolen := realDir(t) // its .git leads into another checkout
	write(t, filepath.Join(stolen, ".git"), "gitdir: "+filepath.Join(dir, ".git")+"\n")
	elsewhere := realDir(t)
	git(t, elsewhere, "init", "-q", ".")
	git(t, elsewhere, "config", "core.worktree", dir)
	borrowed := filepath.Join(realDir(t), "b")
	git(t, dir, "clone", "-q", "--shared", ".", borrowed)
	moved := filepath.Join(realDir(t), "moved")
	git(t, dir, "worktree", "add", "-q", filepath.Join(realDir(t), "wt"))
	write(t, filepath.Join(moved, ".git"), "gitdir: "+filepath.Join(dir, ".git/worktrees/wt")+"\n")

	for _, tc := range []struct {
		name, path string
		kind       error
	}{
		{"no repository", none, fold.ErrNotFound},
		{"no folder", filepath.Join(none, "gone"), fold.ErrNotFound},
		{"git directory of another checkout", stolen, fold.ErrForbidden},
		{"core.worktree elsewhere", elsewhere, fold.ErrForbidden},
		{"borrowed objects", borrowed, fold.ErrForbidden},
		{"linked work tree without a way back", moved, fold.ErrForbidden},
	} {
		_, err := usergit.Locate(t.Context(), tc.path)
		if !errors.Is(err, tc.kind) {
			t.Errorf("%s: Locate = %v, want %v", tc.name, err, tc.kind)
		}
		if tc.name != "no folder" && fold.Hint(err) == "" {
			t.Errorf("%s: Locate gave no hint", tc.name)
		}
	}
}

// A git before 2.31 says back what it does not know, and goes on.
func TestLocateWithOldGit(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: the git of this test is a script of sh")
	}
	dir, bin := checkout(t), t.TempDir()
	program(t, filepath.Join(bin, "git"), "#!/bin/sh\nprintf '%s\\n' --path-format=absolute .git .git false true\n")
	t.Setenv("PATH", bin)
	_, err := usergit.Locate(t.Context(), dir)
	if !errors.Is(err, fold.ErrUnavailable) || !strings.Contains(fold.Hint(err), usergit.MinGit) {
		t.Errorf("Locate with an old git = %v (hint %q), want a newer one to be named", err, fold.Hint(err))
	}
}

func TestLocateRefusesForeignOwner(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() != 0 {
		t.Skip("needs root to give a folder away")
	}
	isolate(t)
	dir := checkout(t)
	if err := os.Chown(dir, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	_, err := usergit.Locate(t.Context(), dir)
	if !errors.Is(err, fold.ErrForbidden) || !strings.Contains(fold.Hint(err), "safe.directory") {
		t.Fatalf("Locate of a foreign checkout = %v (hint %q), want ErrForbidden", err, fold.Hint(err))
	}
	git(t, realDir(t), "config", "--global", "--add", "safe.directory", dir)
	locate(t, dir)
}

func TestHead(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	l, ctx := locate(t, dir), t.Context()
	oid := git(t, dir, "rev-parse", "HEAD")
	if h, err := l.Head(ctx); err != nil || h != (usergit.Head{Branch: "main", Oid: oid}) {
		t.Errorf("Head = %+v, %v", h, err)
	}
	git(t, dir, "checkout", "-q", "-b", "topic/x")
	if name, tip, err := l.DefaultBranch(ctx); name != "main" || tip != oid || err != nil {
		t.Errorf("DefaultBranch = %s %s %v", name, tip, err)
	}
	git(t, dir, "checkout", "-q", "--detach")
	if h, err := l.Head(ctx); err != nil || h != (usergit.Head{Oid: oid, Detached: true}) {
		t.Errorf("Head of detached = %+v, %v", h, err)
	}
	git(t, dir, "branch", "-q", "-m", "main", "trunk")
	if name, tip, err := l.DefaultBranch(ctx); name != "" || tip != oid || err != nil {
		t.Errorf("DefaultBranch of detached = %q %s %v", name, tip, err)
	}
	git(t, dir, "update-ref", "refs/remotes/origin/trunk", oid)
	git(t, dir, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
	if name, tip, err := l.DefaultBranch(ctx); name != "trunk" || tip != oid || err != nil {
		t.Errorf("DefaultBranch by origin/HEAD = %q %s %v", name, tip, err)
	}

	empty := realDir(t)
	git(t, empty, "init", "-q", ".")
	l = locate(t, empty)
	if h, err := l.Head(ctx); err != nil || h != (usergit.Head{Branch: "main", Unborn: true}) {
		t.Errorf("Head of unborn = %+v, %v", h, err)
	}
	if name, tip, err := l.DefaultBranch(ctx); name+tip != "" || err != nil {
		t.Errorf("DefaultBranch of unborn = %q %q %v", name, tip, err)
	}
	if h, b, err := l.TracksFold(ctx, "fold"); h || b != nil || err != nil {
		t.Errorf("TracksFold of unborn = %v %v %v", h, b, err)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	other := beside(t)
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "sub")
	write(t, filepath.Join(dir, "new file.txt"), "x")
	write(t, filepath.Join(dir, "größe.txt"), "x")
	write(t, filepath.Join(dir, "out/o.bin"), "x")
	write(t, filepath.Join(dir, ".gitignore"), "/out/\n")
	git(t, dir, "init", "-q", "nested")
	write(t, filepath.Join(dir, "nested/n.txt"), "x")
	l := locate(t, dir)
	got, err := l.Files(t.Context())
	want := []string{".gitignore", ".gitmodules", "a.go", "dir/b.go", "größe.txt", "new file.txt"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Files = %q, %v, want %q", got, err, want)
	}
	ign, err := l.Ignored(t.Context(), []string{"out", "out/o.bin", "a.go", "x.txt", "../up", "sub/a.go", "/etc/passwd"})
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]bool{"out": true, "out/o.bin": true, "a.go": false, "x.txt": false, "../up": true, "sub/a.go": true, "/etc/passwd": true} {
		if ign[p] != want {
			t.Errorf("Ignored(%q) = %v, want %v", p, ign[p], want)
		}
	}
}

func TestTreesAndHistory(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	l, ctx := locate(t, dir), t.Context()
	first := git(t, dir, "rev-parse", "HEAD")
	oldBlob := git(t, dir, "rev-parse", "HEAD:a.go")
	long := strings.Repeat("package long line of text\n", 40)
	write(t, filepath.Join(dir, "dir/long.go"), long)
	write(t, filepath.Join(dir, "empty.go"), "")
	if err := os.Symlink("a.go", filepath.Join(dir, "link.go")); err != nil {
		t.Skip(err)
	}
	write(t, filepath.Join(dir, "a.go"), "package a // 2\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "second")
	second := git(t, dir, "rev-parse", "HEAD")
	git(t, dir, "mv", "dir/long.go", "moved.go")
	git(t, dir, "rm", "-q", "dir/b.go")
	git(t, dir, "commit", "-qm", "third")
	git(t, dir, "checkout", "-q", "-b", "side", first)
	write(t, filepath.Join(dir, "side.go"), "package side\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "side")
	git(t, dir, "checkout", "-q", "main")
	git(t, dir, "merge", "-q", "--no-ff", "--no-commit", "side")
	write(t, filepath.Join(dir, "a.go"), "package a // only in the merge\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "merge")
	tip := git(t, dir, "rev-parse", "HEAD")
	mergeBlob := git(t, dir, "rev-parse", "HEAD:a.go")

	tree, err := l.Tree(ctx, tip)
	if err != nil || len(tree) != 4 || tree["a.go"] != mergeBlob {
		t.Errorf("Tree = %v, %v", tree, err)
	}
	changes, err := l.DiffTrees(ctx, second, tip)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, c := range changes {
		got += string(c.Status) + " " + c.OldPath + ">" + c.Path + "\n"
	}
	if want := "M >a.go\nD >dir/b.go\nR dir/long.go>moved.go\nA >side.go\n"; got != want {
		t.Errorf("DiffTrees =\n%swant\n%s", got, want)
	}
	if all, err := l.DiffTrees(ctx, "", first); err != nil || len(all) != 2 || all[0].Status != 'A' {
		t.Errorf("DiffTrees from nothing = %+v, %v", all, err)
	}

	want := map[string]string{oldBlob: "package a\n", tree["empty.go"]: "", strings.Repeat("0", 40): "-"}
	err = l.Blobs(ctx, []string{oldBlob, strings.Repeat("0", 40), tree["empty.go"]}, func(oid string, b []byte) error {
		text := string(b)
		if b == nil {
			text = "-"
		}
		if text != want[oid] {
			t.Errorf("Blobs(%s) = %q, want %q", oid, text, want[oid])
		}
		delete(want, oid)
		return nil
	})
	if err != nil || len(want) != 0 {
		t.Errorf("Blobs left %v, %v", want, err)
	}

	found, err := l.HasBlobs(ctx, tip, map[string][]string{
		"a.go": {oldBlob, mergeBlob, "beef"}, "dir/b.go": {oldBlob}, "side.go": {tree["side.go"]},
	})
	if err != nil || !found["a.go"][oldBlob] || !found["a.go"][mergeBlob] || found["a.go"]["beef"] ||
		found["dir/b.go"][oldBlob] || !found["side.go"][tree["side.go"]] {
		t.Errorf("HasBlobs = %v, %v", found, err)
	}
	if one, err := l.HasBlobs(ctx, first, map[string][]string{"a.go": {oldBlob, mergeBlob}}); err != nil || !one["a.go"][oldBlob] || one["a.go"][mergeBlob] {
		t.Errorf("HasBlobs = %v, %v", one, err)
	}

	commits, err := l.Commits(ctx, first, tip, 0)
	if err != nil {
		t.Fatal(err)
	}
	got = ""
	for _, c := range commits {
		got += c.Subject + " " + strings.Join(c.Files, ",") + "\n"
	}
	lines := strings.Split(strings.TrimSpace(got), "\n")
	slices.Sort(lines)
	if want := []string{"merge", "second a.go,dir/long.go,empty.go", "side side.go", "third dir/b.go,dir/long.go,moved.go"}; !slices.Equal(trimAll(lines), want) {
		t.Errorf("Commits = %q, want %q", lines, want)
	}
	one, err := l.Commits(ctx, "", first, 1)
	if err != nil || len(one) != 1 || one[0].Subject != "first" || one[0].Body != "why it was made" ||
		one[0].AuthorName != "Ann" || len(one[0].Files) != 2 || one[0].Parents != 0 {
		t.Errorf("Commits of the first = %+v, %v", one, err)
	}
	if at, err := l.CommitTime(ctx, first); err != nil || !at.Equal(one[0].Time) {
		t.Errorf("CommitTime = %v, %v, want %v", at, err, one[0].Time)
	}
}

func trimAll(s []string) []string {
	for i := range s {
		s[i] = strings.TrimSpace(s[i])
	}
	return s
}

func TestIndexBlobs(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	write(t, filepath.Join(dir, "a.go"), "package z\n") // same size, maybe the same tick
	l := locate(t, dir)
	got, err := l.IndexBlobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if e := got["a.go"]; e.Clean || e.Blob != git(t, dir, "rev-parse", ":a.go") {
		t.Errorf("IndexBlobs of an edited file = %+v", e)
	}
	if e := got["dir/b.go"]; !e.Clean {
		t.Errorf("IndexBlobs of a clean file = %+v", e)
	}
}

func TestTracksFold(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	l, ctx := locate(t, dir), t.Context()
	git(t, dir, "checkout", "-q", "-b", "with")
	write(t, filepath.Join(dir, "fold/project.toml"), "")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "fold")
	if head, b, err := l.TracksFold(ctx, "fold"); !head || !slices.Equal(b, []string{"with"}) || err != nil {
		t.Errorf("TracksFold = %v %v %v", head, b, err)
	}
	git(t, dir, "update-ref", "refs/remotes/origin/there", "with")
	git(t, dir, "checkout", "-q", "main")
	if head, b, err := l.TracksFold(ctx, "fold"); head || !slices.Equal(b, []string{"with", "origin/there"}) || err != nil {
		t.Errorf("TracksFold from main = %v %v %v", head, b, err)
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	l := locate(t, dir)
	if got := l.Busy(); got != "" {
		t.Errorf("Busy = %q", got)
	}
	write(t, filepath.Join(dir, ".git/MERGE_HEAD"), "x")
	if got := l.Busy(); got != "a merge is in progress" {
		t.Errorf("Busy = %q", got)
	}
}

func TestRemoteURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://user:token@example.org/x/y.git":      "https://example.org/x/y.git",
		"https://token@example.org/x/y.git?token=abc": "https://example.org/x/y.git",
		"ssh://git:pw@example.org:22/x.git":           "ssh://git@example.org:22/x.git",
		"git@example.org:x/y.git":                     "git@example.org:x/y.git",
		"https://u:p%zz@example.org/x":                "https://example.org/x",
		"/srv/git/x.git":                              "/srv/git/x.git",
		"":                                            "",
	} {
		if got := usergit.StripCredentials(in); got != want {
			t.Errorf("StripCredentials(%q) = %q, want %q", in, got, want)
		}
	}
	dir := checkout(t)
	l := locate(t, dir)
	if got, err := l.RemoteURL(t.Context()); got != "" || err != nil {
		t.Errorf("RemoteURL without remote = %q, %v", got, err)
	}
	git(t, dir, "remote", "add", "up", "https://example.org/up.git")
	git(t, dir, "remote", "add", "origin", "https://u:p@example.org/o.git")
	if got, err := l.RemoteURL(t.Context()); got != "https://example.org/o.git" || err != nil {
		t.Errorf("RemoteURL = %q, %v", got, err)
	}
	if n, e := l.Identity(t.Context()); n != "Ann" || e != "ann@example.org" {
		t.Errorf("Identity = %q %q", n, e)
	}
}

// TestReadingOtherFormats covers repositories that only the git program reads.
func TestReadingOtherFormats(t *testing.T) {
	t.Parallel()
	dir := realDir(t)
	git(t, dir, "init", "-q", "--object-format=sha256", ".")
	write(t, filepath.Join(dir, "a.go"), "package a\n")
	write(t, filepath.Join(dir, "d/b.go"), "package b\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "first")
	git(t, dir, "sparse-checkout", "set", "nothing") // turns extensions.worktreeConfig on
	l, ctx := locate(t, dir), t.Context()
	h, err := l.Head(ctx)
	if err != nil || len(h.Oid) != 64 {
		t.Fatalf("Head = %+v, %v", h, err)
	}
	tree, err := l.Tree(ctx, h.Oid)
	if err != nil || tree["a.go"] != usergit.BlobName([]byte("package a\n"), true) {
		t.Errorf("Tree = %v, %v", tree, err)
	}
	idx, err := l.IndexBlobs(ctx)
	if err != nil || idx["a.go"].Blob != tree["a.go"] || !idx["a.go"].Clean || idx["d/b.go"].Clean {
		t.Errorf("IndexBlobs = %v, %v", idx, err)
	}
	if has, err := l.HasBlobs(ctx, h.Oid, map[string][]string{"a.go": {tree["a.go"]}}); err != nil || !has["a.go"][tree["a.go"]] {
		t.Errorf("HasBlobs = %v, %v", has, err)
	}
}

// TestHostileConfigRunsNothing sets every setting of a repository that names a
// program, and then reads all there is to read (F39).
func TestHostileConfigRunsNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the trap is a shell script")
	}
	dir := checkout(t)
	trap := filepath.Join(realDir(t), "trap.sh")
	sprung := filepath.Join(filepath.Dir(trap), "sprung")
	program(t, trap, "#!/bin/sh\necho \"$0 $*\" >> '"+sprung+"'\ncat\n")
	write(t, filepath.Join(dir, ".gitattributes"), "* filter=evil diff=evil merge=evil text=auto\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "attributes")
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout", "pre-auto-gc"} {
		program(t, filepath.Join(dir, ".git/hooks", hook), "#!/bin/sh\n"+trap+" hook\n")
	}
	f, err := os.OpenFile(filepath.Join(dir, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(strings.ReplaceAll(`
[core]
	fsmonitor = TRAP
	hooksPath = `+filepath.Join(dir, ".git/hooks")+`
	sshCommand = TRAP
	pager = TRAP
	editor = TRAP
	gitProxy = TRAP
	askPass = TRAP
	alternateRefsCommand = TRAP
	untrackedCache = true
[filter "evil"]
	clean = TRAP
	smudge = TRAP
	process = TRAP
	required = true
[diff]
	external = TRAP
[diff "evil"]
	command = TRAP
	textconv = TRAP
[merge "evil"]
	driver = TRAP
[alias]
	ls-files = !TRAP
	log = !TRAP
	rev-parse = !TRAP
[pager]
	log = TRAP
	config = TRAP
[gpg]
	program = TRAP
[log]
	showSignature = true
[commit]
	gpgSign = true
[credential]
	helper = !TRAP
[remote "origin"]
	url = ext::TRAP
	promisor = true
	partialclonefilter = blob:none
	uploadpack = TRAP
[extensions]
	partialClone = origin
[uploadpack]
	packObjectsHook = TRAP
[include]
	path = /dev/null
`, "TRAP", trap))
	if err2 := f.Close(); err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	// Touched files make git want to look at their content.
	write(t, filepath.Join(dir, "a.go"), "package q\n")
	write(t, filepath.Join(dir, "dir/b.go"), "package b\n")
	tour(t, locate(t, dir), strings.Repeat("1", 40))
	if b, err := os.ReadFile(sprung); err == nil {
		t.Fatalf("programs of the repository ran:\n%s", b)
	}
	// The trap itself works: plain git springs it.
	cmd := exec.Command("git", "status")
	cmd.Dir = dir
	_ = cmd.Run()
	if _, err := os.Stat(sprung); err != nil {
		t.Error("the trap does not spring even for git status")
	}
}

// TestReadsWriteNothing: not a byte and not a time stamp of the repository changes by
// all that is asked about it.
func TestReadsWriteNothing(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	write(t, filepath.Join(dir, "a.go"), "package a // edited\n")
	git(t, dir, "commit", "-qam", "second")
	write(t, filepath.Join(dir, "staged.go"), "package s\n")
	git(t, dir, "add", "staged.go")
	before := gittest.Snapshot(t, dir)
	tour(t, locate(t, dir), strings.Repeat("1", 40))
	gittest.Unchanged(t, before, gittest.Snapshot(t, dir))
}

// tour calls every function that reads the user's repository.
func tour(t testing.TB, l *usergit.Repo, missing string) {
	t.Helper()
	ctx := context.Background()
	h, err := l.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = l.DefaultBranch(ctx)
	check(t, err)
	_, err = l.Files(ctx)
	check(t, err)
	_, err = l.Ignored(ctx, []string{"a.go", "x"})
	check(t, err)
	tree, err := l.Tree(ctx, h.Oid)
	check(t, err)
	_, err = l.DiffTrees(ctx, h.Oid+"~1", h.Oid)
	check(t, err)
	check(t, l.Blobs(ctx, []string{tree["a.go"], missing}, func(string, []byte) error { return nil }))
	_, err = l.HasBlobs(ctx, h.Oid, map[string][]string{"a.go": {tree["a.go"], missing}})
	check(t, err)
	_, err = l.Commits(ctx, "", h.Oid, 0)
	check(t, err)
	_, err = l.CommitTime(ctx, h.Oid)
	check(t, err)
	_, err = l.IndexBlobs(ctx)
	check(t, err)
	_, _, err = l.TracksFold(ctx, "fold")
	check(t, err)
	_, err = l.RemoteURL(ctx)
	check(t, err)
	l.Identity(ctx)
	l.Busy()
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
