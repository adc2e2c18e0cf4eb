package gitops_test

import (
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestUnsetMergeDriverLeavesNoTrace in any configuration there may have been.
func TestUnsetMergeDriverLeavesNoTrace(t *testing.T) {
	t.Parallel()
	const more = "[core]\n\trepositoryformatversion = 0\n"
	for name, config := range map[string]string{
		"plain":                   more,
		"ends without a line end": "[core]\n\trepositoryformatversion = 0",
		"ends with a comment":     more + "# the end\n",
		"ends with blank lines":   more + "\n\n",
		"another merge driver":    more + "[merge \"union\"]\n\tname = n\n\tdriver = d\n[merge]\n\tconflictStyle = diff3\n",
		"line ends of Windows":    "[core]\r\n\trepositoryformatversion = 0\r\n",
		"the section is there":    more + "[merge \"foldwatch\"]\n\trecursive = text\n[user]\n\tname = A\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := checkout(t)
			l, file := locate(t, dir), filepath.Join(dir, ".git", "config")
			write(t, file, config)
			was := sha256.Sum256([]byte(config))
			if removed, err := l.UnsetMergeDriver(); removed || err != nil {
				t.Errorf("nothing is there: %v, %v", removed, err)
			}
			const command = `'/a b/foldwatch' merge-driver %O %A %B %P`
			for range 2 {
				if err := l.SetMergeDriver(t.Context(), "memories", command); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := l.MergeDriver(t.Context()); got != command || err != nil {
				t.Errorf("MergeDriver = %q, %v", got, err)
			}
			if removed, err := l.UnsetMergeDriver(); !removed || err != nil {
				t.Errorf("UnsetMergeDriver = %v, %v", removed, err)
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if sha256.Sum256(b) != was {
				t.Errorf("the configuration is now %q, was %q", b, config)
			}
			if _, err := os.Stat(file + ".lock"); err == nil {
				t.Error("a lock is left")
			}
			if got, err := l.MergeDriver(t.Context()); got != "" || err != nil {
				t.Errorf("MergeDriver = %q, %v", got, err)
			}
		})
	}
}

// TestUnsetMergeDriverTakesItsLines only, whatever was written behind them.
func TestUnsetMergeDriverTakesItsLines(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	l, file := locate(t, dir), filepath.Join(dir, ".git", "config")
	write(t, file, "[core]\n\trepositoryformatversion = 0")
	if err := l.SetMergeDriver(t.Context(), "memories", "foldwatch merge-driver %O %A %B %P"); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(b)+"# of the next\n[user]\n\tname = A\n")
	write(t, file+".lock", "")
	if _, err := l.UnsetMergeDriver(); !errors.Is(err, fold.ErrConflict) {
		t.Errorf("git holds the file: %v", err)
	}
	if err := os.Remove(file + ".lock"); err != nil {
		t.Fatal(err)
	}
	if removed, err := l.UnsetMergeDriver(); !removed || err != nil {
		t.Errorf("UnsetMergeDriver = %v, %v", removed, err)
	}
	b, err = os.ReadFile(file)
	if want := "[core]\n\trepositoryformatversion = 0\n# of the next\n[user]\n\tname = A\n"; string(b) != want || err != nil {
		t.Errorf("the configuration is %q, %v, want %q", b, err, want)
	}
}
