package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// A shared kennel has a remote, which a person commits to as well, and which holds a
// push where a test wants it.
type sharedKennel struct {
	*kennel
	remote, person string
	shared         string // id of the memory that all change
	words          []string
}

// git runs git in dir, which must succeed.
func (k *kennel) git(dir string, args ...string) string {
	k.t.Helper()
	c := exec.CommandContext(k.t.Context(), "git", args...)
	c.Dir, c.Env = dir, k.env
	out, err := c.CombinedOutput()
	if err != nil {
		k.t.Fatalf("git %s in %s: %v\n%s", strings.Join(args, " "), dir, err, out)
	}
	return string(out)
}

// hold is the file that has the remote hold a push at the hook of that name; while it
// does, there is another beside it.
func (k *sharedKennel) hold(hook string) string { return filepath.Join(k.top, "hold-"+hook) }

// holds makes the hook, which holds a push while that file is there.
func (k *sharedKennel) holds(hook string) {
	k.t.Helper()
	script := fmt.Sprintf("#!/bin/sh\ntest -e '%[1]s' || exit 0\n: >'%[1]s.reached'\nwhile test -e '%[1]s'; do sleep 0.02; done\n", k.hold(hook))
	if err := os.WriteFile(filepath.Join(k.remote, "hooks", hook), []byte(script), 0o700); err != nil {
		k.t.Fatal(err)
	}
}

// editByHand has a person change the shared memory on the remote's branch.
func (k *sharedKennel) editByHand(word string) {
	k.t.Helper()
	k.git(k.person, "pull", "-q", "origin", "foldwatch")
	file := filepath.Join(k.person, k.shared[:1], k.shared[1:2], k.shared+".md")
	b, err := os.ReadFile(file)
	if err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(file, append(b, "- "+word+"\n"...), 0o600); err != nil {
		k.t.Fatal(err)
	}
	k.git(k.person, "commit", "-qam", "By hand")
	k.git(k.person, "push", "-q", "origin", "HEAD:foldwatch")
	k.words = append(k.words, word)
}

// sync asks for a sync now.
func (l *keeper) sync(ctx context.Context) error {
	list, err := l.Repositories(ctx, "app")
	if err != nil || len(list.Items) != 1 {
		return fmt.Errorf("%d repositories: %w", len(list.Items), err)
	}
	_, err = l.Sync(ctx, "app", list.Items[0].ID, wire.SyncRequest{})
	return err
}

// whole checks that nothing that anybody wrote is missing, here or on the remote, that
// git finds nothing wrong anywhere, and that no lock is left.
func (k *sharedKennel) whole() {
	k.t.Helper()
	k.git(k.person, "pull", "-q", "origin", "foldwatch")
	for _, dir := range []string{k.person, filepath.Join(k.dir, "fold")} {
		text := ""
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(p, ".md") {
				return err
			}
			b, err := os.ReadFile(p)
			text += string(b)
			return err
		})
		if err != nil {
			k.t.Fatal(err)
		}
		for _, w := range k.words {
			if n := strings.Count(text, w+"\n"); n != 1 {
				k.t.Errorf("%q is %d times in %s", w, n, dir)
			}
		}
	}
	repos := []string{filepath.Join(k.dir, ".git"), k.remote}
	for _, root := range []string{filepath.Join(k.dir, ".git"), filepath.Join(k.top, "home", "fw")} {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && strings.HasSuffix(p, ".git") && p != root:
				repos = append(repos, p)
			case strings.HasSuffix(p, ".lock") && strings.Contains(p, ".git"+string(filepath.Separator)) && d.Name() != "foldwatch.lock": // the system's, of a mirror
				k.t.Errorf("a lock is left: %s", p)
			}
			return nil
		})
		if err != nil {
			k.t.Fatal(err)
		}
	}
	if len(repos) != 4 {
		k.t.Errorf("repositories are %v, want the checkout's, the remote, the sidecar and its mirror", repos)
	}
	for _, dir := range repos {
		if out := k.git(k.top, "--git-dir="+dir, "fsck", "--strict", "--no-dangling", "--no-progress"); out != "" {
			k.t.Errorf("git fsck of %s says %s", dir, out)
		}
	}
}

// TestSyncKilled kills the daemon while the remote holds its push, after that is taken,
// and in make crash before. The next start has lost nothing, and the next sync ends it
// (I7, F04).
func TestSyncKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("SKIP: runs a daemon, and hooks in sh")
	}
	k := &sharedKennel{kennel: newKennel(t, 1)}
	k.remote, k.person = filepath.Join(k.top, "remote.git"), filepath.Join(k.top, "person")
	k.git(k.top, "init", "-q", "--bare", "-b", "foldwatch", k.remote)
	hooks := fulltest.Some(1, []string{"post-receive", "pre-receive"})
	for _, h := range hooks {
		k.holds(h)
	}
	l := k.serve()
	if _, err := l.AddProject(t.Context(), wire.ProjectCreate{Path: k.dir, Slug: "app", FileMemories: "local", Remote: k.remote, Sync: true}); err != nil {
		t.Fatal(err)
	}
	made, err := l.AddMemory(t.Context(), "app", wire.MemoryCreate{Title: "Shared", Content: "- all change this"})
	if err != nil {
		t.Fatal(err)
	}
	k.shared = made.ID
	if err := l.sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.git(k.top, "clone", "-q", "-b", "foldwatch", k.remote, k.person)
	for _, hook := range hooks {
		k.editByHand("by hand before " + hook)
		k.words = append(k.words, "by an agent before "+hook)
		if _, err := l.AddMemory(t.Context(), "app", wire.MemoryCreate{Title: hook, Content: "by an agent before " + hook}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(k.hold(hook), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- l.sync(context.WithoutCancel(t.Context())) }()
		k.eventually("the push is held at "+hook, func() bool {
			_, err := os.Stat(k.hold(hook) + ".reached")
			return err == nil
		})
		l.kill()
		if err := <-done; err == nil {
			t.Errorf("killed at %s, and the sync succeeds", hook)
		}
		if err := os.Remove(k.hold(hook)); err != nil {
			t.Fatal(err)
		}
		l = k.serve()
		k.eventually("it is synced", func() bool { err = l.sync(t.Context()); return err == nil })
	}
	k.whole()
}
