package gitops_test

import (
	"os"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/gittest"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

func TestMain(m *testing.M) { os.Exit(gittest.Main(m)) }

// Short names for what every test here does.
var (
	git       = gittest.Git
	write     = gittest.Write
	read      = gittest.Read
	must      = gittest.Must
	program   = gittest.Program
	isolate   = gittest.Isolate
	checkout  = gittest.Checkout
	realDir   = gittest.RealDir
	beside    = gittest.Beside
	waitFor   = gittest.WaitFor
	snapshot  = gittest.Snapshot
	unchanged = gittest.Unchanged
)

func locate(t testing.TB, path string) *usergit.Repo {
	t.Helper()
	l, err := usergit.Locate(t.Context(), path)
	if err != nil {
		t.Fatalf("Locate(%s) = %v", path, err)
	}
	return l
}

// remember writes a memory and has it recorded in the journal.
func remember(t testing.TB, s *gitops.Store, title, body string) (path string) {
	t.Helper()
	id, b := memoryFile(title, body)
	_, err := s.Put(t.Context(), gitops.Write{ID: id, New: b, Author: "claude"})
	must(t, err)
	_, err = s.Commit(t.Context(), nil, "")
	must(t, err)
	return id.Path()
}
