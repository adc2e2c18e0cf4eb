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
	const commits = "\tdefer s.commit.Unlock()\n\treturn s.recordAll(ctx, paths, message)\n" // in gitops/journal.go
	for _, tc := range []struct {
		name    string
		opt     hammerOptions
		kind    string // of the faults that must be found
		file    string
		changes []string
	}{
		{
			// Memories that vanish together are taken for deleted, and nobody notices.
			name: "no vanish guard", opt: vanishing, kind: lost, file: "gitops/guard.go",
			changes: []string{
				"func limit(n int) int { return max(10, n/20) }", "func limit(int) int { return 1 << 30 }",
				"func (s *Store) raiseGuard(reason string) {\n", "func (s *Store) raiseGuard(reason string) {\n\tif reason != \"\" {\n\t\treturn\n\t}\n",
			},
		},
		{
			// A commit of ours is followed by one on the user's branch, of whatever
			// is staged there, without a look at what the user is doing.
			name: "commits onto the user's branch", opt: sidecar, kind: otherway, file: "gitops/journal.go",
			changes: []string{
				commits, "\t_ = exec.Command(\"git\", \"-C\", s.l.WorkTree, \"commit\", \"-q\", \"--allow-empty\", \"-m\", \"fold: Index\").Run()\n" + commits,
				"\t\"io/fs\"\n", "\t\"io/fs\"\n\t\"os/exec\"\n",
			},
		},
		{
			// What is committed into the journal is staged, too.
			name: "stages memories", opt: tracked, kind: written, file: "gitops/journal.go",
			changes: []string{
				commits, "\t_ = exec.Command(\"git\", \"-C\", s.l.WorkTree, \"add\", \"fold\").Run()\n" + commits,
				"\t\"io/fs\"\n", "\t\"io/fs\"\n\t\"os/exec\"\n",
			},
		},
		{
			// Writes are acknowledged that only the working file has.
			name: "no wal", opt: tracked, kind: lost, file: "gitops/wal.go",
			changes: []string{
				"\tif len(entries) == 0 {\n\t\treturn nil\n\t}\n\tw.mu.Lock()\n",
				"\tw.mu.Lock()\n\tif true {\n\t\tdefer w.mu.Unlock()\n\t\tfor i := range entries {\n\t\t\tw.seq++\n\t\t\tentries[i].Seq = w.seq\n\t\t}\n\t\treturn nil\n\t}\n",
			},
		},
		{
			// What git took away is in the journal, and nobody is told.
			name: "nothing remembered", opt: racing, kind: unlisted, file: "gitops/pending.go",
			changes: []string{
				"done []uint64) error {\n\tif !s.opt.Tracked {\n", "done []uint64) error {\n\tif true {\n",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			h := hammered(t, tc.opt, newMachine(t).seeded(tc.file, tc.changes...))
			i := slices.IndexFunc(h.faults, func(f fault) bool { return f.kind == tc.kind })
			if i < 0 {
				t.Fatalf("no fault of the kind %q is found, but: %v", tc.kind, h.faults)
			}
			t.Logf("found %d faults, such as: %s", len(h.faults), h.faults[i].text)
		})
	}
}
