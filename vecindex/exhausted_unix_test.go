//go:build unix

package vecindex

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foldwatch/foldwatch/meta/fold"
)

const exhaustDir = "FOLDWATCH_VECINDEX_EXHAUSTED"

// TestExhaustChild is the other side of TestTooManyOpenFilesAreNoDamage: it opens
// all files it may, then the index.
func TestExhaustChild(t *testing.T) {
	dir := os.Getenv(exhaustDir)
	if dir == "" {
		t.Skip("runs as a child process only")
	}
	few := unix.Rlimit{Cur: 48, Max: 48}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	var all []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		all = append(all, f)
	}
	x, err := Open(dir, "test", 8)
	if !errors.Is(err, unix.EMFILE) || !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("Open = %v, %v; want too many open files", x, err)
	}
	for _, f := range all {
		_ = f.Close()
	}
}

// TestTooManyOpenFilesAreNoDamage is fault F14: what cannot be opened for now is
// not removed.
func TestTooManyOpenFilesAreNoDamage(t *testing.T) {
	dir := t.TempDir()
	x, err := Open(dir, "test", 8)
	if err != nil {
		t.Fatal(err)
	}
	put(t, x, 1, clusters(rand.New(rand.NewPCG(92, 92)), 20, 8))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), exe, "-test.run", "^TestExhaustChild$")
	child.Env = append(os.Environ(), exhaustDir+"="+dir)
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("child: %v\n%s", err, out)
	}
	y, err := Open(dir, "test", 8)
	if err != nil || y.Rebuilt != "" || y.Len() != 20 || y.Close() != nil {
		t.Errorf("afterwards: %v, %q, %d vectors", err, y.Rebuilt, y.Len())
	}
}
