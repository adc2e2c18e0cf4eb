package usergit_test

import (
	"os"
	"testing"

	"github.com/foldwatch/foldwatch/gitops/gittest"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

func TestMain(m *testing.M) { os.Exit(gittest.Main(m)) }

// Short names for what every test here does.
var (
	git      = gittest.Git
	write    = gittest.Write
	must     = gittest.Must
	program  = gittest.Program
	isolate  = gittest.Isolate
	checkout = gittest.Checkout
	realDir  = gittest.RealDir
	beside   = gittest.Beside
)

func locate(t testing.TB, path string) *usergit.Repo {
	t.Helper()
	l, err := usergit.Locate(t.Context(), path)
	if err != nil {
		t.Fatalf("Locate(%s) = %v", path, err)
	}
	return l
}
