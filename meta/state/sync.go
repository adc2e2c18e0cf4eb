package meta

import (
	"context"
	"database/sql"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Sync is the user's consent to sync the memories of a repository with a remote,
// and how that stands.
type Sync struct {
	CommonDir string // common git directory: one for all work trees of a repository
	Remote    string // URL without credentials, or absolute path
	OwnBranch bool   // it is the user's own branch that is synced; else the branch foldwatch
	Given     bool   // the user named this address; else it is that of a remote of the repository
	Since     time.Time
	Synced    time.Time // when a round last succeeded; zero if none did
	Behind    time.Time // since when something is unpushed; zero if nothing is
	Stopped   string    // kind of the pause that only the user ends; "" if there is none
	Reason    string    // what happened; "" if nothing did
	Hint      string    // what ends it
}

// Syncs returns what is synced, in the order of the directories.
func (s *State) Syncs(ctx context.Context) ([]Sync, error) {
	var all []Sync
	err := s.db.each(ctx, "list syncs", func(scan func(...any) error) error {
		var y Sync
		var since, synced, behind int64
		err := scan(&y.CommonDir, &y.Remote, &y.OwnBranch, &y.Given, &since, &synced, &behind, &y.Stopped, &y.Reason, &y.Hint)
		y.Since, y.Synced, y.Behind = fromMicros(since), fromMicros(synced), fromMicros(behind)
		all = append(all, y)
		return err
	}, `select common_dir, remote, own_branch, given, since, synced, behind, stopped, reason, hint from syncs order by common_dir`)
	return all, err
}

// PutSync stores a consent and how it stands.
func (s *State) PutSync(ctx context.Context, y Sync) error {
	_, err := s.db.exec(ctx, "put sync of "+y.CommonDir, `insert into syncs
			(common_dir, remote, own_branch, given, since, synced, behind, stopped, reason, hint) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		on conflict (common_dir) do update set remote = excluded.remote, own_branch = excluded.own_branch, given = excluded.given, since = excluded.since,
			synced = excluded.synced, behind = excluded.behind, stopped = excluded.stopped, reason = excluded.reason, hint = excluded.hint`,
		y.CommonDir, y.Remote, bit(y.OwnBranch), bit(y.Given), micros(y.Since), micros(y.Synced), micros(y.Behind), y.Stopped, y.Reason, y.Hint)
	return err
}

// StandSync stores how a sync stands, if it is still on with that remote.
func (s *State) StandSync(ctx context.Context, y Sync) error {
	_, err := s.db.exec(ctx, "note sync of "+y.CommonDir, `update syncs set synced = ?, behind = ?, stopped = ?, reason = ?, hint = ?
		where common_dir = ? and remote = ? and own_branch = ?`, micros(y.Synced), micros(y.Behind), y.Stopped, y.Reason, y.Hint, y.CommonDir, y.Remote, bit(y.OwnBranch))
	return err
}

// DeleteSync withdraws a consent; without one it does nothing.
func (s *State) DeleteSync(ctx context.Context, commonDir string) error {
	_, err := s.db.exec(ctx, "delete sync of "+commonDir, `delete from syncs where common_dir = ?`, commonDir)
	return err
}

// Rename gives what is known of the project was to the project c.Slug, of which
// checkout c is one: counters, settings, and under the names that ids has what was
// noted of memories whose ids changed. Checkouts of the old slug that are not c keep
// it.
func (s *State) Rename(ctx context.Context, was string, c Checkout, ids map[fold.ID]fold.ID) error {
	if err := s.PutCheckout(ctx, c); err != nil {
		return err
	}
	now := s.accessOf(c.Slug)
	now.writing.Lock()
	defer now.writing.Unlock()
	defer now.forget()
	s.setting.Lock()
	defer s.setting.Unlock()
	defer s.settings.Delete(c.Slug)
	return s.db.write(ctx, "rename project "+was, func(tx *sql.Tx) error {
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
