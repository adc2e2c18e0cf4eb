package index

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Filter selects memories. Its zero value selects all, newest first.
type Filter struct {
	Source fold.Source
	Type   string
	Author string
	Tags   []string // all of them; case does not matter
	Pinned bool     // only those that are
	Q      string   // text in title, paths or context; case does not matter

	// Times are compared as times: after is inclusive, before exclusive.
	CreatedAfter, CreatedBefore time.Time
	UpdatedAfter, UpdatedBefore time.Time

	SortBy string // updated_at (default), created_at or title
	Asc    bool   // oldest, or the start of the alphabet, first
	Limit  int    // default 20, at most 200
	Cursor string // from the page before, with the same filter and order
}

// PageSize is how many memories a page has at most.
func (f *Filter) PageSize() int {
	if f.Limit <= 0 {
		return 20
	}
	return min(f.Limit, 200)
}

// sortColumns are the columns that a list can be sorted by.
var sortColumns = map[string]string{"": "updated_at", "updated_at": "updated_at", "created_at": "created_at", "title": "title_key"}

// A place is where a page ended: the sort key and id of its last row.
type place struct {
	By   string `json:"b"`
	Asc  bool   `json:"a"`
	Time int64  `json:"t,omitempty"`
	Text string `json:"x,omitempty"`
	ID   string `json:"i"`
}

// List returns one page of the memories that f selects, the cursor of the next
// ("" after the last), and how many there are on all pages. A memory that
// changes its place between two pages may show twice or not at all; others do
// not. It returns fold.ErrInvalid for an unknown order or cursor.
func (x *DB) List(ctx context.Context, f Filter) (rows []Row, next string, total int, err error) {
	column, ok := sortColumns[f.SortBy]
	if !ok {
		return nil, "", 0, fmt.Errorf("sort_by %.40q: not updated_at, created_at or title: %w", f.SortBy, fold.ErrInvalid)
	}
	f.Limit = f.PageSize()
	where, args := f.where()
	if err := x.db.Row(ctx, "list", `select count(*) from memories m where `+where, args...).Scan(&total); err != nil {
		return nil, "", 0, err
	}
	if f.Cursor != "" {
		at, err := f.place(column)
		if err != nil {
			return nil, "", 0, err
		}
		op := "<"
		if f.Asc {
			op = ">"
		}
		where += fmt.Sprintf(" and (m.%s, m.id) %s (?, ?)", column, op)
		if column == "title_key" {
			args = append(args, at.Text, at.ID)
		} else {
			args = append(args, at.Time, at.ID)
		}
	}
	dir := "desc"
	if f.Asc {
		dir = "asc"
	}
	err = x.db.Each(ctx, "list", func(scan func(...any) error) error {
		r, err := scanRow(scan)
		rows = append(rows, r)
		return err
	}, fmt.Sprintf(`select %s from memories m where %s order by m.%s %s, m.id %s limit ?`, memoryColumns, where, column, dir, dir),
		append(args, f.Limit+1)...)
	if err != nil {
		return nil, "", 0, err
	}
	if len(rows) > f.Limit {
		rows = rows[:f.Limit]
		next = f.cursor(column, &rows[f.Limit-1])
	}
	return rows, next, total, nil
}

// where returns the condition and its arguments; m is the table.
func (f *Filter) where() (string, []any) {
	cond := []string{"true"}
	var args []any
	add := func(c string, v any) {
		cond = append(cond, c)
		args = append(args, v)
	}
	if f.Source != "" {
		add("m.source = ?", string(f.Source))
	}
	if f.Type != "" {
		add("m.memory_type = ?", f.Type)
	}
	if f.Author != "" {
		add("m.author = ?", f.Author)
	}
	if f.Pinned {
		cond = append(cond, "m.pinned")
	}
	for _, tag := range f.Tags {
		add("exists (select 1 from memory_tags t where t.memory_id = m.id and t.tag = ?)", strings.ToLower(tag))
	}
	if f.Q != "" {
		add("instr(m.find, ?) > 0", strings.ToLower(f.Q))
	}
	for _, t := range []struct {
		cond string
		at   time.Time
	}{
		{"m.created_at >= ?", f.CreatedAfter},
		{"m.created_at < ?", f.CreatedBefore},
		{"m.updated_at >= ?", f.UpdatedAfter},
		{"m.updated_at < ?", f.UpdatedBefore},
	} {
		if !t.at.IsZero() {
			add(t.cond, t.at.UnixMicro())
		}
	}
	return strings.Join(cond, " and "), args
}

func (f *Filter) cursor(column string, last *Row) string {
	at := place{By: column, Asc: f.Asc, ID: string(last.ID)}
	switch column {
	case "title_key":
		at.Text = strings.ToLower(last.Title)
	case "created_at":
		at.Time = last.CreatedAt.UnixMicro()
	default:
		at.Time = last.UpdatedAt.UnixMicro()
	}
	b, err := json.Marshal(at)
	if err != nil {
		panic(err) // numbers and strings always marshal
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

func (f *Filter) place(column string) (place, error) {
	var at place
	b, err := base64.RawURLEncoding.DecodeString(f.Cursor)
	if err == nil {
		err = json.Unmarshal(b, &at)
	}
	if err != nil || at.By != column || at.Asc != f.Asc || at.ID == "" {
		return at, fmt.Errorf("cursor %.40q: not of this list: %w", f.Cursor, fold.ErrInvalid)
	}
	return at, nil
}
