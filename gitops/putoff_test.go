package gitops_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
)

// TestPutOff: what an agent changes while git holds a memory is acknowledged and read
// at once, and written when git rests, so that no command of the user finds a changed
// file in its way (git.md B1, B2, I3).
func TestPutOff(t *testing.T) {
	for _, tc := range []struct {
		name        string
		begin, end  [][]string
		was, during string // in the file: of the user's last commits, and at the time
	}{
		{"stash", [][]string{{"stash", "push", "-q"}}, [][]string{{"stash", "pop", "-q"}}, "second of all", "first of all"},
		{"older", [][]string{{"commit", "-qam", "more"}, {"checkout", "-q", "HEAD~1"}}, [][]string{{"checkout", "-q", "main"}}, "second of all", "first of all"},
		{"bisect", [][]string{{"commit", "-qam", "more"}, {"bisect", "start", "HEAD", "HEAD~2"}}, [][]string{{"bisect", "reset"}}, "second of all", "first of all"},
		{"topic", [][]string{{"checkout", "-qb", "topic"}, {"commit", "-qam", "more"}}, [][]string{{"checkout", "-q", "main"}, {"merge", "-q", "topic"}}, "second of all", "second of all"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := checkout(t)
			var ahead atomic.Int64
			now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
			s := branchStore(t, dir, func(o *gitops.StoreOptions) { o.Now = now })
			path := remember(t, s, "Held", "- first of all\n\nand\nmuch\nin\nbetween\n\n- last")
			file := filepath.Join(dir, "fold", path)
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-qm", "memories")
			write(t, file, string(edited(string(read(t, file)), "first of all", "second of all")))
			for _, args := range tc.begin {
				git(t, dir, args...)
			}
			before := string(read(t, file))
			if !strings.Contains(before, tc.during) {
				t.Fatalf("the file holds %q", before)
			}
			for _, word := range []string{"one", "two"} {
				have, err := s.Read(path)
				must(t, err)
				_, err = s.Put(t.Context(), gitops.Write{Path: path, Base: have, New: append([]byte(strings.TrimSuffix(string(have), "\n")), "\n- then came "+word+"\n"...)})
				must(t, err)
			}
			holds := func(text, which string) {
				t.Helper()
				if !strings.Contains(text, "then came one") || !strings.Contains(text, "then came two") {
					t.Errorf("%s has %q", which, text)
				}
			}
			reads := func() string {
				b, err := s.Read(path)
				must(t, err)
				return string(b)
			}
			holds(reads(), "a reader")
			_, err := s.Commit(t.Context(), []string{path}, "")
			must(t, err)
			in, err := s.At(t.Context(), "", path)
			must(t, err)
			holds(string(in), "the journal")
			fresh := remember(t, s, "New", "x")
			if _, err := os.Stat(filepath.Join(dir, "fold", fresh)); err != nil {
				t.Errorf("a new memory waits: %v", err)
			}
			must(t, s.Close()) // a crash loses no more than that
			s = branchStore(t, dir, func(o *gitops.StoreOptions) { o.Now = now })
			_, err = s.CommitBranch(t.Context())
			must(t, err)
			if got := string(read(t, file)); got != before {
				t.Errorf("the file was written meanwhile: %q", got)
			}
			holds(reads(), "a reader after a restart")
			for _, args := range tc.end {
				git(t, dir, args...)
			}
			ahead.Store(int64(3 * time.Minute))
			res, err := s.CommitBranch(t.Context())
			must(t, err)
			got := string(read(t, file))
			holds(got, "the file")
			if !strings.Contains(got, tc.was) {
				t.Errorf("the file lost %q: %q", tc.was, got)
			}
			if st := s.Status(); len(st.SetAside) > 0 || strings.Contains(got, "conflict") {
				t.Errorf("status %+v, %+v, the file %q", st, res, got)
			}
			_, err = s.CommitAll(t.Context())
			must(t, err)
			if n := s.Status().WalEntries; n != 0 {
				t.Errorf("%d entries stay in the log", n)
			}
			fsck(t, dir)
		})
	}
}
