package gitops

import (
	"context"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// ByCommitMost is how many new files one commit brings; of changed ones it is that part.
const (
	ByCommitMost = byCommitMost
	WeightSwap   = weightSwap
)

// ErrCrashed is what a step returns to leave all as a crash would.
var ErrCrashed = errCrashed

// RepackAbove is Repack with other limits, since 2,000 files take long to make.
func (s *Store) RepackAbove(ctx context.Context, loose, packs int) (bool, error) {
	return s.repack(ctx, loose, packs)
}

// LimitCommits makes commits take at most n files, since 10,000 take long to make.
func (s *Store) LimitCommits(n int) { s.perCommit = n }

// OnBranchStep has fn asked before each step of a commit onto the branch.
func (s *Store) OnBranchStep(fn func(step string) error) { s.onto.step = fn }

// TakeSteps are the steps of taking in what the remote's branch has, in order.
func TakeSteps() []string {
	return []string{"objects", "intent", "locked HEAD", "locked main", "locked index", "files", "reference", "index", "log", "stat", "synced"}
}

// BranchSteps are those steps, in order; the branch is main.
func BranchSteps() []string {
	return []string{"objects", "intent", "locked HEAD", "locked main", "locked index", "reference", "index", "log", "synced"}
}

// SpendPast has the time used up for which histories are looked through.
func (s *Store) SpendPast() {
	s.pastTime.mu.Lock()
	defer s.pastTime.mu.Unlock()
	s.pastTime.since, s.pastTime.used = time.Now(), pastAll
}

// AgeObjects has what commits onto the branch have read and made taken for more than
// is kept.
func (s *Store) AgeObjects() { s.onto.objects.kept.bytes = maxKept }

// ForgetOwnTrees forgets of it the trees that the journal has.
func (s *Store) ForgetOwnTrees() (n int) {
	for id := range s.onto.objects.kept.trees {
		if s.obj.holds(plumbing.Hash([]byte(id))) {
			delete(s.onto.objects.kept.trees, id)
			n++
		}
	}
	return n
}
