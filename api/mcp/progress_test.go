package mcp

import (
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

func TestStageText(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]wire.Progress{
		"listing":            {Stage: "listing"},
		"embedding: 1 of 10": {Stage: "embedding", Done: 1, Total: 10, ETASeconds: 0.4},
		"indexing text: 300 of 900, 3 of 9 MB, 1m1s left; searches find 256 so far": {
			Stage: "indexing text", Done: 300, Total: 900, Bytes: 3 << 20, BytesTotal: 9 << 20, ETASeconds: 61.2, Searchable: 256,
		},
	} {
		if got := stageText(p); got != want {
			t.Errorf("stageText(%+v) = %q, want %q", p, got, want)
		}
	}
}

// TestProgressOnlyGrows shows that stages, which begin at 0 each, are one count
// that grows with each notification, as the protocol asks.
func TestProgressOnlyGrows(t *testing.T) {
	t.Parallel()
	var c progress
	last, told := -1.0, 0
	for _, p := range []*wire.Progress{
		nil, nil,
		{Stage: "listing"},
		{Stage: "describing", Done: 5, Total: 20},
		{Stage: "describing", Done: 4, Total: 20},
		{Stage: "describing", Done: 20, Total: 20},
		{Stage: "indexing text", Total: 100},
		{Stage: "indexing text", Done: 60, Total: 100},
		{Stage: "indexing text", Done: 100, Total: 100},
	} {
		n := c.next(wire.Job{Status: "running", Progress: p})
		if n == nil {
			continue
		}
		told++
		if n.Progress <= last || n.Total > 0 && n.Progress > n.Total {
			t.Errorf("%v of %v after %v", n.Progress, n.Total, last)
		}
		last = n.Progress
	}
	if last != 120 || told != 5 {
		t.Errorf("told %d times, the last time %v; want 5 times, 120", told, last)
	}
}
