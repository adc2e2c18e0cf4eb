package daemon_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestMemoryFilesAreNeverRewritten looks at the inode and time of each memory
// file: what did not change is not written, whatever is asked for.
func TestMemoryFilesAreNeverRewritten(t *testing.T) {
	t.Parallel()
	p := newProject(t, sampleTree())
	p.settle()
	look := func() map[string]os.FileInfo {
		out := map[string]os.FileInfo{}
		err := filepath.WalkDir(p.file("fold"), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") {
				return err
			}
			out[path], err = d.Info()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := look()
	if len(before) < len(sampleTree())-2 {
		t.Fatalf("%d memory files", len(before))
	}
	for what, do := range map[string]func(){
		"index --full": func() { p.sweep(wire.Reindex{Full: true}) },
		"a rebuild":    func() { p.sweep(wire.Reindex{Rebuild: true}) },
		"a start":      func() { p.restart() },
		"a start without index": func() {
			dir := p.d.IndexDir(p.dir)
			p.stop()
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			p.start()
		},
	} {
		do()
		p.settle()
		now := look()
		if len(now) != len(before) {
			t.Errorf("%s: %d memory files, were %d", what, len(now), len(before))
		}
		for path, was := range before {
			if fi := now[path]; fi == nil || !os.SameFile(was, fi) || !was.ModTime().Equal(fi.ModTime()) {
				t.Errorf("%s rewrote %s", what, filepath.Base(path))
			}
		}
	}
}
