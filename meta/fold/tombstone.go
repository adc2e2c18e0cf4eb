package fold

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// TombstoneAge is for how long a deleted memory leaves a tombstone in a branch of
// the user: whoever merges with it is asked about an edit against a deletion then,
// which git by itself does not ask a merge driver about (git.md B8).
const TombstoneAge = 30 * 24 * time.Hour

// Bury returns the tombstone of the memory file b at path: which memory it was, of what
// type and source, that it is deleted and since when, and not a word of it. A title is
// often the whole text, and what somebody deletes must not stay. It returns
// ErrQuarantined for what is no memory.
func Bury(project, path string, b []byte, at time.Time) ([]byte, error) {
	m, err := Decode(project, path, b)
	if err != nil {
		return nil, err
	}
	l, err := split(b)
	if err != nil {
		return nil, err
	}
	if !l.has {
		return nil, quarantinef(1, "a note without frontmatter has no tombstone")
	}
	at = at.UTC().Truncate(time.Second)
	if at.Before(m.UpdatedAt) { // a clock that is behind; what was edited last is buried
		at = m.UpdatedAt
	}
	tomb := &Memory{ID: m.ID, Type: m.Type, Source: m.Source, CreatedAt: m.CreatedAt, UpdatedAt: at, Deleted: true}
	out, err := EditKeys(nil, slices.DeleteFunc(fields(tomb), func(e KeyEdit) bool { return e.Value == nil })...)
	if err != nil {
		return nil, fmt.Errorf("bury %s: %w", path, err)
	}
	return out, nil
}

// Buried reports whether b is a tombstone, and since when, the zero time if it
// does not say. A file that cannot be read is none.
func Buried(b []byte) (since time.Time, ok bool) {
	if !bytes.Contains(b, []byte("deleted")) { // spares reading nearly all of them
		return since, false
	}
	m, err := Decode("", pathOf(b), b)
	if err != nil || !m.Deleted {
		return since, false
	}
	return m.UpdatedAt, true
}
