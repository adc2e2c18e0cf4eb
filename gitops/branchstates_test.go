package gitops_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
)

// A state is what a user's repository may be in when a memory is to be committed.
type state struct {
	name string
	// set brings the checkout at dir into the state and returns the checkout to
	// open, "" for dir itself.
	set  func(t *testing.T, dir string) (open string)
	home bool   // it changes the user's own configuration, or leaves something in their home
	wait string // part of why nothing is committed; "" if it is
	then func(t *testing.T, dir string)
}

// failing runs git and expects that it stops half-way, as at a conflict.
func failing(t testing.TB, dir string, args ...string) {
	t.Helper()
	if out, err := git2(dir, args...); err == nil {
		t.Fatalf("git %q did not stop:\n%s", args, out)
	}
}

// sides makes a branch called side that changes a.go otherwise than main does.
func sides(t testing.TB, dir string) {
	t.Helper()
	git(t, dir, "checkout", "-q", "-b", "side")
	write(t, filepath.Join(dir, "a.go"), "package side\n")
	git(t, dir, "commit", "-qam", "side")
	git(t, dir, "checkout", "-q", "main")
	write(t, filepath.Join(dir, "a.go"), "package other\n")
	git(t, dir, "commit", "-qam", "other")
}

func states() []state {
	return slices.Concat(stagedStates(), openStates(), placeStates(), configStates(), formatStates(), cloneStates())
}

// in is a state that one call of git makes.
func in(args ...string) func(t *testing.T, dir string) string {
	return func(t *testing.T, dir string) string {
		git(t, dir, args...)
		return ""
	}
}

func edit(t testing.TB, dir, name, text string) { t.Helper(); write(t, filepath.Join(dir, name), text) }

// stagedStates are those of index and work tree.
func stagedStates() []state {
	return []state{
		{name: "clean"},
		{name: "staged and edited again", set: func(t *testing.T, dir string) string {
			edit(t, dir, "a.go", "package staged\n")
			git(t, dir, "add", "a.go")
			edit(t, dir, "a.go", "package edited\n")
			return ""
		}},
		{name: "staged of every kind", set: func(t *testing.T, dir string) string {
			edit(t, dir, "new.go", "package new\n")
			edit(t, dir, "exec.sh", "x\n")
			git(t, dir, "add", "new.go", "exec.sh")
			git(t, dir, "update-index", "--chmod=+x", "exec.sh")
			git(t, dir, "rm", "-q", "dir/b.go")
			return ""
		}},
		{name: "intent to add", set: func(t *testing.T, dir string) string {
			edit(t, dir, "later.go", "package later\n")
			git(t, dir, "add", "-N", "later.go")
			return ""
		}},
		{name: "untracked and ignored", set: func(t *testing.T, dir string) string {
			edit(t, dir, ".gitignore", "*.log\n")
			edit(t, dir, "x.log", "x")
			return ""
		}},
		{name: "stash", set: func(t *testing.T, dir string) string {
			edit(t, dir, "a.go", "package stashed\n")
			git(t, dir, "stash", "-q")
			return ""
		}},
	}
}

// openStates are those of an operation that is open.
func openStates() []state {
	return []state{
		{name: "merge with conflicts", wait: "a merge is in progress", set: func(t *testing.T, dir string) string {
			sides(t, dir)
			failing(t, dir, "merge", "side")
			return ""
		}},
		{name: "conflicts without a merge", wait: "conflicts to be resolved", set: func(t *testing.T, dir string) string {
			sides(t, dir)
			git(t, dir, "checkout", "-q", "side~")
			git(t, dir, "checkout", "-q", "main")
			edit(t, dir, "a.go", "package third\n")
			git(t, dir, "stash", "-q")
			edit(t, dir, "a.go", "package fourth\n")
			git(t, dir, "commit", "-qam", "fourth")
			failing(t, dir, "stash", "pop")
			return ""
		}},
		{name: "merge not committed", wait: "a merge is in progress", set: func(t *testing.T, dir string) string {
			git(t, dir, "checkout", "-q", "-b", "side")
			edit(t, dir, "side.go", "package side\n")
			git(t, dir, "add", "side.go")
			git(t, dir, "commit", "-qm", "side")
			git(t, dir, "checkout", "-q", "main")
			git(t, dir, "merge", "-q", "--no-ff", "--no-commit", "side")
			return ""
		}},
		{name: "rebase", wait: "a rebase is in progress", set: func(t *testing.T, dir string) string {
			sides(t, dir)
			failing(t, dir, "rebase", "side")
			return ""
		}},
		{name: "am", wait: "a rebase or am is in progress", set: func(t *testing.T, dir string) string {
			sides(t, dir)
			git(t, dir, "format-patch", "-q", "-1", "-o", ".git", "side")
			failing(t, dir, "am", ".git/0001-side.patch")
			return ""
		}},
		{name: "cherry-pick", wait: "a cherry-pick is in progress", set: func(t *testing.T, dir string) string {
			sides(t, dir)
			failing(t, dir, "cherry-pick", "side")
			return ""
		}},
		{name: "revert", wait: "a revert is in progress", set: func(t *testing.T, dir string) string {
			sides(t, dir)
			edit(t, dir, "a.go", "package later\n")
			git(t, dir, "commit", "-qam", "later")
			failing(t, dir, "revert", "HEAD~")
			return ""
		}},
		{name: "bisect", wait: "a bisect is in progress", set: func(t *testing.T, dir string) string {
			git(t, dir, "bisect", "start")
			return ""
		}},
	}
}

// placeStates are those of HEAD, of fold/ and of locks.
func placeStates() []state {
	return []state{
		{name: "another branch", wait: "HEAD is on side", set: in("checkout", "-q", "-b", "side")},
		{name: "detached", wait: "HEAD is detached", set: in("checkout", "-q", "--detach")},
		{name: "branch in two work trees", wait: "checked out in", set: func(t *testing.T, dir string) string {
			git(t, dir, "worktree", "add", "-q", "-f", filepath.Join(realDir(t), "wt"), "main")
			return ""
		}},
		{name: "from a linked work tree", set: func(t *testing.T, dir string) string {
			linked := filepath.Join(realDir(t), "wt")
			git(t, dir, "worktree", "add", "-q", "-b", "side", linked)
			return linked
		}},
		{name: "staged in fold/", wait: "fold/note.md is staged", set: func(t *testing.T, dir string) string {
			edit(t, dir, "fold/note.md", "# Note\n")
			git(t, dir, "add", "fold/note.md")
			return ""
		}},
		{name: "staged as deleted in fold/", wait: "is staged as deleted", set: in("rm", "-q", "-r", "--cached", "fold/project.md")},
		{name: "other things in fold/", set: func(t *testing.T, dir string) string {
			edit(t, dir, "fold/picture.txt", "x")
			must(t, os.Symlink("picture.txt", filepath.Join(dir, "fold/link")))
			git(t, dir, "add", "fold")
			git(t, dir, "commit", "-qm", "mine")
			return ""
		}},
		{name: "index.lock", wait: "index.lock", set: func(t *testing.T, dir string) string {
			edit(t, dir, ".git/index.lock", "")
			return ""
		}},
		{name: "HEAD.lock", wait: "HEAD.lock", set: func(t *testing.T, dir string) string {
			edit(t, dir, ".git/HEAD.lock", "")
			return ""
		}},
		{name: "branch lock", wait: "main.lock", set: func(t *testing.T, dir string) string {
			edit(t, dir, ".git/refs/heads/main.lock", "")
			return ""
		}},
	}
}

// configStates are those that a configuration makes.
func configStates() []state {
	return []state{
		{name: "no identity", home: true, wait: "who you are", set: func(t *testing.T, dir string) string {
			edit(t, os.Getenv("HOME"), ".gitconfig", "[init]\n\tdefaultBranch = main\n")
			return ""
		}},
		{name: "packed", set: func(t *testing.T, dir string) string {
			git(t, dir, "gc", "-q")
			return ""
		}},
		{name: "no logs", set: func(t *testing.T, dir string) string {
			git(t, dir, "config", "core.logAllRefUpdates", "false")
			must(t, os.RemoveAll(filepath.Join(dir, ".git/logs")))
			return ""
		}},
		{name: "filter", wait: "passes through the filter lfs", set: func(t *testing.T, dir string) string {
			git(t, dir, "config", "filter.lfs.clean", "touch "+filepath.Join(dir, "ran")+"; cat")
			edit(t, dir, ".git/info/attributes", "*.md filter=lfs\n")
			return ""
		}},
		{name: "line ends", set: in("config", "core.autocrlf", "true")},
		{name: "hooks", set: func(t *testing.T, dir string) string {
			for _, h := range []string{"pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change", "pre-auto-gc"} {
				program(t, filepath.Join(dir, ".git/hooks", h), "#!/bin/sh\ntouch "+filepath.Join(dir, "ran")+"\nexit 1\n")
			}
			return ""
		}},
		{name: "signed by a program of the repository", home: true, set: func(t *testing.T, dir string) string {
			p := filepath.Join(dir, ".git/evil")
			program(t, p, "#!/bin/sh\ntouch "+filepath.Join(dir, "ran")+"\n")
			git(t, dir, "config", "commit.gpgSign", "true")
			git(t, dir, "config", "gpg.program", p)
			git(t, dir, "config", "gpg.ssh.program", p)
			git(t, dir, "config", "core.fsmonitor", p)
			git(t, dir, "config", "core.editor", p)
			return ""
		}},
		{name: "signed with a key", home: true, set: func(t *testing.T, dir string) string {
			if _, err := exec.LookPath("ssh-keygen"); err != nil {
				t.Skip("no ssh-keygen")
			}
			key := filepath.Join(os.Getenv("HOME"), "key")
			if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
				t.Fatalf("ssh-keygen: %v\n%s", err, out)
			}
			git(t, dir, "config", "--global", "commit.gpgSign", "true")
			git(t, dir, "config", "--global", "gpg.format", "ssh")
			git(t, dir, "config", "--global", "user.signingKey", key)
			edit(t, os.Getenv("HOME"), "signers", "ann@example.org "+string(read(t, key+".pub")))
			git(t, dir, "config", "--global", "gpg.ssh.allowedSignersFile", filepath.Join(os.Getenv("HOME"), "signers"))
			return ""
		}, then: func(t *testing.T, dir string) { t.Log(git(t, dir, "verify-commit", "HEAD")) }},
	}
}

// formatStates are those of other forms of the index.
func formatStates() []state {
	return []state{
		{name: "index version 4", set: in("update-index", "--index-version", "4")},
		{name: "split index", set: in("update-index", "--split-index")},
		{name: "untracked cache", set: in("update-index", "--untracked-cache")},
		{name: "sparse checkout with fold/", set: in("sparse-checkout", "set", "--cone", "fold")},
		{name: "sparse index", set: in("sparse-checkout", "set", "--cone", "--sparse-index", "fold")},
		{name: "sparse checkout without fold/", set: in("sparse-checkout", "set", "--cone", "dir"), then: func(t *testing.T, dir string) {
			git(t, dir, "cat-file", "-e", "HEAD:fold/project.md") // not here, and not deleted
		}},
	}
}

// cloneStates are those of repositories made in another way than git init.
func cloneStates() []state {
	clone := func(args ...string) func(t *testing.T, dir string) string {
		return func(t *testing.T, dir string) string {
			git(t, dir, "config", "uploadpack.allowFilter", "true")
			to := filepath.Join(realDir(t), "clone")
			git(t, dir, append(append([]string{"clone", "-q"}, args...), "file://"+dir, to)...)
			return to
		}
	}
	pushed := func(t *testing.T, dir string) { // what a remote has is not replaced
		if got := git(t, dir, "rev-parse", "HEAD~"); got != git(t, dir, "rev-parse", "origin/main") {
			t.Errorf("HEAD~ = %s, want what was fetched", got)
		}
	}
	return []state{
		{name: "clone", set: clone(), then: pushed},
		{name: "shallow clone", set: clone("--depth=1"), then: pushed},
		{name: "partial clone", set: clone("--filter=blob:none"), then: pushed},
		{name: "unborn branch", wait: "nothing has been committed", set: func(t *testing.T, _ string) string {
			to := realDir(t)
			git(t, to, "init", "-q", ".")
			return to
		}},
		{name: "sha256", set: func(t *testing.T, _ string) string {
			to := realDir(t)
			git(t, to, "init", "-q", "--object-format=sha256", ".")
			write(t, filepath.Join(to, "a.go"), "package a\n")
			git(t, to, "add", ".")
			git(t, to, "commit", "-qm", "first")
			return to
		}},
		{name: "bare with a work tree", wait: "is bare", set: func(t *testing.T, dir string) string {
			bare := filepath.Join(realDir(t), "bare.git")
			git(t, dir, "clone", "-q", "--bare", dir, bare)
			wt := filepath.Join(realDir(t), "wt")
			git(t, bare, "worktree", "add", "-q", wt, "main")
			return wt
		}},
		{name: "submodule", wait: "submodule", set: func(t *testing.T, dir string) string {
			outer := realDir(t)
			git(t, outer, "init", "-q", ".")
			git(t, outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", dir, "sub")
			return filepath.Join(outer, "sub")
		}},
	}
}

// TestEveryState has a memory committed in each state of a repository, beside the
// branch and onto it. Either nothing of what the user sees changes but fold/, or
// nothing is done and the reason is said (I2, I4, F28, F29, F39).
func TestEveryState(t *testing.T) {
	t.Parallel()
	everyState(t, false)
}

// TestEveryStateOfTheUser is TestEveryState for what the user's own configuration makes.
func TestEveryStateOfTheUser(t *testing.T) { everyState(t, true) }

func everyState(t *testing.T, home bool) {
	template := realDir(t)
	git(t, template, "init", "-q", ".")
	write(t, filepath.Join(template, "a.go"), "package a\n")
	write(t, filepath.Join(template, "dir/b.go"), "package b\n")
	write(t, filepath.Join(template, "fold/project.md"), "# Project\n")
	git(t, template, "add", ".")
	git(t, template, "commit", "-qm", "first")
	for _, st := range states() {
		if st.home != home {
			continue
		}
		for _, mode := range []string{"sidecar", "branch"} {
			t.Run(st.name+"/"+mode, func(t *testing.T) {
				if st.home {
					isolate(t)
				} else {
					t.Parallel()
				}
				dir := realDir(t)
				must(t, os.CopyFS(dir, os.DirFS(template)))
				git(t, dir, "update-index", "-q", "--refresh")
				if st.set != nil {
					if open := st.set(t, dir); open != "" {
						dir = open
					}
				}
				if mode == "sidecar" {
					beside(t, dir)
					return
				}
				inState(t, dir, &st)
			})
		}
	}
}

// beside has a memory recorded in the sidecar.
func beside(t *testing.T, dir string) {
	before := snapshot(t, dir)
	s := openStore(t, dir, nil)
	id, b := memoryFile("Second", "x")
	_, err := s.Put(t.Context(), gitops.Write{ID: id, New: b})
	must(t, err)
	_, err = s.Commit(t.Context(), nil, "")
	must(t, err)
	got, err := s.CommitBranch(t.Context())
	if err != nil || got.Oid != "" || got.Wait.Waits() {
		t.Errorf("CommitBranch of a sidecar = %+v, %v", got, err)
	}
	unchanged(t, before, snapshot(t, dir))
}

func unchanged(t *testing.T, before, after map[string]string) {
	t.Helper()
	for p, was := range before {
		if is, ok := after[p]; !ok || is != was && was != "dir" {
			t.Errorf("%s changed:\n%.300s\nwas\n%.300s", p, is, was)
		}
	}
	for p := range after {
		if _, ok := before[p]; !ok {
			t.Errorf("%s is new", p)
		}
	}
}

// inState has a memory committed onto the branch.
func inState(t *testing.T, dir string, st *state) {
	s := branchStore(t, dir, nil)
	id, b := memoryFile("Second", "x")
	_, err := s.Put(t.Context(), gitops.Write{ID: id, New: b})
	must(t, err)
	all, err := s.CommitAll(t.Context())
	must(t, err)
	bytes := snapshot(t, dir)
	l := locate(t, dir)
	main := l.MainTree
	var before map[string]string
	if st.wait == "" {
		before = seen(t, main)
	}
	_ = os.Remove(filepath.Join(dir, "ran")) // by git for the test
	got, err := s.CommitBranch(t.Context())
	must(t, err)
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a program of the repository was run")
		must(t, os.Remove(filepath.Join(dir, "ran")))
	}
	if st.wait != "" {
		if !strings.Contains(got.Wait.Reason, st.wait) || got.Oid != "" || !got.Pending && !all.Guarded {
			t.Errorf("CommitBranch = %+v, want it to wait: %s", got, st.wait)
		}
		after := snapshot(t, dir)
		for p := range after { // objects of an attempt that was given up are garbage that git removes
			if _, ok := bytes[p]; !ok && strings.HasPrefix(p, ".git/objects/") {
				delete(after, p)
			}
		}
		unchanged(t, bytes, after)
	} else {
		if got.Oid == "" || got.Wait.Waits() || got.Pending {
			t.Fatalf("CommitBranch = %+v", got)
		}
		after := seen(t, main)
		for what, was := range before {
			if is := after[what]; what == "logs" && !strings.HasPrefix(is, was) || what != "logs" && is != was {
				t.Errorf("%s =\n%s\nwas\n%s", what, is, was)
			}
		}
		if p := git(t, main, "ls-tree", "-r", "--name-only", "HEAD", "fold/"+id.Path()); p == "" {
			t.Error("the memory is not in the commit")
		}
		if p := git(t, main, "--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--porcelain", "--untracked-files=all", "--", "fold"); p != "" {
			t.Errorf("status of fold/ = %q", p)
		}
		git(t, main, "-c", "core.fsmonitor=false", "fsck", "--strict", "--no-dangling")
		git(t, main, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "update-index", "--force-write-index") // has git read all of it and write it
		if p := git(t, main, "diff", "--name-only", got.Oid, "HEAD"); p != "" {
			t.Errorf("HEAD differs from the commit in %q", p)
		}
	}
	if st.then != nil {
		st.then(t, main)
	}
}

// seen is what a user sees of a repository apart from fold/ and the branch.
func seen(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	not := func(text string, skip func(line string) bool) string {
		var kept []string
		for line := range strings.Lines(text + "\n") {
			if !skip(line) && line != "\n" {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "")
	}
	ofFold := func(line string) bool { return strings.Contains(line, "fold/") }
	out["status"] = not(git(t, dir, "--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--porcelain=v2"), ofFold)
	out["refs"] = not(git(t, dir, "for-each-ref"), func(l string) bool { return strings.HasSuffix(l, "\trefs/heads/main\n") })
	out["stash"] = git(t, dir, "stash", "list")
	out["tree"] = not(git(t, dir, "ls-tree", "-r", "HEAD"), ofFold)
	var entries []string
	for e := range strings.SplitSeq(git(t, dir, "ls-files", "--stage", "--debug"), "\n1") {
		if !strings.Contains(e, "\tfold/") {
			entries = append(entries, strings.TrimPrefix(e, "1"))
		}
	}
	out["index"] = strings.Join(entries, "\n")
	for _, f := range []string{"HEAD", "config", "config.worktree", "FETCH_HEAD", "ORIG_HEAD", "packed-refs", "info/exclude", "info/attributes", "info/sparse-checkout"} {
		b, _ := os.ReadFile(filepath.Join(dir, ".git", f))
		out[f] = string(b)
	}
	b, _ := os.ReadFile(filepath.Join(dir, ".git/logs/HEAD"))
	out["logs"] = string(b)
	for p, v := range snapshot(t, dir) {
		if !strings.HasPrefix(p, ".git/") && p != ".git" && p != "." && p != "ran" {
			out["file "+p] = v
		}
	}
	return out
}

// TestUserAtWork: nothing is committed while the user's git may be at work, or a
// moment after (B2, B3).
func TestUserAtWork(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	now := time.Now()
	s := branchStore(t, dir, func(o *gitops.StoreOptions) { o.Now = func() time.Time { return now } })
	remember(t, s, "Second", "x")
	head := git(t, dir, "rev-parse", "HEAD")
	used, err := os.Stat(filepath.Join(dir, ".git/logs/HEAD"))
	must(t, err)
	for _, tc := range []struct {
		after time.Duration
		want  string
	}{{9 * time.Second, "git was used a moment ago"}, {9 * time.Minute, "may want to amend"}, {-time.Hour, "amend"}} {
		now = used.ModTime().Add(tc.after)
		if tc.after < 0 { // a clock that is behind: by the log's time it is now
			must(t, os.Chtimes(filepath.Join(dir, ".git/logs/HEAD"), time.Time{}, now.Add(-time.Minute)))
		}
		b, err := s.CommitBranch(t.Context())
		must(t, err)
		if !strings.Contains(b.Wait.Reason, tc.want) || b.Wait.After <= 0 || !b.Pending {
			t.Errorf("%v after the user's commit: %+v, want %q", tc.after, b, tc.want)
		}
	}
	now = time.Now().Add(time.Hour)
	// An editor that is open on a commit message holds no lock.
	cmd := exec.CommandContext(t.Context(), "git", "commit", "--allow-empty")
	cmd.Dir = dir
	fifo := filepath.Join(dir, ".git", "wait")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Skipf("mkfifo: %v %s", err, out)
	}
	cmd.Env = append(os.Environ(), fmt.Sprintf("GIT_EDITOR=read x <%s; echo done >", fifo))
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	// A process of ours does not count: the shell between is the user's.
	shell := exec.CommandContext(t.Context(), "sh", "-c", `"$@"; exit $?`, "sh", "git", "commit", "--allow-empty")
	shell.Dir, shell.Env, shell.Stdout, shell.Stderr = cmd.Dir, cmd.Env, out, out
	must(t, shell.Start())
	deadline := time.Now().Add(20 * time.Second)
	for {
		if _, err := os.Stat(filepath.Join(dir, ".git/COMMIT_EDITMSG")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("git commit did not begin:\n%s", out)
		}
	}
	b, err := s.CommitBranch(t.Context())
	must(t, err)
	if !strings.Contains(b.Wait.Reason, "at work") && !strings.Contains(b.Wait.Reason, "commit message") && !strings.Contains(b.Wait.Reason, "index.lock") {
		t.Errorf("with an open commit editor: %+v", b)
	}
	if now := git(t, dir, "rev-parse", "HEAD"); now != head {
		t.Errorf("HEAD moved under an open commit editor")
	}
	must(t, os.WriteFile(fifo, []byte("x\n"), 0))
	if err := shell.Wait(); err != nil {
		t.Fatalf("git commit: %v\n%s", err, out)
	}
	onto(t, s)
}
