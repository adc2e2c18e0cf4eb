package textindex

import (
	"fmt"
	"testing"
	"time"
)

// TestABurstDoesNotGatherInMemory: documents that are put faster than they are
// written wait for the disk, so that memory is bounded whatever their number.
func TestABurstDoesNotGatherInMemory(t *testing.T) {
	t.Parallel()
	x, err := Open(t.TempDir(), Options{Nap: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	const per = 2000
	most := 0
	for part := range 15 {
		docs := make([]Doc, per)
		for i := range docs {
			docs[i] = Doc{Key: fmt.Sprintf("m:%016x", part*per+i), Kind: Memory, Body: "a few words"}
		}
		if err := x.Apply(t.Context(), int64(part+1), docs, nil); err != nil {
			t.Fatal(err)
		}
		behind := 0
		for _, o := range x.unpersisted {
			behind += o.docs
		}
		most = max(most, behind)
	}
	if most > maxUnpersisted {
		t.Errorf("%d documents were in memory only, want at most %d", most, maxUnpersisted)
	}
	if n := x.Count(); n != 15*per {
		t.Errorf("Count = %d, want %d", n, 15*per)
	}
	if err := x.Flush(); err != nil {
		t.Error(err)
	}
}
