package recall

import (
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
)

func TestPrimeLine(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		item wire.PrimeItem
		want string
	}{
		{wire.PrimeItem{ID: "a", Title: "T", Type: "fact", UpdatedAt: at, Text: "Other text"}, "- `a` **T** (fact, 2026-03-04): Other text\n"},
		{wire.PrimeItem{ID: "a", Title: "Say it", Type: "fact", UpdatedAt: at, Author: "Ada", Text: "Say it once."}, "- `a` **Say it** (fact, 2026-03-04, by Ada): once.\n"},
		{wire.PrimeItem{ID: "a", Title: "A long ti…", Type: "fact", UpdatedAt: at, Text: "A long title that is cut"}, "- `a` **A long ti…** (fact, 2026-03-04)\n"},
	} {
		if got := primeLine(tc.item); got != tc.want {
			t.Errorf("primeLine = %q, want %q", got, tc.want)
		}
	}
	if head := primeHead(wire.Prime{Project: "p", Notices: []string{"two\nlines\x1b"}}); !strings.Contains(head, "\nNote: two lines\n") {
		t.Errorf("primeHead = %q", head)
	}
}
