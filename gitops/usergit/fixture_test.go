package usergit_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func TestReplayEndsAsTheTreeThatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.go": "package a\n", "b/c d.go": "package b\n", "never.go": "package never", "fold/project.toml": "x"} {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	past := []usergit.FixtureCommit{
		{Message: "one", Author: "Ann <x>", Time: at, Files: []string{"b/c d.go", "a.go", "a.go"}},
		{Message: "gone", Time: at, Files: []string{"was/here.go"}},
		{Message: "two\n\nwith a body", Time: at.Add(time.Hour), Files: []string{"a.go", "was/here.go"}},
	}
	if err := usergit.Replay(t.Context(), dir, past); err != nil {
		t.Fatal(err)
	}
	l, err := usergit.Locate(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	commits, err := l.Commits(t.Context(), "", "main", 0)
	if err != nil {
		t.Fatal(err)
	}
	type brief struct {
		Subject, Body, Author string
		Time                  time.Time
		Files                 []string
	}
	var got []brief
	for _, c := range commits {
		got = append(got, brief{c.Subject, c.Body, c.AuthorName, c.Time, c.Files})
	}
	want := []brief{
		{"two", "with a body", "foldwatch", at.Add(time.Hour), []string{"a.go"}},
		{"one", "", "Ann x", at, []string{"a.go", "b/c d.go"}},
		{"", "", "foldwatch", at.Add(-time.Hour), []string{"never.go"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got commits:\n%s", d)
	}
	if out := git(t, dir, "status", "--porcelain"); out != "?? fold/" {
		t.Errorf("git status = %q, want the folder of memories alone", out)
	}
	if err := usergit.Replay(t.Context(), dir, nil); !errors.Is(err, fold.ErrConflict) {
		t.Errorf("Replay again = %v, want ErrConflict", err)
	}
}
