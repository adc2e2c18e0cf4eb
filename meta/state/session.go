package state

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// A Session is what is kept of a login: the hash of its cookie, and never the
// cookie.
type Session struct {
	Hash    string // SHA-256, 64 hex digits
	UserID  string
	Created time.Time
	Seen    time.Time
	Expires time.Time
}

// Sessions returns every session, oldest first.
func (s *DB) Sessions(ctx context.Context) ([]Session, error) {
	var all []Session
	err := s.db.Each(ctx, "list sessions", func(scan func(...any) error) error {
		var x Session
		var created, seen, expires int64
		err := scan(&x.Hash, &x.UserID, &created, &seen, &expires)
		x.Created, x.Seen, x.Expires = sqlite.Time(created), sqlite.Time(seen), sqlite.Time(expires)
		all = append(all, x)
		return err
	}, `select hash, user_id, created_at, seen_at, expires_at from sessions order by created_at, hash`)
	return all, err
}

// PutSession stores a new session and ends those whose hashes gone has.
func (s *DB) PutSession(ctx context.Context, x Session, gone ...string) error {
	return s.db.Write(ctx, "put session", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `delete from sessions where hash in (select value from json_each(?))`, sqlite.List(gone)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `insert into sessions (hash, user_id, created_at, seen_at, expires_at) values (?, ?, ?, ?, ?)`,
			x.Hash, x.UserID, sqlite.Micros(x.Created), sqlite.Micros(x.Seen), sqlite.Micros(x.Expires))
		return err
	})
}

// DeleteSessions ends sessions, by their hashes. It is durable when it returns.
func (s *DB) DeleteSessions(ctx context.Context, hashes []string) error {
	_, err := s.db.Exec(ctx, "end sessions", `delete from sessions where hash in (select value from json_each(?))`, sqlite.List(hashes))
	return s.durable(ctx, err)
}

// SetSessionsSeen notes when sessions were last used, by their hashes.
func (s *DB) SetSessionsSeen(ctx context.Context, seen map[string]time.Time) error {
	return s.db.Write(ctx, "note use of sessions", func(tx *sql.Tx) error {
		for hash, at := range seen {
			if _, err := tx.ExecContext(ctx, `update sessions set seen_at = max(seen_at, ?) where hash = ?`, sqlite.Micros(at), hash); err != nil {
				return err
			}
		}
		return nil
	})
}

// UseOAuthState notes that the answer to a login has come. State is the hash of
// the login's state parameter, 64 hex digits. Logins that have expired are
// forgotten, and the oldest of more than most. It returns fold.ErrConflict for an
// answer that came before.
func (s *DB) UseOAuthState(ctx context.Context, state, provider string, expires, now time.Time, most int) error {
	return s.db.Write(ctx, "go on with a login", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `delete from oauth_states where expires_at <= ?`, sqlite.Micros(now)); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `insert into oauth_states (state, provider, nonce, verifier, binding, return_to, expires_at)
			values (?, ?, '', '', '', '', ?) on conflict do nothing`, state, provider, sqlite.Micros(expires))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return cmp.Or(err, fold.ErrConflict)
		}
		_, err = tx.ExecContext(ctx, `delete from oauth_states where state <> ? and state in
			(select state from oauth_states order by expires_at desc limit -1 offset ?)`, state, most)
		return err
	})
}
