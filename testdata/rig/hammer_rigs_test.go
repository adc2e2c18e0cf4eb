//go:build accept

package rig

import (
	"slices"
	"testing"
	"time"
)

// TestHammerRigs: the hammer is run against programs with one fault each, and
// must find it.
func TestHammerRigs(t *testing.T) {
	sidecar := hammerOptions{agents: 2, replicas: 1, limit: 12 * time.Second, steps: 2000, seed: 3}
	vanishing, tracked, racing := sidecar, sidecar, sidecar
	vanishing.vanish = true
	tracked.tracked, tracked.limit = true, 25*time.Second
	racing.tracked, racing.race, racing.limit = true, true, 25*time.Second
	for _, tc := range []struct {
		name string
		opt  hammerOptions
		kind string // of the faults that must be found
	}{
		{
			// Memories that vanish together are taken for deleted, and nobody notices.
			name: "no vanish guard", opt: vanishing, kind: lost,
		},
		{
			// A commit of ours is followed by one on the user's branch, of whatever
			// is staged there, without a look at what the user is doing.
			name: "commits onto the user's branch", opt: sidecar, kind: otherway,
		},
		{
			// What is committed into the journal is staged, too.
			name: "stages memories", opt: tracked, kind: written,
		},
		{
			// Writes are acknowledged that only the working file has.
			name: "no wal", opt: tracked, kind: lost,
		},
		{
			// What git took away is in the journal, and nobody is told.
			name: "nothing remembered", opt: racing, kind: unlisted,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := hammered(t, tc.opt, newMachine(t).seeded(tc.name))
			i := slices.IndexFunc(h.faults, func(f fault) bool { return f.kind == tc.kind })
			if i < 0 {
				t.Fatalf("no fault of the kind %q is found, but: %v", tc.kind, h.faults)
			}
			t.Logf("found %d faults, such as: %s", len(h.faults), h.faults[i].text)
		})
	}
}
