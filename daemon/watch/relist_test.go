package watch_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/watch"
)

// TestRelistFollowsWhatIsIgnored lets go of a folder and takes it up again.
func TestRelistFollowsWhatIsIgnored(t *testing.T) {
	root := t.TempDir()
	for _, d := range []string{"src/in", "out"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var ignored atomic.Bool
	s := start(t, watch.Options{
		Root: root,
		Dirs: func(context.Context) ([]string, error) {
			if ignored.Load() {
				return []string{".", "src"}, nil
			}
			return []string{".", "src", "src/in"}, nil
		},
		Prune: func(dir string) bool { return ignored.Load() && dir == "src/in" },
		Ignored: func(_ context.Context, dirs []string) (map[string]bool, error) {
			return map[string]bool{"out": true, "src/in": ignored.Load()}, nil
		},
	})
	watched := func(n int) {
		t.Helper()
		for deadline := time.After(patience); s.w.State().Watched != n; {
			select {
			case <-deadline:
				t.Fatalf("%d directories are watched, want %d", s.w.State().Watched, n)
			case <-time.After(time.Millisecond):
			}
		}
	}
	watched(3)
	for range 3 {
		ignored.Store(true)
		s.w.Relist()
		watched(2)
		ignored.Store(false)
		s.w.Relist()
		s.reported("src/in") // what was saved there before the watch was set
		watched(3)
		s.paths = nil
		s.write("src/in/a.go")
		s.reported("src/in/a.go")
	}
}
