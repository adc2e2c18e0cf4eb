package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// An APIToken is what is kept of a token: its hash, and never the token.
type APIToken struct {
	ID       string
	Hash     string // SHA-256 of the token, 64 hex digits
	Name     string
	UserID   string   // who made it
	Scope    string   // read, write or admin
	Projects []string // slugs; none is all
	Created  time.Time
	Expires  time.Time
	Used     time.Time // zero if never
	Revoked  time.Time // zero if it is not
}

// APITokens returns every token, oldest first.
func (s *DB) APITokens(ctx context.Context) ([]APIToken, error) {
	var all []APIToken
	err := s.db.Each(ctx, "list tokens", func(scan func(...any) error) error {
		var t APIToken
		var projects string
		var created, expires, used, revoked int64
		if err := scan(&t.ID, &t.Hash, &t.Name, &t.UserID, &t.Scope, &projects, &created, &expires, &used, &revoked); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(projects), &t.Projects); err != nil {
			return fmt.Errorf("projects of token %s: %w", t.ID, err)
		}
		t.Created, t.Expires, t.Used, t.Revoked = sqlite.Time(created), sqlite.Time(expires), sqlite.Time(used), sqlite.Time(revoked)
		all = append(all, t)
		return nil
	}, `select id, hash, name, user_id, scope, projects, created_at, expires_at, used_at, revoked_at
		from api_tokens order by created_at, id`)
	return all, err
}

// PutAPIToken stores a new token and deletes those whose ids gone has.
func (s *DB) PutAPIToken(ctx context.Context, t APIToken, gone ...string) error {
	return s.db.Write(ctx, "put token "+t.ID, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `delete from api_tokens where id in (select value from json_each(?))`, sqlite.List(gone)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `insert into api_tokens
				(id, hash, name, user_id, scope, projects, created_at, expires_at, used_at, revoked_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			t.ID, t.Hash, t.Name, t.UserID, t.Scope, sqlite.List(t.Projects), sqlite.Micros(t.Created), sqlite.Micros(t.Expires), sqlite.Micros(t.Used), sqlite.Micros(t.Revoked))
		return err
	})
}

// RevokeAPITokens notes when tokens were revoked; one that is revoked already
// keeps its time. It is durable when it returns: a power cut must not bring one
// back.
func (s *DB) RevokeAPITokens(ctx context.Context, ids []string, at time.Time) error {
	_, err := s.db.Exec(ctx, "revoke tokens", `update api_tokens set revoked_at = ?
		where revoked_at = 0 and id in (select value from json_each(?))`, sqlite.Micros(at), sqlite.List(ids))
	return s.durable(ctx, err)
}

// SetAPITokensUsed notes when tokens were last used, by their ids.
func (s *DB) SetAPITokensUsed(ctx context.Context, used map[string]time.Time) error {
	return s.db.Write(ctx, "note use of tokens", func(tx *sql.Tx) error {
		for id, at := range used {
			if _, err := tx.ExecContext(ctx, `update api_tokens set used_at = max(used_at, ?) where id = ?`, sqlite.Micros(at), id); err != nil {
				return err
			}
		}
		return nil
	})
}
