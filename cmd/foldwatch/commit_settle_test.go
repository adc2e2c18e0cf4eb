package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// TestCommitWaitsForSaves: what was saved a moment ago is waited for, and what somebody
// goes on writing is left out (git.md G7).
func TestCommitWaitsForSaves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	file := filepath.Join(dir, "fold", "note.md")
	if err := os.Mkdir(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("# A note\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	saved := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(file, saved, saved); err != nil {
		t.Fatal(err)
	}
	repo, err := usergit.Locate(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	for name, tc := range map[string]struct {
		settles int // after how many looks
		reason  string
	}{"saved a moment ago": {2, ""}, "still being written": {1000, reasonUnsettled}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			looks := 0
			now := func() time.Time {
				if looks++; looks > tc.settles {
					return saved.Add(debounce)
				}
				return saved.Add(debounce / 2)
			}
			c := committer{e: &App{now: now}, tree: workTree{Repo: repo, name: "app", fold: "fold", mode: modeTracked}}
			changes, err := c.settled(t.Context(), root)
			if err != nil || len(changes) != 1 || changes[0].reason != tc.reason {
				t.Errorf("settled = %+v, %v, want one with reason %q", changes, err, tc.reason)
			}
			if looks < 2 {
				t.Error("nothing was waited for")
			}
		})
	}
}
