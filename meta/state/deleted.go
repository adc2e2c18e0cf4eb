package state

import (
	"context"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Gone returns the file memories of a project that were deleted by hand.
func (s *DB) Gone(ctx context.Context, slug string) (map[fold.ID]bool, error) {
	all := make(map[fold.ID]bool)
	err := s.db.Each(ctx, "read gone", func(scan func(...any) error) error {
		var id fold.ID
		err := scan(&id)
		all[id] = true
		return err
	}, `select memory_id from gone where slug = ?`, slug)
	return all, err
}

// SetGone notes that a file memory was deleted by hand, or that it was not: a
// deleted one is not made again.
func (s *DB) SetGone(ctx context.Context, slug string, id fold.ID, gone bool) error {
	query := `insert into gone (slug, memory_id) values (?, ?) on conflict do nothing`
	if !gone {
		query = `delete from gone where slug = ? and memory_id = ?`
	}
	_, err := s.db.Exec(ctx, "set gone "+string(id), query, slug, string(id))
	return err
}

// ClearGone forgets which file memories of the project were deleted by hand, so
// that all are made again.
func (s *DB) ClearGone(ctx context.Context, slug string) error {
	_, err := s.db.Exec(ctx, "clear gone", `delete from gone where slug = ?`, slug)
	return err
}
