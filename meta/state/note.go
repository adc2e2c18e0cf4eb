package state

import "context"

// Note returns a small fact about a checkout, "" if there is none.
func (s *DB) Note(ctx context.Context, key, name string) (string, error) {
	return s.text(ctx, "read note "+name, `select value from notes where key = ? and name = ?`, key, name)
}

// SetNote stores a small fact about a checkout; "" deletes it. It returns
// fold.ErrNotFound if key is not registered.
func (s *DB) SetNote(ctx context.Context, key, name, value string) error {
	if value == "" {
		_, err := s.db.Exec(ctx, "delete note "+name, `delete from notes where key = ? and name = ?`, key, name)
		return err
	}
	return s.updateOne(ctx, "set note "+name, `insert into notes (key, name, value) select key, ?, ? from repositories where key = ?
		on conflict do update set value = excluded.value`, name, value, key)
}

// Fact returns a small fact that outlives registrations, "" if there is none.
func (s *DB) Fact(ctx context.Context, subject, name string) (string, error) {
	return s.text(ctx, "read fact "+name, `select value from facts where subject = ? and name = ?`, subject, name)
}

// SetFact stores a small fact about anything: a remote, a project; "" deletes
// it.
func (s *DB) SetFact(ctx context.Context, subject, name, value string) error {
	if value == "" {
		_, err := s.db.Exec(ctx, "delete fact "+name, `delete from facts where subject = ? and name = ?`, subject, name)
		return err
	}
	_, err := s.db.Exec(ctx, "set fact "+name, `insert into facts (subject, name, value) values (?, ?, ?)
		on conflict do update set value = excluded.value`, subject, name, value)
	return err
}
