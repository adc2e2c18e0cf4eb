package repos

import (
	"context"
	"sync"

	"github.com/foldwatch/foldwatch/gitops/upstream"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// A defaultBranch knows the default branch of a repository, and how many commits the
// remote's has beyond it. It is safe for concurrent use.
type defaultBranch struct {
	mu     sync.Mutex    // guards the fields below; held while git is asked
	of     *usergit.Repo // what branch is of; nil before
	branch *usergit.Branch
	local  string // what was compared last
	remote string
	apart  int
}

// at returns the name of the branch and its tip, "" where there is none.
func (b *defaultBranch) at(ctx context.Context, l *usergit.Repo) (name, tip string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of != l {
		b.of, b.branch = l, l.NewBranch()
	}
	return b.branch.Default(ctx)
}

// ahead returns how many commits remote has that local lacks.
func (b *defaultBranch) ahead(ctx context.Context, local string, remote upstream.Branch) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.local != local || b.remote != remote.Tip {
		_, n, err := remote.Repo.Apart(ctx, local, remote.Tip)
		if err != nil {
			return 0, err
		}
		b.local, b.remote, b.apart = local, remote.Tip, n
	}
	return b.apart, nil
}

// FoldBranch is the branch of the remote that a round syncs.
const FoldBranch = "foldwatch"
