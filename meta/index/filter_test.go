package index_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

func day(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }

// listed makes ten memories; of each two, created_at and titles are equal.
func listed(t testing.TB) *index.DB {
	x := openIndex(t, t.TempDir())
	for n := range 10 {
		r := &index.Row{Memory: fold.Memory{
			ID: id(n), Title: fmt.Sprintf("%c title", 'a'+n/2), Type: "decision", Source: fold.SourceAgent, Author: "ada",
			Tags: []string{"all", fmt.Sprintf("Tag%d", n%3)}, Context: "Context " + strings.Repeat("Ä", n), FilePath: fmt.Sprintf("Src/f%d.go", n),
			CreatedAt: day(1 + n/2), UpdatedAt: day(20 - n),
		}, Described: "fold"}
		if n == 4 {
			r.Source, r.Type, r.Author = fold.SourceFile, "codebase", "system"
		}
		apply(t, x, index.Change{Memory: r})
	}
	return x
}

func numbers(rows []index.Row) []int {
	var all []int
	for _, r := range rows {
		var n int
		_, _ = fmt.Sscanf(string(r.ID), "%x", &n)
		all = append(all, n)
	}
	return all
}

func TestListFilters(t *testing.T) {
	x := listed(t)
	// In another zone, the text of the time would compare otherwise.
	east := time.FixedZone("", 9*3600)
	for _, tc := range []struct {
		name   string
		filter index.Filter
		want   []int
	}{
		{"all, newest first", index.Filter{}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"oldest first", index.Filter{Asc: true}, []int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
		{"by creation", index.Filter{SortBy: "created_at"}, []int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
		{"by title", index.Filter{SortBy: "title", Asc: true}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"source", index.Filter{Source: fold.SourceFile}, []int{4}},
		{"type", index.Filter{Type: "codebase"}, []int{4}},
		{"author", index.Filter{Author: "system"}, []int{4}},
		{"tag", index.Filter{Tags: []string{"tag1"}}, []int{1, 4, 7}},
		{"all of the tags", index.Filter{Tags: []string{"TAG1", "all"}}, []int{1, 4, 7}},
		{"tags nobody has together", index.Filter{Tags: []string{"tag1", "tag2"}}, nil},
		{"text in title", index.Filter{Q: "B TIT"}, []int{2, 3}},
		{"text in path", index.Filter{Q: "src/F7"}, []int{7}},
		{"text in context, not ASCII", index.Filter{Q: "äääääääää"}, []int{9}},
		{"text with wildcards", index.Filter{Q: "%"}, nil},
		{"updated after, inclusive", index.Filter{UpdatedAfter: day(19).In(east)}, []int{0, 1}},
		{"updated before, exclusive", index.Filter{UpdatedBefore: day(12).In(east)}, []int{9}},
		{"created between", index.Filter{CreatedAfter: day(2), CreatedBefore: day(3)}, []int{2, 3}},
		{"everything at once", index.Filter{Source: fold.SourceFile, Tags: []string{"all"}, Q: "f4", UpdatedAfter: day(1), SortBy: "title"}, []int{4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rows, next, total, err := x.List(t.Context(), tc.filter)
			if err != nil || next != "" || total != len(tc.want) || !slices.Equal(numbers(rows), tc.want) {
				t.Errorf("List = %v, next %q, total %d, %v, want %v", numbers(rows), next, total, err, tc.want)
			}
		})
	}
}

func TestListPages(t *testing.T) {
	x := listed(t)
	for _, by := range []string{"", "updated_at", "created_at", "title"} {
		for _, asc := range []bool{false, true} {
			whole, _, _, err := x.List(t.Context(), index.Filter{SortBy: by, Asc: asc, Q: "title"})
			if err != nil {
				t.Fatal(err)
			}
			for _, limit := range []int{1, 3, 5, 10} {
				var got []int
				f := index.Filter{SortBy: by, Asc: asc, Q: "title", Limit: limit}
				for pages := 0; ; pages++ {
					rows, next, total, err := x.List(t.Context(), f)
					if err != nil || total != 10 || pages > 10 {
						t.Fatalf("page %d: total %d, %v", pages, total, err)
					}
					got = append(got, numbers(rows)...)
					if f.Cursor = next; next == "" {
						break
					}
					// New ones before the place do not shift the rest.
					apply(t, x, index.Change{Memory: &index.Row{Memory: fold.Memory{ID: id(500 + pages), Title: "zz", UpdatedAt: day(1)}}})
				}
				if !slices.Equal(got, numbers(whole)) {
					t.Errorf("by %q asc %v limit %d: %v, want %v", by, asc, limit, got, numbers(whole))
				}
			}
		}
	}
}

func TestListRefuses(t *testing.T) {
	x := listed(t)
	_, next, _, err := x.List(t.Context(), index.Filter{Limit: 2})
	if err != nil || next == "" {
		t.Fatal(next, err)
	}
	for _, f := range []index.Filter{
		{SortBy: "id; drop table memories"}, {Cursor: "???"}, {Cursor: "e30"}, {Cursor: next, SortBy: "title"}, {Cursor: next, Asc: true},
	} {
		if _, _, _, err := x.List(t.Context(), f); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("List(%+v) = %v, want ErrInvalid", f, err)
		}
	}
}

// FuzzCursor gives lists cursors that somebody else made: each is refused, or is a
// place in the list.
func FuzzCursor(f *testing.F) {
	x := listed(f)
	for _, by := range []string{"updated_at", "title"} {
		_, next, _, err := x.List(f.Context(), index.Filter{SortBy: by, Limit: 2})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(next)
		b, _ := base64.RawURLEncoding.DecodeString(next)
		f.Add(string(b))
	}
	f.Add(`{"by":"updated_at","i":"zz","t":-9223372036854775808}`)
	f.Add(`{"r":1e99,"p":"\u0000","f":true}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, cursor := range []string{text, base64.RawURLEncoding.EncodeToString([]byte(text))} {
			for _, by := range []string{"updated_at", "created_at", "title"} {
				for _, asc := range []bool{false, true} {
					rows, _, total, err := x.List(t.Context(), index.Filter{SortBy: by, Asc: asc, Cursor: cursor})
					if err != nil && !errors.Is(err, fold.ErrInvalid) || err == nil && (total != 10 || len(rows) > 10) {
						t.Errorf("List by %s with cursor %q: %d of %d, %v", by, cursor, len(rows), total, err)
					}
				}
			}
			if _, _, err := x.ProblemsAfter(t.Context(), cursor, 10); err != nil && !errors.Is(err, fold.ErrInvalid) {
				t.Errorf("ProblemsAfter(%q): %v", cursor, err)
			}
		}
	})
}
