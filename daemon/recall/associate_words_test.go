package recall

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// TestLinksAreLookedForAgainWhenWordsCome: the text index follows the index of rows, and
// who looks in between finds nothing alike, for then.
func TestLinksAreLookedForAgainWhenWordsCome(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rows, err := index.Open(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	words, err := textindex.Open(t.TempDir(), textindex.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer words.Close()
	m := fold.Memory{ID: "00000000000000aa", Title: "Bearer claims", Body: "Claims of the bearer.", Path: "a/a/00000000000000aa.md", Source: fold.SourceAgent, CreatedAt: time.Now(), UpdatedAt: time.Now()}
	done, err := rows.Apply(ctx, []index.Change{{Memory: &index.Row{Memory: m}}})
	if err != nil {
		t.Fatal(err)
	}
	var compared atomic.Int64
	d := New(Options{Index: rows, Text: words, Compared: &compared})
	compare := func(want int64) {
		t.Helper()
		if _, err := d.similarities(ctx, m.ID); err != nil {
			t.Fatal(err)
		}
		if n := compared.Load(); n != want {
			t.Errorf("compared %d times, want %d", n, want)
		}
	}
	compare(1)
	compare(1)
	if err := words.Apply(ctx, done.Seq, nil, nil); err != nil {
		t.Fatal(err)
	}
	compare(2)
}
