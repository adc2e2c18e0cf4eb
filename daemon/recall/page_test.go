package recall

import (
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestCursorsCountPlaces: the next page begins behind what this one looked at, whether
// or not there was anything to show.
func TestCursorsCountPlaces(t *testing.T) {
	t.Parallel()
	page := ranking(2, 4) // of 10; at checkouts 0, 1, 0, 1
	of := func(places ...int) []map[fold.ID]wire.SearchResult {
		shown := []map[fold.ID]wire.SearchResult{{}, {}}
		for _, n := range places {
			door, id := splitProjectID(page[n].ID)
			shown[door][id] = wire.SearchResult{ID: string(id)}
		}
		return shown
	}
	away := of(0, 2)
	away[1] = nil
	for name, tc := range map[string]struct {
		shown  []map[fold.ID]wire.SearchResult
		stored bool
		gone   int
		next   int // offset, from 3
	}{
		"all shown":                   {of(0, 1, 2, 3), true, 0, 7},
		"one gone":                    {of(0, 1, 3), true, 1, 6},
		"one gone, ranked anew":       {of(0, 1, 3), false, 1, 7},
		"all gone":                    {of(), true, 4, 3}, // there are others at these places now
		"all gone, ranked anew":       {of(), false, 4, 7},
		"a door away":                 {away, true, 0, 7},
		"a door away, anew":           {away, false, 0, 7},
		"all checkouts away, at last": {make([]map[fold.ID]wire.SearchResult, 2), true, 0, 7},
	} {
		c, reply := wire.SearchCursor{Offset: 3, At: time.UnixMilli(1)}, wire.SearchReply{}
		gone := missingFrom(page, tc.shown)
		finishPage(&reply, c, addResults(&reply, page, tc.shown, tc.stored), 10, 0)
		next, err := wire.ParseSearchCursor(reply.NextCursor)
		if err != nil || len(gone) != tc.gone || next.Offset != tc.next {
			t.Errorf("%s: %d are gone, the next page begins at %d, %v; want %d, %d", name, len(gone), next.Offset, err, tc.gone, tc.next)
		}
	}
}
