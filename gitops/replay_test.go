package gitops_test

import (
	"os"
	"path/filepath"
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
