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

// A seenFile is a file of fold/ whose bytes are known to be a blob.
type seenFile struct {
	Size  int64  `json:"s"`
	Mtime int64  `json:"m"`
	Inode uint64 `json:"i"`
	Blob  string `json:"b"`
	At    int64  `json:"t"` // when it was looked at, ns; as young as Mtime proves nothing
}

// scan returns the paths at which fold/ may differ from the journal: files
// whose stat data is not that of the last scan, and files that are gone. An
// error of the walk ends it: what was not seen is not deleted.
func (s *Store) scan(ctx context.Context) ([]string, error) {
	tree, err := s.tipTree()
	if err != nil {
		return nil, err
	}
	old, err := s.obj.List(tree)
	if err != nil {
		return nil, err
	}
	root, err := s.openFold(false)
	if err != nil {
		if absentFold(err) && s.opt.Tracked {
			return slices.Sorted(maps.Keys(old)), nil
		}
		if _, up := s.guarded(); up || absentFold(err) {
			return nil, nil // record looks at it again
		}
		return nil, err
	}
	defer root.Close()
	s.loadSeen()
	var paths []string
	err = root.Walk(func(path string, info disk.Info) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !allowed(path) {
			return nil
		}
		s.noteThere(path)
		blob, known := old[path]
		delete(old, path)
		if !known || !s.unchanged(path, info, blob) {
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
func (s *Store) unchanged(path string, info disk.Info, blob plumbing.Hash) bool {
	s.mu.Lock()
	f, ok := s.seen[path]
	s.mu.Unlock()
	return ok && info.Mode.IsRegular() && f.Size == info.Size && f.Mtime == info.MtimeNS && f.Inode == info.Inode &&
		f.Mtime < f.At && f.Blob == blob.String()
}

// noteSeen remembers the stat data of a file that the journal now holds.
func (s *Store) noteSeen(c *change) {
	s.loadSeen()
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.disk == nil || c.info.Inode == 0 && c.info.MtimeNS == 0 {
		delete(s.seen, c.path)
		return
	}
	s.seen[c.path] = seenFile{
		Size: c.info.Size, Mtime: c.info.MtimeNS, Inode: c.info.Inode,
		Blob: plumbing.ComputeHash(plumbing.BlobObject, c.disk).String(),
		At:   c.at.UnixNano() - usergit.Racy,
	}
}

// loadSeen reads the stat data of the last run, if it is there and whole, when
// they are first needed: a start must not wait for it.
func (s *Store) loadSeen() { s.seenOnce.Do(s.readSeen) }

func (s *Store) readSeen() {
	b, err := os.ReadFile(filepath.Join(s.l.StateDir(), seenName))
	if err != nil {
		return
	}
	seen := map[string]seenFile{}
	if json.Unmarshal(b, &seen) == nil {
		s.mu.Lock()
		s.seen = seen
		s.mu.Unlock()
	}
}

// saveSeen writes it for the next run. It only saves time, so an error does
// not matter.
func (s *Store) saveSeen() {
	fresh := false
	s.seenOnce.Do(func() { fresh = true })
	if fresh {
		return // never read, so that nothing of it changed
	}
	s.mu.Lock()
	b, err := json.Marshal(s.seen)
	s.mu.Unlock()
	if err == nil {
		_ = disk.WriteFile(filepath.Join(s.l.StateDir(), seenName), b, 0o600)
	}
}
