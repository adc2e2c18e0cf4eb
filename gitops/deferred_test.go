package gitops_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogsOfAnEarlierVersion: what is in the logs that an earlier version left (its wal,
// and the log of writes it deferred) is in files and journal after a start, and the
// second log is gone. Its records have fields that nothing reads any more.
func TestLogsOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"wal", "putoff"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := checkout(t)
			state := filepath.Join(dir, ".git/foldwatch")
			write(t, filepath.Join(state, name), string(read(t, filepath.Join("testdata/old", name))))
			fold := func(path string) string { return filepath.Join(dir, "fold", path) }
			// As the first of two edits was: the file has what the write began with.
			write(t, fold("notes/by-a-person.md"), "# One\n")
			write(t, fold("decision/gone-00000000.md"), "---\nid: \"00000000000000c3\"\ntitle: Gone\n---\n# Gone\n\nbody\n")
			s := openStore(t, dir, nil)
			for path, want := range map[string]string{
				"decision/edited-00000000.md":  "new body",
				"decision/created-00000000.md": "# Created",
				"codebase/described.go.md":     "words of a person",
				"codebase/itself.go.md":        "# By itself",
				"notes/by-a-person.md":         "# Two",
			} {
				if b, err := s.Read(path); err != nil || !strings.Contains(string(b), want) {
					t.Errorf("%s holds %q, %v", path, b, err)
				}
			}
			if _, err := os.Stat(fold("decision/gone-00000000.md")); err == nil {
				t.Error("what was deleted is there")
			}
			if b, err := s.LastDescribed(t.Context(), "codebase/described.go.md"); err != nil || strings.Contains(string(b), "words of a person") {
				t.Errorf("the last description is %q, %v", b, err)
			}
			_, err := s.Commit(t.Context(), nil, "")
			must(t, err)
			must(t, s.Close())
			if n := len(read(t, filepath.Join(state, "wal"))); n > 20 {
				t.Errorf("the wal has %d bytes after a commit", n)
			}
			if _, err := os.Stat(filepath.Join(state, "putoff")); err == nil {
				t.Error("the second log is still there")
			}
			s = openStore(t, dir, nil)
			for _, path := range []string{"decision/edited-00000000.md", "decision/gone-00000000.md"} {
				if _, _, err := s.History().LastBlob(t.Context(), path); err != nil {
					t.Errorf("the journal's last %s: %v", path, err)
				}
			}
		})
	}
}
