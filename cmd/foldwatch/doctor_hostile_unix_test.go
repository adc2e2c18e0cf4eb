//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/doctor"
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
	done := make(chan []doctor.Result, 1)
	go func() { done <- append(w.look("packers", true), w.look("obsidian", true)...) }()
	select {
	case found := <-done:
		if !has(found, doctor.Fail, "does not hide memories") || !has(found, doctor.Skipped, "app.json is no plain file") || !has(found, doctor.Warn, "obsidian-linter rewrites") {
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
	if found := w.look("packers", true); !has(found, doctor.Fail, "does not hide memories") {
		t.Errorf("with a linked .gitignore: %+v", found)
	}
	w.must(os.RemoveAll(filepath.Join(w.co, "fold")))
	w.must(os.Symlink(other, filepath.Join(w.co, "fold")))
	if found := w.look("packers", true); !has(found, doctor.Warn, "is no folder") {
		t.Errorf("with a linked folder: %+v", found)
	}
	if got, err := os.ReadDir(other); err != nil || len(got) > 0 {
		t.Errorf("the other folder has %v, %v", got, err)
	}
}
