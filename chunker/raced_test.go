//go:build race

package chunker_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

const raced = true // what things cost says nothing

// plain is this test binary without the race detector. Where one goroutine parses
// 10,000 files the detector finds nothing, takes twice the time, and maps more
// memory than a worker may have. It shares what is compiled with make build.
var plain struct {
	once sync.Once
	path string
	err  error
}

func buildPlain() {
	dir, err := os.MkdirTemp("", "chunker")
	if err != nil {
		plain.err = err
		return
	}
	plain.path = filepath.Join(dir, "plain.exe")
	out, err := exec.Command("go", "test", "-c", "-race=false", "-mod=readonly", "-trimpath", "-o", plain.path, ".").CombinedOutput()
	if err != nil {
		plain.err = fmt.Errorf("%w: %s", err, out)
	}
}

// removePlain removes what buildPlain has built, if it has.
func removePlain() {
	if plain.path != "" {
		os.RemoveAll(filepath.Dir(plain.path))
	}
}

// plainWorker returns the command of a worker without the race detector. Other
// tests have workers with it.
func plainWorker(t *testing.T) []string {
	t.Helper()
	return []string{plainBinary(t), "chunk-worker"}
}

func plainBinary(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no Go toolchain here to build a worker without the race detector")
	}
	plain.once.Do(buildPlain)
	if plain.err != nil {
		t.Fatalf("build without the race detector: %v", plain.err)
	}
	return plain.path
}

// ranPlain runs t without the race detector, and reports whether it did: for
// tests of one goroutine that compute a lot.
func ranPlain(t *testing.T) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), plainBinary(t), "-test.run=^"+t.Name()+"$", "-test.v").CombinedOutput()
	if err != nil {
		t.Errorf("%v without the race detector:\n%s", err, out)
	}
	return true
}
