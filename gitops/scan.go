package gitops

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// seenName is a file of stat data as of the last scan, as git's index keeps it.
// It may be deleted: the next full scan then reads every file.
const seenName = "seen.json"

// scan returns the paths at which fold/ may differ from the journal: files
// whose stat data is not that of the last scan, and files that are gone. An
// error of the walk ends it: what was not seen is not deleted.
func (rc recorder) scan(ctx context.Context) ([]string, error) {
	tree, err := rc.tipTree()
	if err != nil {
		return nil, err
	}
	old, err := rc.obj.List(tree)
	if err != nil {
		return nil, err
	}
	root, err := rc.openFold(false)
	if err != nil {
		if absentFold(err) && rc.opt.Tracked {
			return slices.Sorted(maps.Keys(old)), nil
		}
		if _, up := rc.guarded(); up || absentFold(err) {
			return nil, nil // record looks at it again
		}
		return nil, err
	}
	defer root.Close()
	rc.loadSeen()
	var paths []string
	err = root.Walk(func(path string, info disk.Info) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !allowed(path) {
			return nil
		}
		vanishGuard(rc).noteThere(path)
		blob, known := old[path]
		delete(old, path)
		if !known || !rc.unchanged(path, info, blob) {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return append(paths, slices.Sorted(maps.Keys(old))...), nil
}

// unchanged reports whether the file is, by its stat data, still the blob.
func (rc recorder) unchanged(path string, info disk.Info, blob plumbing.Hash) bool {
	rc.mu.Lock()
	f, ok := rc.known.seen[path]
	rc.mu.Unlock()
	return ok && info.Mode.IsRegular() && f.Size == info.Size && f.Mtime == info.MtimeNS && f.Inode == info.Inode &&
		f.Mtime < f.At && f.Blob == blob.String()
}

// noteSeen remembers the stat data of a file that the journal now holds.
func (rc recorder) noteSeen(c *change) {
	rc.loadSeen()
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if c.disk == nil || c.info.Inode == 0 && c.info.MtimeNS == 0 {
		delete(rc.known.seen, c.path)
		return
	}
	rc.known.seen[c.path] = seenFile{
		Size: c.info.Size, Mtime: c.info.MtimeNS, Inode: c.info.Inode,
		Blob: plumbing.ComputeHash(plumbing.BlobObject, c.disk).String(),
		At:   c.at.UnixNano() - usergit.Racy,
	}
}

// loadSeen reads the stat data of the last run, if it is there and whole, when
// they are first needed: a start must not wait for it.
func (rc recorder) loadSeen() { rc.seenOnce.Do(rc.readSeen) }

func (rc recorder) readSeen() {
	b, err := os.ReadFile(filepath.Join(rc.l.StateDir(), seenName))
	if err != nil {
		return
	}
	seen := map[string]seenFile{}
	if json.Unmarshal(b, &seen) == nil {
		rc.mu.Lock()
		rc.known.seen = seen
		rc.mu.Unlock()
	}
}

// saveSeen writes it for the next run. It only saves time, so an error does
// not matter.
func (rc recorder) saveSeen() {
	fresh := false
	rc.seenOnce.Do(func() { fresh = true })
	if fresh {
		return // never read, so that nothing of it changed
	}
	rc.mu.Lock()
	b, err := json.Marshal(rc.known.seen)
	rc.mu.Unlock()
	if err == nil {
		_ = disk.WriteFile(filepath.Join(rc.l.StateDir(), seenName), b, 0o600)
	}
}
