package index_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

func TestStatementsSayWhoAndWhen(t *testing.T) {
	x := openIndex(t, t.TempDir())
	for n, m := range []fold.Memory{
		{Author: "Ann", Body: "Short."},
		{Author: "Bob", Body: strings.Repeat("Long. ", 9), OriginalDate: "2026-01-09"},
		{Body: "Short.", OriginalDate: "2026-01-09T10:00:00+02:00"},
		{Body: "Short.", OriginalDate: "some day"},
	} {
		m.ID, m.Source, m.CreatedAt, m.UpdatedAt = id(n), fold.SourceAgent, day(n+1), day(9)
		apply(t, x, index.Change{Memory: &index.Row{Memory: m, Described: "fold"}})
	}
	got, err := x.Statements(t.Context(), []fold.ID{id(0), id(1), id(2), id(3), id(7)}, 20)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range got {
		s.At = s.At.UTC()
		got[i] = s
	}
	nine := day(9).Truncate(24 * 3600e9)
	want := map[fold.ID]index.Statement{
		id(0): {Author: "Ann", At: day(1), Text: "Short."},
		id(1): {Author: "Bob", At: nine},
		id(2): {At: nine.Add(8 * 3600e9), Text: "Short."},
		id(3): {At: day(4), Text: "Short."},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Statements: -want +got %s", d)
	}
}
