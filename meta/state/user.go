package state

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/sqlite"
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
	Claims    Claims   // what Role came from
	Assigned  string   // role that an administrator gave; "" is none
	Projects  []string // slugs of Assigned; none is all
	Created   time.Time
	LastLogin time.Time
}

// Claims are what a provider said of a user at the last login, as far as it
// decides what the user may, and the projects that it was for; none is all. They
// are stored as JSON, so that the role can be found anew when settings change.
type Claims struct {
	Known    bool     `json:"known,omitempty"` // false where the last login was before this was kept
	Claim    string   `json:"claim,omitempty"`
	Values   []string `json:"values,omitempty"`
	Projects []string `json:"projects,omitempty"`
}

// Users returns every user, in the order in which they first came.
func (s *DB) Users(ctx context.Context) ([]User, error) {
	var all []User
	err := s.db.Each(ctx, "list users", func(scan func(...any) error) error {
		var u User
		var projects, claims string
		var created, login int64
		if err := scan(&u.ID, &u.Issuer, &u.Subject, &u.Email, &u.Name, &u.Provider, &u.Role, &claims, &u.Assigned, &projects, &created, &login); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(claims), &u.Claims); err != nil {
			return fmt.Errorf("role of user %s: %w", u.ID, err)
		}
		if err := json.Unmarshal([]byte(projects), &u.Projects); err != nil {
			return fmt.Errorf("projects of user %s: %w", u.ID, err)
		}
		u.Created, u.LastLogin = sqlite.Time(created), sqlite.Time(login)
		all = append(all, u)
		return nil
	}, `select id, issuer, subject, email, name, provider, role, said, assigned, projects, created_at, last_login
		from users order by created_at, id`)
	return all, err
}

// PutUser stores a user, new or changed, and deletes those whose ids gone has. It
// is durable when it returns: a power cut must not give a role back.
func (s *DB) PutUser(ctx context.Context, u User, gone ...string) error {
	claims, err := json.Marshal(u.Claims)
	if err != nil {
		return err
	}
	err = s.db.Write(ctx, "put user "+u.ID, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `delete from users where id in (select value from json_each(?))`, sqlite.List(gone)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `insert into users
				(id, issuer, subject, email, name, provider, role, said, assigned, projects, created_at, last_login) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			on conflict (id) do update set email = excluded.email, name = excluded.name, provider = excluded.provider, role = excluded.role, said = excluded.said,
				assigned = excluded.assigned, projects = excluded.projects, last_login = excluded.last_login`,
			u.ID, u.Issuer, u.Subject, u.Email, u.Name, u.Provider, u.Role, string(claims), u.Assigned, sqlite.List(u.Projects), sqlite.Micros(u.Created), sqlite.Micros(u.LastLogin))
		return err
	})
	return s.durable(ctx, err)
}

// DeleteUser forgets a user and ends the sessions. It is durable when it
// returns, and returns fold.ErrNotFound if there is none.
func (s *DB) DeleteUser(ctx context.Context, id string) error {
	err := s.updateOne(ctx, "delete user "+id, `delete from users where id = ?`, id)
	return s.durable(ctx, err)
}
