package index

// A branch switch changes thousands of rows, and of each little more than the blob
// and the times. Rows are therefore compared as they are stored, without decoding
// them, and of a row that is there only the columns that differ are written: a
// column that is not set costs no change of the indexes on it.

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

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
		return nil, fmt.Errorf("memory without an id: %w", sqlite.ErrDamaged)
	}
	return values, nil
}

// setRow puts a row unless it equals the one that is there.
func (a *applyTx) setRow(ctx context.Context, r *Row) error {
	if len(r.ID) != 16 {
		return fmt.Errorf("memory %.40q: not an id: %w", r.ID, fold.ErrInvalid)
	}
	want, err := a.newRow(r)
	if err != nil {
		return err
	}
	have, there := a.batch.rows[r.ID]
	if !there {
		a.touch(r.ID)
		a.touched[r.ID] = true
		a.rows[r.ID] = RowChange{FilterChanged: true, ContentChanged: true}
		want[columnTextSeq], want[columnSeq] = a.seq, a.seq
		if err := a.tables.memories.Add(ctx, a.tx, want...); err != nil {
			return err
		}
		if err := a.setNames(ctx, false, nil, r); err != nil {
			return err
		}
		return a.setTags(ctx, r.ID, false, nil, r.Tags)
	}
	want[columnTextSeq], want[columnSeq] = have[columnTextSeq], have[columnSeq]
	set := differing(have, want)
	change := a.rows[r.ID]
	if _, twice := a.rows[r.ID]; !twice {
		updated, _ := have[columnUpdated].(int64)
		change.Was = time.UnixMicro(updated).UTC()
	}
	change.FilterChanged = change.FilterChanged || slices.ContainsFunc(set, isFilterColumn)
	change.ContentChanged = change.ContentChanged || slices.ContainsFunc(set, isContentColumn)
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
		change.FilterChanged = true
		a.rows[r.ID] = change
	}
	if named && !slices.Equal(old.Tags, r.Tags) || named && !slices.Equal(old.Keywords, r.Keywords) || slices.ContainsFunc(set, isTextColumn) {
		set = append(set, columnTextSeq)
		want[columnTextSeq] = a.seq
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

// newRow returns the values of a row of the batch, worked out once.
func (a *applyTx) newRow(r *Row) ([]any, error) {
	if want := a.batch.newRows[r.ID]; want != nil {
		return want, nil
	}
	want, err := r.values()
	a.batch.newRows[r.ID] = want
	return want, err
}

// isFilterColumn reports whether searches are narrowed by a column. They are by
// tags as well, which are in more.
func isFilterColumn(column int) bool {
	switch column {
	case columnPath, columnType, columnSource, columnAuthor, columnFilePath, columnLanguage:
		return true
	}
	return false
}

// isContentColumn reports whether a column holds more than what each change of the
// source file changes; see RowChange.
func isContentColumn(column int) bool {
	switch column {
	case columnBlob, columnCreated, columnUpdated, columnHash, columnStale:
		return false
	}
	return true
}

// isTextColumn reports whether a column is part of the text of a memory, see
// [TextChange]. Of what is in more, tags and keywords are.
func isTextColumn(column int) bool {
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

// storedNames decodes of a stored row what has the names by which it is linked to
// and links, its tags and its keywords.
func storedNames(values []any) (r Row, err error) {
	text := func(column int) string {
		s, _ := values[column].(string)
		return s
	}
	r.ID, r.Path, r.Title, r.Body, r.Described = fold.ID(text(columnID)), text(columnPath), text(columnTitle), text(columnBody), text(columnDescribed)
	var m more
	if err := json.Unmarshal([]byte(text(columnMore)), &m); err != nil {
		return r, fmt.Errorf("memory %s: %w: %w", r.ID, sqlite.ErrDamaged, err)
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

// maxUpdates is how many update statements a transaction keeps prepared.
const maxUpdates = 32

// update writes some columns of a row that is there.
func (a *applyTx) update(ctx context.Context, columns []int, values []any) error {
	var key strings.Builder
	args := make([]any, 0, len(columns)+1)
	for _, c := range columns {
		key.WriteByte(byte('A' + c))
		args = append(args, values[c])
	}
	args = append(args, values[columnID])
	stmt := a.tables.updates[key.String()]
	if stmt == nil {
		all, set := memoryColumnNames(), make([]string, len(columns))
		for i, c := range columns {
			set[i] = all[c] + " = ?"
		}
		query := "update memories set " + strings.Join(set, ", ") + " where id = ?"
		if len(a.tables.updates) >= maxUpdates {
			_, err := a.tx.ExecContext(ctx, query, args...)
			return err
		}
		var err error
		if stmt, err = a.tx.PrepareContext(ctx, query); err != nil {
			return err
		}
		a.tables.updates[key.String()] = stmt
	}
	_, err := stmt.ExecContext(ctx, args...)
	return err
}

// setTags stores the tags of a memory. Old are those that were there.
func (a *applyTx) setTags(ctx context.Context, id fold.ID, there bool, old, now []string) error {
	if there && !slices.Equal(old, now) {
		if _, err := a.tx.ExecContext(ctx, `delete from memory_tags where memory_id = ?`, string(id)); err != nil {
			return err
		}
	} else if there {
		return nil
	}
	for _, tag := range now {
		if err := a.tables.tags.Add(ctx, a.tx, string(id), strings.ToLower(tag)); err != nil {
			return err
		}
	}
	return nil
}

// setNames stores the names by which a memory is linked to and links. Old is the
// row that was there.
func (a *applyTx) setNames(ctx context.Context, there bool, old, now *Row) error {
	var had, linked []string
	if there {
		had, linked = old.entry().ListedNames(), old.linking()
	}
	if err := a.replaceNames(ctx, a.tables.names, `delete from memory_names where memory_id = ?`, now.ID, had, now.entry().ListedNames()); err != nil {
		return err
	}
	return a.replaceNames(ctx, a.tables.linking, `delete from memory_linking where memory_id = ?`, now.ID, linked, now.linking())
}

// replaceNames makes now the names of id that in writes and clear deletes.
func (a *applyTx) replaceNames(ctx context.Context, in *sqlite.Inserter, clear string, id fold.ID, had, now []string) error {
	if slices.Equal(had, now) {
		return nil
	}
	if len(had) > 0 {
		if _, err := a.tx.ExecContext(ctx, clear, string(id)); err != nil {
			return err
		}
	}
	for _, name := range now {
		if err := in.Add(ctx, a.tx, string(id), name); err != nil {
			return err
		}
	}
	return nil
}

// dropNames deletes what setNames stored.
func dropNames(ctx context.Context, tx *sql.Tx, id fold.ID) error {
	for _, query := range []string{`delete from memory_names where memory_id = ?`, `delete from memory_linking where memory_id = ?`} {
		if _, err := tx.ExecContext(ctx, query, string(id)); err != nil {
			return err
		}
	}
	return nil
}
