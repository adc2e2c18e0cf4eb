package meta

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A User is somebody whom a provider of logins knows. Issuer and Subject
// together tell users apart.
type User struct {
	ID        string
	Issuer    string
	Subject   string
	Email     string
	Name      string
	Provider  string   // by which the last login came
	Role      string   // admin, member or viewer, as claims said at the last login; "" is none
	Said      Said     // what Role came from
	Assigned  string   // role that an administrator gave; "" is none
	Projects  []string // slugs of Assigned; none is all
	Created   time.Time
	LastLogin time.Time
}

// A Said is what a provider said of a user at the last login, as far as it decides
// what the user may, and the projects that it was for; none is all.
type Said struct {
	Known    bool     `json:"known,omitempty"` // false where the last login was before this was kept
	Claim    string   `json:"claim,omitempty"`
	Values   []string `json:"values,omitempty"`
	Projects []string `json:"projects,omitempty"`
}

// A Session is what is kept of a login: the hash of its cookie, and never the
// cookie.
type Session struct {
	Hash    string // SHA-256, 64 hex digits
	UserID  string
	Created time.Time
	Seen    time.Time
	Expires time.Time
}

// An AuthProvider is a provider of logins that an administrator added.
type AuthProvider struct {
	ID        string
	Name      string
	Issuer    string
	ClientID  string
	SecretRef string // where the secret is, never the secret
	Settings  json.RawMessage
	Enabled   bool
	Created   time.Time
}

// Users returns every user, the one who came first leading.
func (s *State) Users(ctx context.Context) ([]User, error) {
	var all []User
	err := s.db.each(ctx, "list users", func(scan func(...any) error) error {
		var u User
		var projects, said string
		var created, login int64
		if err := scan(&u.ID, &u.Issuer, &u.Subject, &u.Email, &u.Name, &u.Provider, &u.Role, &said, &u.Assigned, &projects, &created, &login); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(said), &u.Said); err != nil {
			return fmt.Errorf("role of user %s: %w", u.ID, err)
		}
		if err := json.Unmarshal([]byte(projects), &u.Projects); err != nil {
			return fmt.Errorf("projects of user %s: %w", u.ID, err)
		}
		u.Created, u.LastLogin = fromMicros(created), fromMicros(login)
		all = append(all, u)
		return nil
	}, `select id, issuer, subject, email, name, provider, role, said, assigned, projects, created_at, last_login
		from users order by created_at, id`)
	return all, err
}

// PutUser stores a user, new or changed. Those of gone make room. It is durable
// when it returns: a power cut must not give a role back.
func (s *State) PutUser(ctx context.Context, u User, gone ...string) error {
	said, err := json.Marshal(u.Said)
	if err != nil {
		return err
	}
	err = s.db.write(ctx, "put user "+u.ID, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `delete from users where id in (select value from json_each(?))`, list(gone)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `insert into users
				(id, issuer, subject, email, name, provider, role, said, assigned, projects, created_at, last_login) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			on conflict (id) do update set email = excluded.email, name = excluded.name, provider = excluded.provider, role = excluded.role, said = excluded.said,
				assigned = excluded.assigned, projects = excluded.projects, last_login = excluded.last_login`,
			u.ID, u.Issuer, u.Subject, u.Email, u.Name, u.Provider, u.Role, string(said), u.Assigned, list(u.Projects), micros(u.Created), micros(u.LastLogin))
		return err
	})
	return s.synced(ctx, err)
}

// DeleteUser forgets a user and ends the sessions. It is durable when it
// returns, and returns fold.ErrNotFound if there is none.
func (s *State) DeleteUser(ctx context.Context, id string) error {
	err := s.one(ctx, "delete user "+id, `delete from users where id = ?`, id)
	return s.synced(ctx, err)
}

// synced writes the log of the database into the file, which syncs it, after a
// change that returned err.
func (s *State) synced(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	_, err = s.db.exec(ctx, "sync rights", "pragma wal_checkpoint(passive)")
	return err
}

// Sessions returns every session, oldest first.
func (s *State) Sessions(ctx context.Context) ([]Session, error) {
	var all []Session
	err := s.db.each(ctx, "list sessions", func(scan func(...any) error) error {
		var x Session
		var created, seen, expires int64
		err := scan(&x.Hash, &x.UserID, &created, &seen, &expires)
		x.Created, x.Seen, x.Expires = fromMicros(created), fromMicros(seen), fromMicros(expires)
		all = append(all, x)
		return err
	}, `select hash, user_id, created_at, seen_at, expires_at from sessions order by created_at, hash`)
	return all, err
}

// PutSession stores a new session. Those of gone, by their hashes, end.
func (s *State) PutSession(ctx context.Context, x Session, gone ...string) error {
	return s.db.write(ctx, "put session", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `delete from sessions where hash in (select value from json_each(?))`, list(gone)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `insert into sessions (hash, user_id, created_at, seen_at, expires_at) values (?, ?, ?, ?, ?)`,
			x.Hash, x.UserID, micros(x.Created), micros(x.Seen), micros(x.Expires))
		return err
	})
}

// DeleteSessions ends sessions, by their hashes. It is durable when it returns.
func (s *State) DeleteSessions(ctx context.Context, hashes []string) error {
	_, err := s.db.exec(ctx, "end sessions", `delete from sessions where hash in (select value from json_each(?))`, list(hashes))
	return s.synced(ctx, err)
}

// SetSessionsSeen notes when sessions were last used, by their hashes.
func (s *State) SetSessionsSeen(ctx context.Context, seen map[string]time.Time) error {
	return s.db.write(ctx, "note use of sessions", func(tx *sql.Tx) error {
		for hash, at := range seen {
			if _, err := tx.ExecContext(ctx, `update sessions set seen_at = max(seen_at, ?) where hash = ?`, micros(at), hash); err != nil {
				return err
			}
		}
		return nil
	})
}

// UseOAuthState notes that a login, by the hash of its state (64 hex digits), goes
// on, and forgets those whose time was over at now, and the oldest beyond most. It
// returns fold.ErrConflict if that login went on before.
func (s *State) UseOAuthState(ctx context.Context, state, provider string, expires, now time.Time, most int) error {
	return s.db.write(ctx, "go on with a login", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `delete from oauth_states where expires_at <= ?`, micros(now)); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `insert into oauth_states (state, provider, nonce, verifier, binding, return_to, expires_at)
			values (?, ?, '', '', '', '', ?) on conflict do nothing`, state, provider, micros(expires))
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

// AuthProviders returns the providers of logins that were added, oldest first.
func (s *State) AuthProviders(ctx context.Context) ([]AuthProvider, error) {
	var all []AuthProvider
	err := s.db.each(ctx, "list login providers", func(scan func(...any) error) error {
		var p AuthProvider
		var settings string
		var created int64
		err := scan(&p.ID, &p.Name, &p.Issuer, &p.ClientID, &p.SecretRef, &settings, &p.Enabled, &created)
		p.Settings, p.Created = json.RawMessage(settings), fromMicros(created)
		all = append(all, p)
		return err
	}, `select id, name, issuer, client_id, secret_ref, settings, enabled, created_at from auth_providers order by created_at, id`)
	return all, err
}

// PutAuthProvider stores a new provider of logins.
func (s *State) PutAuthProvider(ctx context.Context, p AuthProvider) error {
	_, err := s.db.exec(ctx, "put login provider "+p.ID, `insert into auth_providers
			(id, name, issuer, client_id, secret_ref, settings, enabled, created_at) values (?, ?, ?, ?, ?, ?, ?, ?)`,
		p.ID, p.Name, p.Issuer, p.ClientID, p.SecretRef, string(p.Settings), bit(p.Enabled), micros(p.Created))
	return s.synced(ctx, err)
}

// DeleteAuthProvider forgets a provider of logins. It is durable when it
// returns, and returns fold.ErrNotFound if there is none.
func (s *State) DeleteAuthProvider(ctx context.Context, id string) error {
	err := s.one(ctx, "delete login provider "+id, `delete from auth_providers where id = ?`, id)
	return s.synced(ctx, err)
}
