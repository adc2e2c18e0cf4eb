package meta

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A branch switch changes thousands of rows, and of each little more than the
// blob and the times. So rows are compared as they are stored, without decoding
// them, and of one that is there only the columns that differ are written: what is
// not set costs no change of the indexes on it.

// scanValues reads memoryColumns as they are stored.
func scanValues(scan func(...any) error) ([]any, error) {
	values, ptrs := make([]any, memoryColumnCount), make([]any, memoryColumnCount)
	for i := range values {
		ptrs[i] = &values[i]
	}
	if err := scan(ptrs...); err != nil {
		return nil, err
	}
	if _, ok := values[columnID].(string); !ok {
		return nil, fmt.Errorf("memory without an id: %w", ErrDamaged)
	}
	return values, nil
}

// memory puts a row unless it equals the one that is there.
func (a *apply) memory(ctx context.Context, r *Row) error {
	if len(r.ID) != 16 {
		return fmt.Errorf("memory %.40q: not an id: %w", r.ID, fold.ErrInvalid)
	}
	want, err := a.values(r)
	if err != nil {
		return err
	}
	have, there := a.oldRows[r.ID]
	if !there {
		a.touch(r.ID)
		a.touched[r.ID] = true
		a.rows[r.ID] = RowChange{Refiled: true, Retold: true}
		want[columnSaidSeq], want[columnSeq] = a.seq, a.seq
		if err := a.memories.add(ctx, a.tx, want...); err != nil {
			return err
		}
		if err := a.setNames(ctx, false, nil, r); err != nil {
			return err
		}
		return a.setTags(ctx, r.ID, false, nil, r.Tags)
	}
	want[columnSaidSeq], want[columnSeq] = have[columnSaidSeq], have[columnSeq]
	set := differing(have, want)
	change := a.rows[r.ID]
	if _, twice := a.rows[r.ID]; !twice {
		updated, _ := have[columnUpdated].(int64)
		change.Was = time.UnixMicro(updated).UTC()
	}
	change.Refiled = change.Refiled || slices.ContainsFunc(set, isFiled)
	change.Retold = change.Retold || slices.ContainsFunc(set, isTold)
	a.rows[r.ID] = change
	if len(set) == 0 {
		return nil
	}
	a.touch(r.ID)
	a.touched[r.ID] = true
	named := slices.ContainsFunc(set, func(c int) bool {
		return c == columnPath || c == columnTitle || c == columnBody || c == columnMore || c == columnDescribed
	})
	var old Row
	if named {
		if old, err = storedNames(have); err != nil {
			return err
		}
	}
	if named && !slices.Equal(old.Tags, r.Tags) {
		change.Refiled = true
		a.rows[r.ID] = change
	}
	if named && !slices.Equal(old.Tags, r.Tags) || named && !slices.Equal(old.Keywords, r.Keywords) || slices.ContainsFunc(set, isSaid) {
		set = append(set, columnSaidSeq)
		want[columnSaidSeq] = a.seq
	}
	want[columnSeq] = a.seq
	if err := a.update(ctx, append(set, columnSeq), want); err != nil || !named {
		return err
	}
	if err := a.setNames(ctx, true, &old, r); err != nil {
		return err
	}
	return a.setTags(ctx, r.ID, true, old.Tags, r.Tags)
}

// values returns the row of the round as it is to be stored.
func (a *apply) values(r *Row) ([]any, error) {
	if want := a.newRows[r.ID]; want != nil {
		return want, nil
	}
	want, err := r.values()
	a.newRows[r.ID] = want
	return want, err
}

// sameLinks reports whether it is known, without reading them, that the written
// links of a change are those that are stored. Of a memory that is described in
// the index only they are those that its row says, and nobody else sets them.
func (a *apply) sameLinks(c *Change) (bool, error) {
	r := c.Memory
	if !c.SetLinks || r == nil || r.ID != c.About() || c.Forget == r.ID || r.Described != "index" || !slices.Equal(c.Links, r.Links) {
		return false, nil
	}
	have, there := a.oldRows[r.ID]
	if !there {
		return false, nil
	}
	want, err := a.values(r)
	return err == nil && have[columnDescribed] == want[columnDescribed] && have[columnMore] == want[columnMore], err
}

// isFiled reports whether a column is what searches are narrowed by; tags, which
// are in more, are as well.
func isFiled(column int) bool {
	switch column {
	case columnPath, columnType, columnSource, columnAuthor, columnFilePath, columnLanguage:
		return true
	}
	return false
}

// isTold reports whether a column is more than what a file's change alone makes
// other; see RowChange.
func isTold(column int) bool {
	switch column {
	case columnBlob, columnCreated, columnUpdated, columnHash, columnStale:
		return false
	}
	return true
}

// isSaid reports whether a column is a part of the words of a memory: its title,
// file path, body and context. Of what is in more, tags and keywords are.
func isSaid(column int) bool {
	return column == columnTitle || column == columnFilePath || column == columnBody || column == columnContext
}

// differing returns the columns in which two rows differ.
func differing(have, want []any) []int {
	var set []int
	for i := range want {
		if have[i] != want[i] {
			set = append(set, i)
		}
	}
	return set
}

// storedNames returns, of a row as it is stored, what tells by which names it is
// linked to and links, its tags and its keywords.
func storedNames(values []any) (r Row, err error) {
	text := func(column int) string {
		s, _ := values[column].(string)
		return s
	}
	r.ID, r.Path, r.Title, r.Body, r.Described = fold.ID(text(columnID)), text(columnPath), text(columnTitle), text(columnBody), text(columnDescribed)
	var m more
	if err := json.Unmarshal([]byte(text(columnMore)), &m); err != nil {
		return r, fmt.Errorf("memory %s: %w: %w", r.ID, ErrDamaged, err)
	}
	r.Aliases, r.Tags, r.Keywords, r.ByName, r.Foreign = m.Aliases, m.Tags, m.Keywords, m.ByName, m.Foreign
	return r, nil
}

// memoryColumnNames are the names of memoryColumns.
func memoryColumnNames() []string {
	names := strings.Split(memoryColumns, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// mostUpdates is how many statements are kept prepared.
const mostUpdates = 32

// update writes some columns of a row that is there.
func (a *apply) update(ctx context.Context, columns []int, values []any) error {
	var key strings.Builder
	args := make([]any, 0, len(columns)+1)
	for _, c := range columns {
		key.WriteByte(byte('A' + c))
		args = append(args, values[c])
	}
	args = append(args, values[columnID])
	stmt := a.updates[key.String()]
	if stmt == nil {
		all, set := memoryColumnNames(), make([]string, len(columns))
		for i, c := range columns {
			set[i] = all[c] + " = ?"
		}
		query := "update memories set " + strings.Join(set, ", ") + " where id = ?"
		if len(a.updates) >= mostUpdates {
			_, err := a.tx.ExecContext(ctx, query, args...)
			return err
		}
		var err error
		if stmt, err = a.tx.PrepareContext(ctx, query); err != nil {
			return err
		}
		a.updates[key.String()] = stmt
	}
	_, err := stmt.ExecContext(ctx, args...)
	return err
}
