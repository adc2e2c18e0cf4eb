package state

import (
	"context"
	"database/sql"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Rename moves checkout c from the project with the slug was to the one with the
// slug c.Slug, and copies what is known of the old project: counters, settings,
// proposals, and which memories were deleted by hand. Ids has the new ids of
// memories whose ids changed. Other checkouts of the old slug keep it.
func (s *DB) Rename(ctx context.Context, was string, c Checkout, ids map[fold.ID]fold.ID) error {
	if err := s.PutCheckout(ctx, c); err != nil {
		return err
	}
	counters := s.accessOf(c.Slug)
	counters.writing.Lock()
	defer counters.writing.Unlock()
	defer counters.forget()
	s.settingsMu.Lock()
	defer s.settingsMu.Unlock()
	defer s.settings.Delete(c.Slug)
	return s.db.Write(ctx, "rename project "+was, func(tx *sql.Tx) error {
		for from, to := range ids {
			if _, err := tx.ExecContext(ctx, `insert into access (slug, memory_id, count, last)
					select ?, ?, count, last from access where slug = ? and memory_id = ?
				on conflict do update set count = max(count, excluded.count), last = max(last, excluded.last)`,
				c.Slug, string(to), was, string(from)); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `insert into gone (slug, memory_id)
					select ?, ? from gone where slug = ? and memory_id = ? on conflict do nothing`,
				c.Slug, string(to), was, string(from)); err != nil {
				return err
			}
		}
		for _, query := range []string{
			`insert into access (slug, memory_id, count, last) select ?, memory_id, count, last from access where slug = ?
				on conflict do nothing`,
			// They are about memories that keep their ids.
			`insert into proposals (slug, ` + proposalColumns + `) select ?, ` + proposalColumns + ` from proposals where slug = ?
				on conflict do nothing`,
			`update projects set settings = (select p.settings from projects p where p.slug = ?2) where slug = ?1 and settings = '{}'
				and exists (select 1 from projects p where p.slug = ?2)`,
		} {
			if _, err := tx.ExecContext(ctx, query, c.Slug, was); err != nil {
				return err
			}
		}
		return nil
	})
}
