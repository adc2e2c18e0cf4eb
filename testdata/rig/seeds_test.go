//go:build accept

package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A seed is a fault that is put into the program, to see that a rig finds it: changes of
// one file, pairs of what stands there once and what shall.
type seed struct {
	file    string
	changes []string
}

// seeds are the faults by name.
func seeds() map[string]seed {
	const commits = "\tdefer rc.commit.Unlock()\n\treturn rc.recordAll(ctx, paths, message)\n" // in gitops/journal.go
	return map[string]seed{
		"acknowledged too early": {"gitops/put.go", []string{
			"\t\tif err := s.wal.Append(one); err != nil {\n\t\t\treturn Put{}, err\n\t\t}\n\t\terr = apply(root, one[0])\n",
			"\t\tgo func(e wal.Entry) {\n\t\t\t<-s.seededDelay()\n\t\t\tif r, err := s.foldForWrite(); err == nil {\n\t\t\t\t_ = apply(r, e)\n\t\t\t\t_ = r.Close()\n\t\t\t}\n\t\t}(one[0])\n\t\terr = nil\n",
			"func (s *Store) putOne(w Write)",
			"func (s *Store) seededDelay() <-chan time.Time { return time.After(300 * time.Millisecond) }\n\nfunc (s *Store) putOne(w Write)",
			"\t\"strings\"\n", "\t\"strings\"\n\t\"time\"\n",
		}},
		"branch ahead of the files": {"gitops/gitsync/apply.go", []string{
			"\theld, err := r.apply(ctx, m, next)\n",
			"\tif err := s.obj.SetRef(RefBranch, next); err != nil {\n\t\treturn err\n\t}\n\t<-time.After(500 * time.Millisecond)\n\theld, err := r.apply(ctx, m, next)\n",
			"\t\"maps\"\n", "\t\"maps\"\n\t\"time\"\n",
		}},
		"words that are not fed again": {"daemon/ingest/text.go", []string{
			"\tconst part = 256\n", "\tif true {\n\t\treturn nil\n\t}\n\tconst part = 256\n",
		}},
		"no vanish guard": {"gitops/guard.go", []string{
			"func limit(n int) int { return max(10, n/20) }", "func limit(int) int { return 1 << 30 }",
			"func (v vanishGuard) raiseGuard(reason string) {\n", "func (v vanishGuard) raiseGuard(reason string) {\n\tif reason != \"\" {\n\t\treturn\n\t}\n",
		}},
		"commits onto the user's branch": {"gitops/journal.go", []string{
			commits, "\t_ = exec.Command(\"git\", \"-C\", rc.l.WorkTree, \"commit\", \"-q\", \"--allow-empty\", \"-m\", \"fold: Index\").Run()\n" + commits,
			"\t\"io/fs\"\n", "\t\"io/fs\"\n\t\"os/exec\"\n",
		}},
		"stages memories": {"gitops/journal.go", []string{
			commits, "\t_ = exec.Command(\"git\", \"-C\", rc.l.WorkTree, \"add\", \"fold\").Run()\n" + commits,
			"\t\"io/fs\"\n", "\t\"io/fs\"\n\t\"os/exec\"\n",
		}},
		"no wal": {"gitops/wal/log.go", []string{
			"\tif len(entries) == 0 {\n\t\treturn nil\n\t}\n\tw.mu.Lock()\n",
			"\tw.mu.Lock()\n\tif true {\n\t\tdefer w.mu.Unlock()\n\t\tfor i := range entries {\n\t\t\tw.seq++\n\t\t\tentries[i].Seq = w.seq\n\t\t}\n\t\treturn nil\n\t}\n",
		}},
		"nothing remembered": {"gitops/pending.go", []string{
			"changes []*change) error {\n\tif !t.opt.Tracked {\n", "changes []*change) error {\n\tif true {\n",
		}},
	}
}

// alter makes the changes in a text.
func alter(text string, pairs []string) (string, error) {
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(text, pairs[i]) != 1 {
			return "", fmt.Errorf("does not hold %q once: what is altered must follow the code", pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text, nil
}

// TestAcceptSeeds: the code has the places that the seeded faults change. To build and run
// those programs takes minutes, so make crash and the test of the hammer's rigs do that.
func TestAcceptSeeds(t *testing.T) {
	for name, s := range seeds() {
		b, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(s.file)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := alter(string(b), s.changes); err != nil {
			t.Errorf("%s: %s %v", name, s.file, err)
		}
	}
}
