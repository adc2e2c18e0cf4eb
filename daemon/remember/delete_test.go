package remember_test

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A fullDisk takes no byte while it is set.
type fullDisk struct{ atomic.Bool }

func (f *fullDisk) Before(op disk.Op, _ string, size int) (int, error) {
	if f.Load() && op == disk.OpWrite {
		return 0, syscall.ENOSPC
	}
	return size, nil
}

// TestARefusedDeletionLeavesNoMark shows that only what was deleted counts as
// deleted by hand.
func TestARefusedDeletionLeavesNoMark(t *testing.T) {
	t.Parallel()
	var full fullDisk
	d, store := openDoor(t, &full)
	ctx, sc := t.Context(), fold.LocalScope()
	id := fold.FileID("app", "pool.go")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b := fold.Encode(&fold.Memory{
		ID: id, Path: id.Path(), Title: "Pool", Type: "codebase", Source: fold.SourceFile, FilePath: "pool.go",
		CreatedAt: at, UpdatedAt: at, Body: "# Pool\n",
	}, nil)
	if _, err := store.Put(ctx, gitops.Write{ID: id, New: b}); err != nil {
		t.Fatal(err)
	}
	marked := func() bool {
		gone, err := d.State.Gone(ctx, "app")
		if err != nil {
			t.Fatal(err)
		}
		return gone[id]
	}
	full.Store(true)
	if _, err := d.Delete(ctx, sc, id, ""); !errors.Is(err, fold.ErrUnavailable) {
		t.Fatalf("Delete = %v", err)
	}
	full.Store(false)
	if marked() {
		t.Error("a deletion that was refused is remembered")
	}
	if _, err := d.Delete(ctx, sc, id, ""); err != nil {
		t.Fatal(err)
	}
	if !marked() {
		t.Error("a deletion is not remembered")
	}
}
