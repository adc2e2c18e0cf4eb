//go:build accept

package rig

import (
	"testing"
	"time"
)

// TestHammerRigs: the hammer is run against programs with one fault each, and
// must find it.
func TestHammerRigs(t *testing.T) {
	few := hammerOptions{replicas: 1, limit: 12 * time.Second, steps: 2000, seed: 3}
	for _, tc := range []struct {
		name, missed, file string
		opt                func(*hammerOptions)
		changes            []string
	}{
		{
			// Memories that vanish together are taken for deleted.
			name: "no vanish guard", missed: "memories that vanished are given up, and nobody notices",
			file: "gitops/guard.go", opt: func(o *hammerOptions) { o.vanish = true },
			changes: []string{
				"func limit(n int) int { return max(10, n/20) }", "func limit(int) int { return 1 << 30 }",
				"func (s *Store) raiseGuard(reason string) {\n", "func (s *Store) raiseGuard(reason string) {\n\tif reason != \"\" {\n\t\treturn\n\t}\n",
			},
		},
		{
			// A commit of ours is followed by one on the user's branch, of whatever
			// is staged there, without a look at what the user is doing.
			name: "commits onto the user's branch", missed: "a program that commits onto the user's branch goes unseen",
			file: "gitops/journal.go", opt: func(*hammerOptions) {},
			changes: []string{
				"\tdefer s.changed(late)\n\ts.commit.Lock()\n",
				"\tdefer s.changed(late)\n\t_ = exec.Command(\"git\", \"-C\", s.l.WorkTree, \"commit\", \"-q\", \"--allow-empty\", \"-m\", \"fold: Index\").Run()\n\ts.commit.Lock()\n",
				"\t\"io/fs\"\n", "\t\"io/fs\"\n\t\"os/exec\"\n",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opt := few
			tc.opt(&opt)
			bin := newMachine(t).seeded(tc.file, tc.changes...)
			h := hammered(t, opt, bin)
			if len(h.faults) == 0 {
				t.Fatal(tc.missed)
			}
			t.Logf("found %d faults, such as: %s", len(h.faults), h.faults[0].text)
		})
	}
}
