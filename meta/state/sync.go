package state

import (
	"context"
	"time"

	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// A Sync is the user's consent to sync the memories of a repository with a remote,
// and the status of that.
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
func (s *DB) Syncs(ctx context.Context) ([]Sync, error) {
	var all []Sync
	err := s.db.Each(ctx, "list syncs", func(scan func(...any) error) error {
		var y Sync
		var since, synced, behind int64
		err := scan(&y.CommonDir, &y.Remote, &y.OwnBranch, &y.Given, &since, &synced, &behind, &y.Stopped, &y.Reason, &y.Hint)
		y.Since, y.Synced, y.Behind = sqlite.Time(since), sqlite.Time(synced), sqlite.Time(behind)
		all = append(all, y)
		return err
	}, `select common_dir, remote, own_branch, given, since, synced, behind, stopped, reason, hint from syncs order by common_dir`)
	return all, err
}

// PutSync stores a consent and its status.
func (s *DB) PutSync(ctx context.Context, y Sync) error {
	_, err := s.db.Exec(ctx, "put sync of "+y.CommonDir, `insert into syncs
			(common_dir, remote, own_branch, given, since, synced, behind, stopped, reason, hint) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		on conflict (common_dir) do update set remote = excluded.remote, own_branch = excluded.own_branch, given = excluded.given, since = excluded.since,
			synced = excluded.synced, behind = excluded.behind, stopped = excluded.stopped, reason = excluded.reason, hint = excluded.hint`,
		y.CommonDir, y.Remote, y.OwnBranch, y.Given, sqlite.Micros(y.Since), sqlite.Micros(y.Synced), sqlite.Micros(y.Behind), y.Stopped, y.Reason, y.Hint)
	return err
}

// SetSyncStatus stores the status of a sync, if it is still on with that remote.
func (s *DB) SetSyncStatus(ctx context.Context, y Sync) error {
	_, err := s.db.Exec(ctx, "note sync of "+y.CommonDir, `update syncs set synced = ?, behind = ?, stopped = ?, reason = ?, hint = ?
		where common_dir = ? and remote = ? and own_branch = ?`, sqlite.Micros(y.Synced), sqlite.Micros(y.Behind), y.Stopped, y.Reason, y.Hint, y.CommonDir, y.Remote, y.OwnBranch)
	return err
}

// DeleteSync withdraws a consent; without one it does nothing.
func (s *DB) DeleteSync(ctx context.Context, commonDir string) error {
	_, err := s.db.Exec(ctx, "delete sync of "+commonDir, `delete from syncs where common_dir = ?`, commonDir)
	return err
}
