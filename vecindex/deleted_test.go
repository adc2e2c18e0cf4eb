package vecindex_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex"
)

// TestDeletedVectorsAreLeftAlone: an index whose folder was deleted writes nothing into
// what somebody has put in its place.
func TestDeletedVectorsAreLeftAlone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: the folder of an open file cannot be moved here")
	}
	dir := filepath.Join(t.TempDir(), "vectors")
	x, err := vecindex.Open(dir, "test", 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Apply(1, []vecindex.Vec{{Key: "a", V: []float32{1, 0}}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("Close = %v, want an ErrUnavailable", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it wrote %v, %v", left, err)
	}
}
