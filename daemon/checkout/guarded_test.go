package checkout

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

func TestStoreThatEndsTheDaemonTwiceIsDropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mark := filepath.Join(dir, "opening-words")
	drops := 0
	start := func(killed bool, result error) error {
		return guarded(dir, "words", slog.New(slog.DiscardHandler),
			func() error { drops++; return nil },
			func() error {
				if killed { // the mark of a process that ends here stays
					b, err := os.ReadFile(mark)
					if err != nil {
						return err
					}
					t.Cleanup(func() { _ = os.Remove(mark) })
					defer func() { _ = os.WriteFile(mark+".left", b, 0o600) }()
				}
				return result
			})
	}
	left := func() {
		t.Helper()
		if err := os.Rename(mark+".left", mark); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := start(true, nil); err != nil || drops != 0 {
			t.Fatalf("start: %v, %d drops; one end is no reason", err, drops)
		}
		left()
	}
	failed := errors.New("busy")
	if err := start(false, failed); !errors.Is(err, failed) || drops != 1 {
		t.Errorf("third start: %v, %d drops, want 1", err, drops)
	}
	if err := start(false, nil); err != nil || drops != 1 {
		t.Errorf("an error counted as an end: %v, %d drops", err, drops)
	}
	if _, err := os.Stat(mark); !os.IsNotExist(err) {
		t.Errorf("the mark stays: %v", err)
	}
}
