//go:build unix

package doctor

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

// TestMendsCannotBeMadeToRunAnything gives names that are commands to files, and runs
// what is then offered.
func TestMendsCannotBeMadeToRunAnything(t *testing.T) {
	dir := t.TempDir()
	name := "Dockerfile;touch pwned;'$(touch pwned)"
	fsys := fstest.MapFS{
		name:                   &fstest.MapFile{Data: []byte("COPY . /app")},
		name + ".dockerignore": &fstest.MapFile{Data: []byte("x")},
	}
	got := shippers(fsys, "a'; touch pwned; '", false)
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", "cd "+terminal.Quote(dir)+" && "+got[0].mend).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v, %s", got[0].mend, err, out)
	}
	if b, err := os.ReadFile(filepath.Join(dir, name+".dockerignore")); err != nil || string(b) != "a'; touch pwned; '\n" {
		t.Errorf("%q, %v", b, err)
	}
	if local.Exists(filepath.Join(dir, "pwned")) {
		t.Errorf("it ran: %s", got[0].mend)
	}
}
