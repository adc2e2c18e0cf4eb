package state

import (
	"context"
	"encoding/json"
	"time"

	"github.com/foldwatch/foldwatch/meta/sqlite"
)

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

// AuthProviders returns the providers of logins that were added, oldest first.
func (s *DB) AuthProviders(ctx context.Context) ([]AuthProvider, error) {
	var all []AuthProvider
	err := s.db.Each(ctx, "list login providers", func(scan func(...any) error) error {
		var p AuthProvider
		var settings string
		var created int64
		err := scan(&p.ID, &p.Name, &p.Issuer, &p.ClientID, &p.SecretRef, &settings, &p.Enabled, &created)
		p.Settings, p.Created = json.RawMessage(settings), sqlite.Time(created)
		all = append(all, p)
		return err
	}, `select id, name, issuer, client_id, secret_ref, settings, enabled, created_at from auth_providers order by created_at, id`)
	return all, err
}

// PutAuthProvider stores a new provider of logins.
func (s *DB) PutAuthProvider(ctx context.Context, p AuthProvider) error {
	_, err := s.db.Exec(ctx, "put login provider "+p.ID, `insert into auth_providers
			(id, name, issuer, client_id, secret_ref, settings, enabled, created_at) values (?, ?, ?, ?, ?, ?, ?, ?)`,
		p.ID, p.Name, p.Issuer, p.ClientID, p.SecretRef, string(p.Settings), p.Enabled, sqlite.Micros(p.Created))
	return s.durable(ctx, err)
}

// DeleteAuthProvider forgets a provider of logins. It is durable when it
// returns, and returns fold.ErrNotFound if there is none.
func (s *DB) DeleteAuthProvider(ctx context.Context, id string) error {
	err := s.updateOne(ctx, "delete login provider "+id, `delete from auth_providers where id = ?`, id)
	return s.durable(ctx, err)
}
