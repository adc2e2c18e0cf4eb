//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"golang.org/x/sys/unix"
)

// TestDoctorReadsOnlyPlainFiles has what doctor reads of a checkout be FIFOs and links
// to what never ends: it neither waits nor reads them, and looks at the rest.
func TestDoctorReadsOnlyPlainFiles(t *testing.T) {
	w := newWard(t)
	vault := filepath.Join(w.co, ".obsidian")
	w.must(os.MkdirAll(filepath.Join(vault, "plugins", "obsidian-linter"), 0o700))
	w.write(filepath.Join(vault, "community-plugins.json"), `["obsidian-linter"]`)
	w.must(os.Remove(filepath.Join(w.co, "fold", ".gitignore")))
	for _, path := range []string{"Dockerfile", "package.json", "fold/.gitignore"} {
		w.must(unix.Mkfifo(filepath.Join(w.co, path), 0o600))
	}
	for _, path := range []string{"pyproject.toml", "MANIFEST.in", ".obsidian/app.json", ".obsidian/plugins/obsidian-linter/data.json"} {
		w.must(os.Symlink("/dev/zero", filepath.Join(w.co, path)))
	}
	done := make(chan []finding, 1)
	go func() { done <- append(w.look("packers", true), w.look("obsidian", true)...) }()
	select {
	case found := <-done:
		if !has(found, isFail, "does not hide memories") || !has(found, isSkipped, "app.json is no plain file") || !has(found, isWarn, "obsidian-linter rewrites") {
			t.Errorf("%+v", found)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("doctor waits for a file of the checkout")
	}
}

// TestFixStaysInTheCheckout: a linked folder of memories, or a linked .gitignore in it,
// leads to no other folder.
func TestFixStaysInTheCheckout(t *testing.T) {
	w := newWard(t)
	other := t.TempDir()
	ignore := filepath.Join(w.co, "fold", ".gitignore")
	w.must(os.Remove(ignore))
	w.must(os.Symlink(filepath.Join(other, "x"), ignore))
	if found := w.look("packers", true); !has(found, isFail, "does not hide memories") {
		t.Errorf("with a linked .gitignore: %+v", found)
	}
	w.must(os.RemoveAll(filepath.Join(w.co, "fold")))
	w.must(os.Symlink(other, filepath.Join(w.co, "fold")))
	if found := w.look("packers", true); !has(found, isWarn, "is no folder") {
		t.Errorf("with a linked folder: %+v", found)
	}
	if got, err := os.ReadDir(other); err != nil || len(got) > 0 {
		t.Errorf("the other folder has %v, %v", got, err)
	}
}

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
	if exists(filepath.Join(dir, "pwned")) {
		t.Errorf("it ran: %s", got[0].mend)
	}
}

// TestHidesAll: what leaves out all of a folder, and what a part of it.
func TestHidesAll(t *testing.T) {
	for text, want := range map[string]bool{
		"*\n": true, "# x\n/*": true, "**\r\n": true, "*\n!project.toml\n": true,
		"": false, "*.log\n": false, "# *\n": false, "*\n!*\n": false, "a*\n": false,
	} {
		if got := hidesAll([]byte(text)); got != want {
			t.Errorf("hidesAll(%q) = %v", strings.TrimSpace(text), got)
		}
	}
}
