package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// PutTogether writes files that mean something only together, as one commit of
// its own with the given subject, which [Store.Undo] takes back: all of them, or
// none. Where one is not what its Base says, it returns a *fold.ConflictError and
// the disk is as it was. It returns ErrUnavailable if git may be about to bring
// another version of one of them, and ErrInvalid for more than fit into one go
// (2,000 files, 16 MiB).
//
// A crash leaves nothing of it, or the whole: before a file is touched, all of it
// is in the write-ahead log by one write and one sync, what is deleted behind what
// takes its place.
func (s *Store) PutTogether(ctx context.Context, ws []Write, subject string) (rev string, err error) {
	size := 0
	for _, w := range ws {
		size += len(w.Base) + len(w.New)
	}
	if len(ws) > batchFiles || size > batchBytes {
		return "", fmt.Errorf("%d files of %d bytes are more than can be written in one go: %w", len(ws), size, fold.ErrInvalid)
	}
	rev, _, _, err = s.asOne(ctx, ws, subject, func(ctx context.Context, ws []Write) (done, skipped []string, err error) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		return s.putTogether(ws)
	})
	return rev, err
}

// putTogether writes files of different paths; done is all of them or none.
func (s *Store) putTogether(ws []Write) (done, _ []string, err error) {
	slices.SortFunc(ws, func(a, b Write) int { return compareStrings(a.Path, b.Path) })
	s.flight.RLock()
	defer s.flight.RUnlock()
	for i := range ws {
		if i > 0 && ws[i].Path == ws[i-1].Path {
			return nil, nil, fmt.Errorf("%s is to be written twice at once: %w", ws[i].Path, fold.ErrInvalid)
		}
		defer s.paths.lock(ws[i].Path)()
	}
	root, err := s.foldForWrite()
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	held, err := s.placeOff(root, pathsOf(ws)...)
	if err != nil {
		return nil, nil, err
	}
	var entries []walEntry
	for _, w := range ws {
		if err := held[w.Path]; err != nil {
			return nil, nil, err
		}
		have, err := readFile(root, w.Path)
		if err != nil {
			return nil, nil, err
		}
		e, _, err := s.entry(w, have)
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, e)
	}
	slices.SortStableFunc(entries, func(a, b walEntry) int { // texts first
		switch {
		case a.New != nil && b.New == nil:
			return -1
		case a.New == nil && b.New != nil:
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	if err := s.wal.append(entries); err != nil {
		return nil, nil, err
	}
	for i, e := range entries {
		if err := s.applyKeep(root, e); err != nil {
			return nil, nil, s.takeBack(root, entries, i, err)
		}
	}
	s.wal.placed(entries...)
	return pathsOf(ws), nil, nil
}

// takeBack undoes what putTogether did before the entry at, which failed: somebody
// saved its file at that moment, or it cannot be written. What was changed again
// since stays, and so does what the disk does not take back: a text too much, never
// one too few. It returns what the caller is told.
func (s *Store) takeBack(root *disk.Root, entries []walEntry, at int, failed error) error {
	for _, e := range slices.Backward(entries[:at]) {
		if err := apply(root, walEntry{Path: e.Path, Base: e.New, New: e.Base}); err != nil && !errors.Is(err, fold.ErrConflict) {
			failed = errors.Join(failed, err)
		}
	}
	seqs := make([]uint64, len(entries))
	for i, e := range entries {
		seqs[i] = e.Seq
	}
	if err := s.wal.cut(seqs); err != nil { // none was acknowledged
		return errors.Join(failed, err)
	}
	if !errors.Is(failed, fold.ErrConflict) {
		return failed
	}
	e := entries[at]
	if ce, ok := errors.AsType[*disk.ChangedError](failed); ok {
		s.noteDisplaced(e.Path, ce.Found)
		if ce.Aside != nil {
			if _, err := s.putAt(root, Write{ID: e.ID, Path: e.Path, Base: e.Base, New: ce.Aside, Merge: true}); err != nil {
				s.log.Warn("A save that was overtaken is not merged", "path", e.Path, "err", err)
			}
		}
	}
	have, err := readFile(root, e.Path)
	if err != nil {
		return err
	}
	return conflict(Write{ID: e.ID, Base: e.Base, New: e.New}, have)
}
