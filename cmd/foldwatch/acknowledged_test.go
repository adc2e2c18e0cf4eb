package main

import (
	"fmt"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// TestAcknowledgedIsFoundAfterAKill kills the daemon as soon as it has acknowledged a
// write. The first search of its next life finds it.
func TestAcknowledgedIsFoundAfterAKill(t *testing.T) {
	t.Parallel()
	k := newKennel(t, 1)
	l := k.serve()
	l.add("local")
	l.done()
	for i := range fulltest.Pick(3, 20) {
		word := fmt.Sprintf("zorilla%dx", i)
		w, err := l.AddMemory(t.Context(), "app", wire.MemoryCreate{Title: "Told " + word, Content: "The " + word + " digs."})
		if err != nil {
			t.Fatal(err)
		}
		l.kill()
		l = k.serve()
		r, err := l.Search(t.Context(), "app", wire.SearchRequest{Query: word})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Results) == 0 || r.Results[0].ID != w.ID || len(r.NotFound) > 0 {
			t.Errorf("write %d is not found by the first search after the kill: %+v", i, r)
		}
	}
}
