//go:build accept

package rig

import (
	"fmt"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// search is goal 6c: both channels end to end, against
// an empty round trip.
func (b *bench) search(t *testing.T) {
	a := b.arena(t, "gosrc", func(m *machine) corpus { return m.goSource() })
	a.index("--file-memories", "local")
	a.rest()
	var search, ping spread
	for range 5 {
		for _, q := range queries(200) {
			search = append(search, timed(func() {
				if _, err := a.cl.Search(t.Context(), "gosrc", wire.SearchRequest{Query: q}); err != nil {
					t.Fatal(err)
				}
			}))
			ping = append(ping, timed(func() {
				if err := a.cl.Ping(t.Context()); err != nil {
					t.Fatal(err)
				}
			}))
		}
	}
	b.add(ratio("6c", fmt.Sprintf("search over the socket, p50 of %d", len(search)), search.at(.5), "empty round trip", ping.at(.5), "-"),
		ratio("6c", "search over the socket, p99", search.at(.99), "its own p50", search.at(.5), "-"))
}
