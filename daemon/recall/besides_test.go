package recall

import (
	"fmt"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// TestBesidesFitThePage: however many memories only the remote has, a page is no longer
// than was asked for, and every memory that is here is on one.
func TestBesidesFitThePage(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rows, err := index.Open(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	memory := func(n int) *fold.Memory {
		id := fold.ID(fmt.Sprintf("%016x", n))
		at := time.Date(2026, 1, 1, 0, n%100, 0, 0, time.UTC)
		return &fold.Memory{ID: id, Title: "Memory " + string(id), Path: id.Path(), Source: fold.SourceAgent, CreatedAt: at, UpdatedAt: at}
	}
	var changes []index.Change
	for n := range 7 {
		changes = append(changes, index.Change{Memory: &index.Row{Memory: *memory(n)}})
	}
	if _, err := rows.Apply(ctx, changes); err != nil {
		t.Fatal(err)
	}
	var besides []*fold.Memory
	for n := range 30 {
		besides = append(besides, memory(1000+n))
	}
	d := New(Options{Index: rows})
	here, there := map[string]bool{}, 0
	for q := (wire.ListQuery{Limit: 4}); ; {
		list, err := d.ListBesides(ctx, q, besides)
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) > 4 || q.Cursor == "" && list.Total != 37 {
			t.Errorf("a page of %d, of %d, want at most 4 of 37", len(list.Items), list.Total)
		}
		for i, item := range list.Items {
			if i > 0 && item.UpdatedAt.After(list.Items[i-1].UpdatedAt) {
				t.Errorf("%s comes after %s", item.ID, list.Items[i-1].ID)
			}
			if item.Origin == wire.OriginRemote {
				there++
			} else {
				here[item.ID] = true
			}
		}
		if q.Cursor = list.NextCursor; q.Cursor == "" {
			break
		}
	}
	if len(here) != 7 || there != 2 {
		t.Errorf("%d are here and %d there, want 7 and 2", len(here), there)
	}
}
