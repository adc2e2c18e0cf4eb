package gitops

import (
	"context"
	"errors"

	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// Above how many loose objects, or packs, the repository is repacked (G4).
const (
	maxLoose = 2000
	maxPacks = 40
)

// Repack puts loose objects into one pack when there are more than 2,000, and
// all packs into one when there are more than 40. It reports whether it did
// anything.
func (s *Store) Repack(ctx context.Context) (did bool, err error) {
	resume, ok := s.sync.Pause()
	if !ok {
		return false, nil
	}
	defer resume()
	return s.repack(ctx, maxLoose, maxPacks)
}

func (s *Store) repack(ctx context.Context, maxLoose, maxPacks int) (did bool, err error) {
	if err := s.lockCommit(); err != nil {
		return false, err
	}
	defer s.commit.Unlock()
	did, err = s.obj.Repack(ctx, maxLoose, maxPacks, runGit)
	if je, ok := errors.AsType[*objdb.JoinError](err); ok {
		s.log.WarnContext(ctx, "Packs not joined", "packs", je.Packs, "err", je.Err)
		return did, nil
	}
	return did, err
}

// runGit runs the git program in a repository of ours, with the clean environment of
// every call.
func runGit(ctx context.Context, dir string, args ...string) error {
	_, err := usergit.Call{Dir: dir, GitDir: dir, Args: args}.Output(ctx)
	return err
}
