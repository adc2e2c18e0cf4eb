package meta

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A State is state.db: the registry of checkouts, counters, tokens. Safe for
// concurrent use.
type State struct {
	db     *db
	access sync.Map // by slug: *accesses

	setting  sync.Mutex // one change of settings, or reading of them, at a time
	settings sync.Map   // by slug: string, as they are stored
	// Forgot says, if not empty, that the file was damaged, where its copy is
	// and what that costs the user.
	Forgot string
}

// versionState is the number of the newest sql/state_<n>.sql.
const versionState = 8

// OpenState opens or creates state.db at path and brings it to the version of
// this program, step by step. A damaged file is set aside as <path>.damaged
// (see State.Forgot). A file of a newer version is refused, unchanged, with
// fold.ErrConflict and a hint.
func OpenState(ctx context.Context, path string) (*State, error) {
	fresh, err := missing(path)
	if err != nil {
		return nil, err
	}
	s, created, err := openState(ctx, path)
	var reason string
	switch {
	case damaged(err):
		reason = err.Error()
		if err := setAside(path); err != nil {
			return nil, err
		}
		if s, _, err = openState(ctx, path); err != nil {
			return nil, err
		}
		reason += "; a copy is at " + path + ".damaged"
	case err != nil:
		return nil, err
	case created && !fresh:
		reason = "it was empty"
	default:
		return s, nil
	}
	s.Forgot = fmt.Sprintf("%s was begun anew (%s): logins, tokens, counters and the list of checkouts are forgotten, memories are not; register each checkout again with foldwatch add",
		filepath.Base(path), reason)
	return s, nil
}

func openState(ctx context.Context, path string) (s *State, created bool, err error) {
	if err := refuseNewer(ctx, path); err != nil {
		return nil, false, err
	}
	d, err := openDB(ctx, path)
	if err != nil {
		return nil, false, err
	}
	if created, err = prepareState(ctx, d); err != nil {
		return nil, false, errors.Join(err, d.close())
	}
	return &State{db: d}, created, nil
}

// refuseNewer looks at the version of the file without writing a byte of it.
// What else is wrong shows when the file is opened.
func refuseNewer(ctx context.Context, path string) error {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	d, err := peekDB(path)
	if err != nil {
		return nil
	}
	defer d.Close()
	var v int
	if err := d.QueryRowContext(ctx, "pragma user_version").Scan(&v); err != nil || v <= versionState {
		return nil
	}
	return fold.WithHint(
		fmt.Errorf("%s is of version %d, this program knows %d: %w", filepath.Base(path), v, versionState, fold.ErrConflict),
		"install the newer foldwatch that wrote it, or move the file away to begin with an empty registry")
}

// stateCheckLimit bounds the look at the whole file: it has some thousand rows,
// and a slow disk must not hold up the start.
const stateCheckLimit = 3 * time.Second

// prepareState checks the file and brings it to this program's version. It
// reports whether the file had none.
func prepareState(ctx context.Context, d *db) (created bool, err error) {
	v, err := d.version(ctx)
	if err != nil {
		return false, err
	}
	if err := d.check(ctx, "integrity_check", stateCheckLimit); err != nil {
		return false, err
	}
	created = v == 0
	for v < versionState {
		v++
		if err := d.create(ctx, fmt.Sprintf("state_%d.sql", v), v); err != nil {
			return false, err
		}
	}
	return created, nil
}

// Close lets go of the file.
func (s *State) Close() error { return s.db.close() }

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
	CommitTo     string // sidecar, branch, or auto: where the branch says
	FileMemories string // auto, fold or local
	RemoteURL    string // without credentials
	Linked       bool   // shares the fold/ of the main work tree
	AddedAt      time.Time
	PausedUntil  time.Time // zero: until resumed
	Paused       bool
}

// PutCheckout registers c, or changes what is registered under its key. Cursor,
// notes and counters stay.
func (s *State) PutCheckout(ctx context.Context, c Checkout) error {
	return s.db.write(ctx, "put checkout "+c.Key, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `insert into projects (slug, id, name, settings, created_at) values (?, ?, ?, '{}', ?)
			on conflict (slug) do update set id = excluded.id, name = excluded.name`,
			c.Slug, c.ProjectID, c.Name, micros(c.AddedAt))
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
			c.FileMemories, c.RemoteURL, bit(c.Linked), bit(c.Paused), micros(c.PausedUntil), micros(c.AddedAt))
		return err
	})
}

// Checkouts returns every registered checkout in the order they were added.
func (s *State) Checkouts(ctx context.Context) ([]Checkout, error) {
	var all []Checkout
	err := s.db.each(ctx, "list checkouts", func(scan func(...any) error) error {
		var c Checkout
		var until, added int64
		err := scan(&c.Key, &c.Path, &c.CommonDir, &c.MainTree, &c.FoldDir, &c.Slug, &c.Name, &c.ProjectID, &c.CommitTo,
			&c.FileMemories, &c.RemoteURL, &c.Linked, &c.Paused, &until, &added)
		c.PausedUntil, c.AddedAt = fromMicros(until), fromMicros(added)
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
func (s *State) DeleteCheckout(ctx context.Context, key string) error {
	if err := s.one(ctx, "delete checkout "+key, `delete from repositories where key = ?`, key); err != nil {
		return err
	}
	_, err := s.db.exec(ctx, "delete sync of checkout "+key,
		`delete from syncs where common_dir not in (select common_dir from repositories)`)
	return err
}

// SetPaused pauses or resumes a checkout; a zero until means until resumed. It
// returns fold.ErrNotFound if key is not registered.
func (s *State) SetPaused(ctx context.Context, key string, paused bool, until time.Time) error {
	return s.one(ctx, "pause checkout "+key, `update repositories set paused = ?, paused_until = ? where key = ?`,
		bit(paused), micros(until), key)
}

// one runs a statement that must meet a row.
func (s *State) one(ctx context.Context, op, query string, args ...any) error {
	n, err := s.db.exec(ctx, op, query, args...)
	if err == nil && n == 0 {
		return fmt.Errorf("%s: %w", op, fold.ErrNotFound)
	}
	return err
}

// Cursor returns the commit that was described last, "" if none was.
func (s *State) Cursor(ctx context.Context, key string) (string, error) {
	return s.text(ctx, "read cursor of "+key, `select cursor from repositories where key = ?`, key)
}

// SetCursor stores the commit that was described last. It returns
// fold.ErrNotFound if key is not registered.
func (s *State) SetCursor(ctx context.Context, key, oid string) error {
	return s.one(ctx, "set cursor of "+key, `update repositories set cursor = ? where key = ?`, oid, key)
}

// Note returns a small fact about a checkout, "" if there is none.
func (s *State) Note(ctx context.Context, key, name string) (string, error) {
	return s.text(ctx, "read note "+name, `select value from notes where key = ? and name = ?`, key, name)
}

// SetNote stores a small fact about a checkout; "" deletes it. It returns
// fold.ErrNotFound if key is not registered.
func (s *State) SetNote(ctx context.Context, key, name, value string) error {
	if value == "" {
		_, err := s.db.exec(ctx, "delete note "+name, `delete from notes where key = ? and name = ?`, key, name)
		return err
	}
	return s.one(ctx, "set note "+name, `insert into notes (key, name, value) select key, ?, ? from repositories where key = ?
		on conflict do update set value = excluded.value`, name, value, key)
}

// Fact returns a small fact that outlives registrations, "" if there is none.
func (s *State) Fact(ctx context.Context, subject, name string) (string, error) {
	return s.text(ctx, "read fact "+name, `select value from facts where subject = ? and name = ?`, subject, name)
}

// SetFact stores a small fact about anything: a remote, a project; "" deletes
// it.
func (s *State) SetFact(ctx context.Context, subject, name, value string) error {
	if value == "" {
		_, err := s.db.exec(ctx, "delete fact "+name, `delete from facts where subject = ? and name = ?`, subject, name)
		return err
	}
	_, err := s.db.exec(ctx, "set fact "+name, `insert into facts (subject, name, value) values (?, ?, ?)
		on conflict do update set value = excluded.value`, subject, name, value)
	return err
}

// text returns one value, "" if there is no row.
func (s *State) text(ctx context.Context, op, query string, args ...any) (string, error) {
	var v string
	err := s.db.r.QueryRowContext(ctx, query, args...).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return v, s.db.wrap(err, op)
}

// Seen returns when the checkout was last seen, zero if never.
func (s *State) Seen(ctx context.Context, key string) (time.Time, error) {
	var us int64
	err := s.db.r.QueryRowContext(ctx, `select last_seen from repositories where key = ?`, key).Scan(&us)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	return fromMicros(us), s.db.wrap(err, "read last_seen of "+key)
}

// SetSeen stores when the checkout was last seen. It returns fold.ErrNotFound
// if key is not registered.
func (s *State) SetSeen(ctx context.Context, key string, now time.Time) error {
	return s.one(ctx, "set last_seen of "+key, `update repositories set last_seen = ? where key = ?`, micros(now), key)
}

// Settings returns the JSON object of a project's settings, "{}" if none. Every
// search asks for them: they are read once.
func (s *State) Settings(ctx context.Context, slug string) ([]byte, error) {
	if v, ok := s.settings.Load(slug); ok {
		return []byte(v.(string)), nil
	}
	s.setting.Lock()
	defer s.setting.Unlock()
	v, err := s.text(ctx, "read settings of "+slug, `select settings from projects where slug = ?`, slug)
	if v == "" {
		v = "{}"
	}
	if err == nil {
		s.settings.Store(slug, v)
	}
	return []byte(v), err
}

// SetSettings stores a project's settings as a JSON object. It returns
// fold.ErrNotFound if no checkout of slug was ever registered.
func (s *State) SetSettings(ctx context.Context, slug string, object []byte) error {
	s.setting.Lock()
	defer s.setting.Unlock()
	defer s.settings.Delete(slug)
	return s.one(ctx, "set settings of "+slug, `update projects set settings = ? where slug = ?`, string(object), slug)
}

// Gone returns the file memories of a project that were deleted by hand.
func (s *State) Gone(ctx context.Context, slug string) (map[fold.ID]bool, error) {
	all := make(map[fold.ID]bool)
	err := s.db.each(ctx, "read gone", func(scan func(...any) error) error {
		var id fold.ID
		err := scan(&id)
		all[id] = true
		return err
	}, `select memory_id from gone where slug = ?`, slug)
	return all, err
}

// SetGone remembers, or forgets, that a file memory was deleted by hand.
func (s *State) SetGone(ctx context.Context, slug string, id fold.ID, gone bool) error {
	query := `insert into gone (slug, memory_id) values (?, ?) on conflict do nothing`
	if !gone {
		query = `delete from gone where slug = ? and memory_id = ?`
	}
	_, err := s.db.exec(ctx, "set gone "+string(id), query, slug, string(id))
	return err
}
