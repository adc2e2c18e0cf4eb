package watch_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/watch"
)

// limitEnv tells the test below that it runs where the system's limit is low.
const limitEnv = "FOLDWATCH_TEST_WATCH_LIMIT"

// TestFewWatchesOfTheSystem is F25: the limit is 50, the checkout has 1,000
// directories. It runs itself again in a user namespace with that limit.
func TestFewWatchesOfTheSystem(t *testing.T) {
	if os.Getenv(limitEnv) == "" {
		lower := `echo 50 > /proc/sys/user/max_inotify_watches && exec "$0" "$@"`
		if out, err := exec.Command("unshare", "-Ur", "sh", "-c", lower, "true").CombinedOutput(); err != nil {
			t.Skipf("SKIP: no user namespace with a limit of its own: %v %s", err, out)
		}
		cmd := exec.Command("unshare", "-Ur", "sh", "-c", lower, os.Args[0], "-test.run=^TestFewWatchesOfTheSystem$", "-test.v")
		cmd.Env = append(os.Environ(), limitEnv+"=50")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("with a limit of 50: %v\n%s", err, out)
		}
		return
	}
	root := t.TempDir()
	dirs := []string{"."}
	for i := range 1000 {
		d := fmt.Sprintf("d%03d", i)
		if err := os.Mkdir(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, d)
	}
	s := start(t, watch.Options{
		Root: root, Poll: 300 * time.Millisecond,
		Dirs: func(context.Context) ([]string, error) { return dirs, nil },
	})
	st := s.w.State()
	if !st.Polling || st.Watched == 0 || st.Watched > 50 || st.Watched+st.Polled != len(dirs) ||
		!strings.Contains(st.Reason, "max_user_watches") || !strings.Contains(st.Hint, "sysctl") {
		t.Fatalf("State() = %+v", st)
	}
	s.write("d000/a.go") // watched
	s.reported("d000/a.go")
	s.write("d999/a.go") // swept
	deadline := time.After(patience)
	for seen := false; !seen; {
		select {
		case b := <-s.out:
			for _, d := range b.Dirs {
				seen = seen || b.Reason == "polling" && d == "d999"
			}
		case <-deadline:
			t.Fatal("a directory without a watch is not swept")
		}
	}
}
