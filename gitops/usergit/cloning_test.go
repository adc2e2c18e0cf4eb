package usergit_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAwaitCloneUntilHeadIsThere: between the references of the remote and the branch
// that is checked out lies a moment, in which nothing of the checkout may be judged.
func TestAwaitCloneUntilHeadIsThere(t *testing.T) {
	t.Parallel()
	const at = "1111111111111111111111111111111111111111"
	head := map[string]string{"packed": "packed-refs", "loose": "refs/remotes/origin/HEAD"}
	for name, remote := range head {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := realDir(t)
			git(t, dir, "init", "-q", "--template=", ".")
			git(t, dir, "remote", "add", "origin", filepath.Join(dir, "elsewhere"))
			write(t, filepath.Join(dir, ".git", remote), at+" refs/remotes/origin/main\n")
			l := locate(t, dir)
			ctx, cancel := context.WithTimeout(t.Context(), 120*time.Millisecond)
			defer cancel()
			if err := l.AwaitClone(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("before the branch is there: %v", err)
			}
			write(t, filepath.Join(dir, ".git/refs/heads/main"), at+"\n")
			within, stop := context.WithTimeout(t.Context(), 10*time.Second)
			defer stop()
			if err := l.AwaitClone(within); err != nil {
				t.Errorf("with the branch: %v", err)
			}
			must(t, os.Remove(filepath.Join(dir, ".git/refs/heads/main")))
			old := time.Now().Add(-time.Minute) // nothing has happened for long: there is no such branch
			for _, f := range []string{".", "HEAD", "config", "objects", "refs", "packed-refs"} {
				if err := os.Chtimes(filepath.Join(dir, ".git", f), old, old); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
			}
			if err := l.AwaitClone(within); err != nil {
				t.Errorf("where the branch never comes: %v", err)
			}
		})
	}
}
