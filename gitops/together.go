package gitops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/gitops/wal"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// PutTogether writes files that mean something only together, as one commit of
// its own with the given subject, which [Store.Undo] takes back: all of them, or
// none. Where one is not what its Base says, it returns a *fold.ConflictError and
// the disk is as it was. It returns ErrInvalid for more than fit into one go (2,000
// files, 16 MiB).
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

// putTogether writes files of different paths, sorted; done is all of them or none.
func (s *Store) putTogether(ws []Write) (done, _ []string, err error) {
	for i := 1; i < len(ws); i++ {
		if ws[i].Path == ws[i-1].Path {
			return nil, nil, fmt.Errorf("%s is to be written twice at once: %w", ws[i].Path, fold.ErrInvalid)
		}
	}
	err = s.withPaths(ws, func(root *disk.Root) error {
		entries, failed := s.entriesOf(root, ws)
		for _, path := range slices.Sorted(maps.Keys(failed)) {
			return failed[path]
		}
		slices.SortStableFunc(entries, func(a, b wal.Entry) int { // texts first
			switch {
			case a.New != nil && b.New == nil:
				return -1
			case a.New == nil && b.New != nil:
				return 1
			}
			return strings.Compare(a.Path, b.Path)
		})
		if err := s.wal.Append(entries); err != nil {
			return err
		}
		for i, e := range entries {
			if err := apply(root, e); err != nil {
				return s.takeBack(root, entries, i, err)
			}
		}
		s.wal.Placed(entries...)
		done = pathsOf(ws)
		return nil
	})
	return done, nil, err
}

// takeBack undoes what putTogether did before the entry at, which failed: somebody
// saved its file at that moment, or it cannot be written. What was changed again
// since stays, and so does what the disk does not take back: a text too much, never
// one too few. It returns what the caller is told.
func (s *Store) takeBack(root *disk.Root, entries []wal.Entry, at int, failed error) error {
	for _, e := range slices.Backward(entries[:at]) {
		if err := apply(root, wal.Entry{Path: e.Path, Base: e.New, New: e.Base}); err != nil && !errors.Is(err, fold.ErrConflict) {
			failed = errors.Join(failed, err)
		}
	}
	seqs := make([]uint64, len(entries))
	for i, e := range entries {
		seqs[i] = e.Seq
	}
	if err := s.wal.Cut(seqs); err != nil { // none was acknowledged
		return errors.Join(failed, err)
	}
	if !errors.Is(failed, fold.ErrConflict) {
		return failed
	}
	e := entries[at]
	s.mergeOvertaken(root, e, failed)
	have, err := readFile(root, e.Path)
	if err != nil {
		return err
	}
	return conflict(Write{ID: e.ID, Base: e.Base, New: e.New}, have)
}
