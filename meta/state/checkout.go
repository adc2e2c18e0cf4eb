package state

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// A Checkout is a registered work tree.
type Checkout struct {
	Key          string // 16 hex digits
	Path         string
	CommonDir    string // common git directory
	MainTree     string
	FoldDir      string // absolute
	Slug         string
	Name         string
	ProjectID    string
	CommitTo     string // sidecar or tracked; earlier versions also wrote branch and auto
	FileMemories string // auto, fold or local
	RemoteURL    string // without credentials
	Linked       bool   // shares the fold/ of the main work tree
	AddedAt      time.Time
	PausedUntil  time.Time // zero: until resumed
	Paused       bool
}

// PutCheckout registers c, or changes what is registered under its key. Cursor,
// notes and counters stay.
func (s *DB) PutCheckout(ctx context.Context, c Checkout) error {
	return s.PutCheckouts(ctx, []Checkout{c})
}

// PutCheckouts is PutCheckout of all of them, or of none.
func (s *DB) PutCheckouts(ctx context.Context, all []Checkout) error {
	return s.db.Write(ctx, "put checkouts", func(tx *sql.Tx) error {
		for _, c := range all {
			if err := putCheckout(ctx, tx, c); err != nil {
				return fmt.Errorf("checkout %s: %w", c.Key, err)
			}
		}
		return nil
	})
}

func putCheckout(ctx context.Context, tx *sql.Tx, c Checkout) error {
	_, err := tx.ExecContext(ctx, `insert into projects (slug, id, name, settings, created_at) values (?, ?, ?, '{}', ?)
			on conflict (slug) do update set id = excluded.id, name = excluded.name`,
		c.Slug, c.ProjectID, c.Name, sqlite.Micros(c.AddedAt))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `insert into repositories (key, path, common_dir, main_tree, fold_dir, slug, commit_to,
				file_memories, remote_url, linked, paused, paused_until, cursor, last_seen, added_at)
			values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', 0, ?)
			on conflict (key) do update set path = excluded.path, common_dir = excluded.common_dir,
				main_tree = excluded.main_tree, fold_dir = excluded.fold_dir, slug = excluded.slug,
				commit_to = excluded.commit_to, file_memories = excluded.file_memories, remote_url = excluded.remote_url,
				linked = excluded.linked, paused = excluded.paused, paused_until = excluded.paused_until,
				added_at = excluded.added_at`,
		c.Key, c.Path, c.CommonDir, c.MainTree, c.FoldDir, c.Slug, c.CommitTo,
		c.FileMemories, c.RemoteURL, c.Linked, c.Paused, sqlite.Micros(c.PausedUntil), sqlite.Micros(c.AddedAt))
	return err
}

// Checkouts returns every registered checkout in the order they were added.
func (s *DB) Checkouts(ctx context.Context) ([]Checkout, error) {
	var all []Checkout
	err := s.db.Each(ctx, "list checkouts", func(scan func(...any) error) error {
		var c Checkout
		var until, added int64
		err := scan(&c.Key, &c.Path, &c.CommonDir, &c.MainTree, &c.FoldDir, &c.Slug, &c.Name, &c.ProjectID, &c.CommitTo,
			&c.FileMemories, &c.RemoteURL, &c.Linked, &c.Paused, &until, &added)
		c.PausedUntil, c.AddedAt = sqlite.Time(until), sqlite.Time(added)
		all = append(all, c)
		return err
	}, `select r.key, r.path, r.common_dir, r.main_tree, r.fold_dir, r.slug, p.name, p.id, r.commit_to,
			r.file_memories, r.remote_url, r.linked, r.paused, r.paused_until, r.added_at
		from repositories r join projects p on p.slug = r.slug order by r.added_at, r.key`)
	return all, err
}

// DeleteCheckout forgets a registration, its cursor and notes, and with the last
// work tree of a repository its sync. Access counters and settings of the project
// stay. It returns fold.ErrNotFound if key is not registered.
func (s *DB) DeleteCheckout(ctx context.Context, key string) error {
	if err := s.updateOne(ctx, "delete checkout "+key, `delete from repositories where key = ?`, key); err != nil {
		return err
	}
	_, err := s.db.Exec(ctx, "delete sync of checkout "+key,
		`delete from syncs where common_dir not in (select common_dir from repositories)`)
	return err
}

// SetPaused pauses or resumes a checkout; a zero until means until resumed. It
// returns fold.ErrNotFound if key is not registered.
func (s *DB) SetPaused(ctx context.Context, key string, paused bool, until time.Time) error {
	return s.updateOne(ctx, "pause checkout "+key, `update repositories set paused = ?, paused_until = ? where key = ?`,
		paused, sqlite.Micros(until), key)
}

// Cursor returns the commit that was described last, "" if none was.
func (s *DB) Cursor(ctx context.Context, key string) (string, error) {
	return s.text(ctx, "read cursor of "+key, `select cursor from repositories where key = ?`, key)
}

// SetCursor stores the commit that was described last. It returns
// fold.ErrNotFound if key is not registered.
func (s *DB) SetCursor(ctx context.Context, key, oid string) error {
	return s.updateOne(ctx, "set cursor of "+key, `update repositories set cursor = ? where key = ?`, oid, key)
}
