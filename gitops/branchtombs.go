package gitops

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Where a branch of the user holds fold/, a memory that is deleted stays there as
// a tombstone for a while (B8): a replica that never heard of the deletion merges
// with it as with any edit, and git asks our merge driver.

// gravesName is a file of the state folder: which tombstones there are, and since when.
// Without it they stay until they are read again.
const gravesName = "graves.json"

// loadGraves reads what is known of tombstones. The caller holds commit.
func (s *Store) loadGraves() error { return s.graves.load(s.gravesPath()) }

func (s *Store) saveGraves() error { return s.graves.save(s.gravesPath()) }

func (s *Store) gravesPath() string { return filepath.Join(s.l.StateDir(), gravesName) }

// noteGrave keeps whether the file at path is a tombstone. The caller holds
// commit, and calls saveGraves.
func (s *Store) noteGrave(path string, b []byte) {
	since, is := fold.Buried(b)
	was, known := s.graves.of[path]
	switch {
	case is && (!known || !was.Equal(since)):
		s.graves.put(path, since)
	case !is:
		s.graves.drop(path)
	}
}

// bury makes tombstones of what a draft deletes, on disk and in the journal, and
// returns their paths: it has to be drafted once more then. What HEAD has no memory
// for, what git brought back in between, or a note of a person without frontmatter,
// goes without one.
func (s *Store) bury(ctx context.Context, t *branchTarget, d *branchDraft) ([]string, error) {
	if err := s.loadDeletions(); err != nil {
		return nil, err
	}
	now := s.opt.Now()
	var ws []Write
	for _, c := range d.changes {
		if s.deletions.of[c.path].Back {
			continue
		}
		if _, own := fold.OwnPath(c.path); !own || c.b != nil || !c.blob.IsZero() {
			continue
		}
		b, err := t.objects.blob(ctx, c.was)
		if err != nil {
			return nil, err
		}
		if _, gone := fold.Buried(b); gone {
			continue // somebody took the tombstone away
		}
		tomb, err := fold.Bury(s.opt.Slug, c.path, b, now)
		if err != nil || s.gate(c.path, tomb) != nil {
			continue
		}
		ws = append(ws, Write{Path: c.path, New: tomb})
	}
	return s.putGraves(ctx, ws)
}

// exhume removes the tombstones, for good, that are older than age, and returns
// their paths.
func (s *Store) exhume(ctx context.Context, age time.Duration) (done []string, err error) {
	if err := s.loadGraves(); err != nil || len(s.graves.of) == 0 {
		return nil, err
	}
	if _, up := s.guarded(); up {
		return nil, nil
	}
	var ws []Write
	for _, path := range sortedKeys(s.graves.of) {
		if s.opt.Now().Sub(s.graves.of[path]) < age {
			continue
		}
		root, err := s.openFold(false)
		if err != nil {
			return nil, nil //nolint:nilerr // the vanish guard's
		}
		b, err := readFile(root, path)
		_ = root.Close()
		if _, gone := fold.Buried(b); err == nil && gone {
			ws = append(ws, Write{Path: path, Base: b})
			continue
		}
		s.noteGrave(path, nil)
	}
	done, err = s.putGraves(ctx, ws)
	return done, errors.Join(err, s.saveGraves())
}

// putGraves writes tombstones, or takes them away, and records that. Where git may be
// about to bring another version of a file, that file follows; the journal has it all
// the same, and the branch gets it then. It returns the paths of those. The caller
// holds commit.
func (s *Store) putGraves(ctx context.Context, ws []Write) (done []string, err error) {
	ws, done, _, err = s.putOffMany(ctx, ws)
	for part := range slices.Chunk(ws, batchFiles) {
		if err != nil {
			break
		}
		var wrote []string
		wrote, _, err = s.putBatch(part)
		done = append(done, wrote...)
	}
	if err != nil {
		return done, fmt.Errorf("tombstones: %w", err)
	}
	if len(done) > 0 {
		_, err = s.recordAll(ctx, done, "")
	}
	return done, err
}
