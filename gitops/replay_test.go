package gitops_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
)

// TestReplayInAnOperationOfGit: beside the branch a start writes what is missing whatever
// git is at, since git has no hand in these files.
func TestReplayInAnOperationOfGit(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	opt := func(o *gitops.StoreOptions) { o.Now = func() time.Time { return time.Now().Add(time.Second) } }
	s := openStore(t, dir, opt)
	id, b := memoryFile("Kept", "text")
	_, err := s.Put(t.Context(), gitops.Write{ID: id, New: b})
	must(t, err)
	must(t, s.Close())
	file := filepath.Join(dir, "fold", id.Path())
	must(t, os.Remove(file))
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "more")
	git(t, dir, "bisect", "start", "HEAD", "HEAD~1")
	openStore(t, dir, opt)
	if got := string(read(t, file)); got != string(b) {
		t.Errorf("the file holds %q", got)
	}
}

// A crash between the exchange of ours for the file and the look at what came out: what
// somebody had saved in the moment before is in the temporary file only.
func TestSaveInTheMomentOfACrash(t *testing.T) {
	t.Parallel()
	id, b := memoryFile("Session timeout", "Thirty minutes.\n\nAsk Ann.")
	ours := edited(string(b), "Thirty", "Forty")
	theirs := edited(string(b), "Ann", "Bob")
	for name, c := range map[string]struct {
		left []byte
		want []string
	}{
		"a save":            {theirs, []string{"Forty", "Bob"}},
		"what was replaced": {b, []string{"Forty", "Ann"}},
		"half of ours":      {ours[:len(ours)-3], []string{"Forty", "Ann"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := checkout(t)
			s := openStore(t, dir, nil)
			_, err := s.Put(t.Context(), gitops.Write{ID: id, New: b})
			must(t, err)
			_, err = s.CommitAll(t.Context())
			must(t, err)
			_, err = s.Put(t.Context(), gitops.Write{ID: id, Base: b, New: ours})
			must(t, err)
			must(t, s.Close())
			temps := filepath.Join(dir, ".git/foldwatch/temp")
			write(t, filepath.Join(temps, ".fw-0123456789abcdef."+url.PathEscape(id.Path())+".tmp"), string(c.left))
			s = openStore(t, dir, nil)
			got := read(t, filepath.Join(dir, "fold", filepath.FromSlash(id.Path())))
			for _, w := range c.want {
				if !strings.Contains(string(got), w) {
					t.Errorf("no %q in %s", w, got)
				}
			}
			if left, err := os.ReadDir(temps); err == nil && len(left) > 0 {
				t.Errorf("left %v", left)
			}
			_, err = s.CommitAll(t.Context())
			must(t, err)
			if st := s.Status(); st.WalEntries != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}
