package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/gitops/wal"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Write is one memory file to be created, replaced or deleted.
type Write struct {
	ID   fold.ID
	Path string // below fold/; "" means that of ID
	Base []byte // what the caller saw; nil = the file must not exist
	New  []byte // nil = delete
	// Merge says what to do if the file is not Base: true merges the three,
	// false refuses.
	Merge  bool
	Author string // an agent, named in the commit; "" for the user
	Reason string // subject of the commit if it holds nothing else; may be ""
	// Described is what the source file is described as, apart from what New
	// or a merge makes of it: it is kept until the next one, see
	// [Store.LastDescribed]. Nil leaves what is kept, empty forgets it.
	Described []byte
}

// A Put is what came of a Write.
type Put struct {
	Path   string
	Bytes  []byte // what the file holds now; nil if it is gone
	Merged bool   // others had changed it: Bytes is a merge
}

// check completes w and refuses what may not be written.
func (w *Write) check() error {
	if w.Path == "" {
		if _, err := fold.ParseID(string(w.ID)); err != nil {
			return err
		}
		w.Path = w.ID.Path()
	}
	if err := fold.ValidPath(w.Path); err != nil {
		return err
	}
	if id, own := fold.OwnPath(w.Path); own && w.ID != "" && id != w.ID {
		return fmt.Errorf("memory %s cannot lie at %s: %w", w.ID, w.Path, fold.ErrInvalid)
	}
	if len(w.New) > fold.MaxFile {
		return fmt.Errorf("%s: %d bytes, at most %d: %w", w.Path, len(w.New), fold.MaxFile, fold.ErrInvalid)
	}
	return nil
}

// Put writes one file. When it returns without error the write cannot be lost:
// it is in the wal, and the file is durable (G3, G9). If the file is not w.Base it is
// merged, or refused with a *fold.ConflictError that carries both versions and leaves
// the disk as it was.
func (s *Store) Put(ctx context.Context, w Write) (Put, error) {
	if err := w.check(); err != nil {
		return Put{}, err
	}
	if err := s.writable(); err != nil {
		return Put{}, err
	}
	if err := ctx.Err(); err != nil {
		return Put{}, err
	}
	p, err := s.putOne(w)
	if err != nil {
		return Put{}, err
	}
	s.changed([]string{w.Path})
	return p, nil
}

// withPaths calls fn with fold/ open for writing and the paths of ws locked, which
// are all different.
func (s *Store) withPaths(ws []Write, fn func(root *disk.Root) error) error {
	s.flight.RLock()
	defer s.flight.RUnlock()
	for i := range ws {
		defer s.paths.lock(ws[i].Path)()
	}
	root, err := s.foldForWrite()
	if err != nil {
		return err
	}
	defer root.Close()
	return fn(root)
}

// putOne is Put of a checked write.
func (s *Store) putOne(w Write) (p Put, err error) {
	err = s.withPaths([]Write{w}, func(root *disk.Root) error {
		p, err = s.putAt(root, w)
		return err
	})
	return p, err
}

// putAt is putOne with fold/ open and the path locked.
func (s *Store) putAt(root *disk.Root, w Write) (Put, error) {
	// Each round meets one more change by others; they cannot go on for ever.
	for range 10 {
		have, err := readFile(root, w.Path)
		if err != nil {
			return Put{}, err
		}
		e, merged, err := s.entry(w, have, (tracker{s}).headNow())
		if err != nil {
			return Put{}, err
		}
		one := []wal.Entry{e}
		if err := s.wal.Append(one); err != nil {
			return Put{}, err
		}
		err = apply(root, one[0])
		if err == nil {
			s.wal.Placed(one[0])
			return Put{Path: w.Path, Bytes: e.New, Merged: merged}, nil
		}
		cutErr := s.wal.Cut([]uint64{one[0].Seq}) // it was never acknowledged
		if !errors.Is(err, fold.ErrConflict) || cutErr != nil {
			return Put{}, errors.Join(err, cutErr)
		}
		s.mergeOvertaken(root, e, err)
	}
	return Put{}, fmt.Errorf("%s: changes faster than it can be written: %w", w.Path, fold.ErrUnavailable)
}

// mergeOvertaken merges a save that somebody else wrote over without having seen it,
// since our version stood in its place for a moment: see disk.ChangedError.
func (s *Store) mergeOvertaken(root *disk.Root, e wal.Entry, err error) {
	ce, ok := errors.AsType[*disk.ChangedError](err)
	if !ok || ce.Aside == nil {
		return
	}
	if _, err := s.putAt(root, Write{ID: e.ID, Path: e.Path, Base: e.Base, New: ce.Aside, Merge: true}); err != nil {
		s.log.Warn("A save that was overtaken is not merged", "path", e.Path, "err", err)
	}
}

// mergeLeftover is mergeOvertaken after a crash: ours stands at path, and what somebody
// had saved there a moment before is the temporary file b. It is none if it is what was
// replaced, or a part of what was to be written.
func (s *Store) mergeLeftover(root *disk.Root, path string, b []byte) error {
	have, err := readFile(root, path)
	if err != nil {
		return nil //nolint:nilerr // no file any more that ours could stand in
	}
	var placed *wal.Entry
	for _, e := range s.wal.Entries() {
		if e.Path != path {
			continue
		}
		if bytes.HasPrefix(e.New, b) || wal.Same(e.Base, b) {
			return nil
		}
		if have != nil && wal.Same(e.New, have) {
			placed = &e
		}
	}
	if placed == nil {
		return nil
	}
	_, err = s.putAt(root, Write{ID: placed.ID, Path: path, Base: placed.Base, New: b, Merge: true})
	return err
}

// entry decides what to write over have.
func (s *Store) entry(w Write, have []byte, head string) (e wal.Entry, merged bool, err error) {
	e = wal.Entry{ID: w.ID, Path: w.Path, Base: have, New: w.New, Author: w.Author, Reason: w.Reason, Described: w.Described, Head: head}
	if wal.Same(have, w.Base) || wal.Same(have, w.New) {
		return e, false, nil
	}
	if gone := fold.MarkedDeleted(have); gone && w.Base == nil {
		return e, false, nil // a file marked as deleted is no memory
	}
	if !w.Merge {
		return e, false, conflict(w, have)
	}
	e.New, err = s.merge(w.Path, w.Base, have, w.New)
	return e, true, err
}

func conflict(w Write, have []byte) error {
	return &fold.ConflictError{
		ID: w.ID, Want: hashOrNone(w.Base), Have: hashOrNone(have),
		Current: have, Yours: w.New,
	}
}

func hashOrNone(b []byte) string {
	if b == nil {
		return ""
	}
	return fold.ContentHash(b)
}

// apply brings the disk from e.Base to e.New. It returns an error that is
// ErrConflict, and leaves the disk alone, if it is at neither.
func apply(root *disk.Root, e wal.Entry) (err error) {
	switch {
	case wal.Same(e.Base, e.New):
		return nil
	case e.Base == nil:
		err = root.Create(e.Path, e.New)
	case e.New == nil:
		err = root.Remove(e.Path, e.Base)
	default:
		err = root.Replace(e.Path, e.Base, e.New)
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", fold.ErrConflict, err)
	}
	return err
}

// foldForWrite opens fold/ and makes it if it is missing. That it was missing
// is noted first, so that the memories that went with it are not taken for
// deleted once the folder is there again.
func (s *Store) foldForWrite() (*disk.Root, error) {
	root, err := s.openFold(false)
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, fold.ErrUnavailable) {
		return root, err
	}
	if s.opt.Tracked {
		if err := (tracker{s}).foldMissing(context.Background()); err != nil {
			return nil, err
		}
	} else if s.hasJournal() {
		(vanishGuard{s}).raiseGuard(reasonFoldMissing)
	}
	if root, err = s.openFold(true); err != nil {
		return nil, err
	}
	if err := s.hideFold(root); err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// checked returns a copy of ws, checked, and sorted so that any two callers take the
// locks of paths in one order.
func checked(ws []Write) ([]Write, error) {
	ws = slices.Clone(ws)
	for i := range ws {
		if err := ws[i].check(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(ws, func(a, b Write) int { return strings.Compare(a.Path, b.Path) })
	return ws, nil
}

func pathsOf(ws []Write) []string {
	paths := make([]string, len(ws))
	for i := range ws {
		paths[i] = ws[i].Path
	}
	return paths
}

// entriesOf reads the files at the paths of ws and decides what to write over them.
// What cannot be read or written is in failed.
func (s *Store) entriesOf(root *disk.Root, ws []Write) (entries []wal.Entry, failed map[string]error) {
	failed = map[string]error{}
	head := (tracker{s}).headNow()
	for _, w := range ws {
		have, err := readFile(root, w.Path)
		if err != nil {
			failed[w.Path] = err // a link or the like
			continue
		}
		e, _, err := s.entry(w, have, head)
		if err != nil {
			failed[w.Path] = err
			continue
		}
		entries = append(entries, e)
	}
	return entries, failed
}

// putBatch writes files of different paths, sorted. Those that cannot be written, or
// were changed by others, are skipped.
func (s *Store) putBatch(ws []Write) (done, skipped []string, err error) {
	err = s.withPaths(ws, func(root *disk.Root) error {
		entries, unwritable := s.entriesOf(root, ws)
		skipped = slices.Sorted(maps.Keys(unwritable))
		if err := s.wal.Append(entries); err != nil {
			return err
		}
		var withdrawn []uint64
		failed := map[string]bool{}
		err := s.applyMany(root, entries, failed)
		var placed []wal.Entry
		for _, e := range entries {
			switch {
			case failed[e.Path] && err == nil:
				skipped, withdrawn = append(skipped, e.Path), append(withdrawn, e.Seq)
			case failed[e.Path]:
				withdrawn = append(withdrawn, e.Seq)
			default:
				done, placed = append(done, e.Path), append(placed, e)
			}
		}
		s.wal.Placed(placed...)
		return errors.Join(err, s.wal.Cut(withdrawn))
	})
	return done, skipped, err
}

// applyMany brings the disk to the entries and marks those it did not. On
// error all that were still to do are marked.
func (s *Store) applyMany(root *disk.Root, entries []wal.Entry, failed map[string]bool) error {
	var files []disk.File
	for _, e := range entries {
		if e.Base == nil && e.New != nil {
			files = append(files, disk.File{Path: e.Path, Data: e.New})
		}
	}
	err := root.CreateMany(files)
	if exist, ok := errors.AsType[*disk.ExistError](err); ok {
		for _, p := range exist.Paths {
			failed[p] = true
		}
		err = nil
	}
	if err != nil {
		for _, e := range entries {
			failed[e.Path] = true
		}
		return err
	}
	for i, e := range entries {
		if e.Base == nil {
			continue
		}
		err := apply(root, e)
		if errors.Is(err, fold.ErrConflict) {
			failed[e.Path] = true
		} else if err != nil {
			for _, rest := range entries[i:] {
				if rest.Base != nil {
					failed[rest.Path] = true
				}
			}
			return err
		}
	}
	return nil
}
