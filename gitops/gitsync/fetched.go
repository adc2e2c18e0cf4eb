package gitsync

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A clone brings the branch foldwatch of its remote along. Memories are taken from
// there without a word to anybody: nothing is fetched, and nothing published.

// A fetchedTransport reads the branch that the user's own fetches have brought.
type fetchedTransport struct {
	l   *usergit.Repo
	ref string            // refs/remotes/origin/foldwatch, say
	git *transport.Remote // which is told to fetch from the checkout
}

func (f *fetchedTransport) Tip(ctx context.Context) (plumbing.Hash, error) {
	line, err := f.l.Git("rev-parse", "--verify", "--quiet", f.ref+"^{commit}").Line(ctx)
	switch {
	case usergit.ExitCode(err) > 0:
		return plumbing.ZeroHash, nil
	case err != nil:
		return plumbing.ZeroHash, err
	case !plumbing.IsHash(line):
		return plumbing.ZeroHash, fmt.Errorf("%s is %.80q: %w", f.ref, line, fold.ErrInvalid)
	}
	return plumbing.NewHash(line), nil
}

func (f *fetchedTransport) Fetch(ctx context.Context) (plumbing.Hash, error) {
	tip, err := f.git.FetchRef(ctx, f.ref)
	return plumbing.NewHash(tip), err
}

func (f *fetchedTransport) Push(context.Context, plumbing.Hash, plumbing.Hash) error {
	return errors.New("nothing is published to a branch that was fetched")
}

// A Fetched says what TakeFetched took.
type Fetched struct {
	From  string   // the branch, as git shows it: origin/foldwatch
	Paths []string // the files below fold/ that were written, sorted
	Aside []SetAside
}

// TakeFetched takes the memories and their history from the branch foldwatch of a
// remote, as the user's own fetches have brought it into the repository: a fresh
// clone has it. It uses no network. It returns the zero Fetched if there is no such
// branch, and ErrConflict unless the journal is still empty or a crash interrupted
// an earlier call.
func (s *Syncer) TakeFetched(ctx context.Context) (out Fetched, err error) {
	if err := s.store.MaySync(); err != nil {
		return out, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("take memories from a fetched branch: %w", err)
		}
	}()
	ref, err := s.repo.FetchedBranch(ctx)
	if err != nil || ref == "" {
		return out, err
	}
	tip, err := s.store.Journal()
	if err != nil {
		return out, err
	}
	if !tip.IsZero() && !s.TakingFetched() {
		return out, fmt.Errorf("this checkout has a history of its own: %w", fold.ErrConflict)
	}
	if err := s.checkOwn(); err != nil {
		return out, err
	}
	git, err := transport.OpenCheckout(s.obj, s.repo.CommonDir, &s.ssh)
	if err != nil {
		return out, err
	}
	t := &fetchedTransport{l: s.repo, ref: ref, git: git}
	s.syncing.Lock()
	defer s.syncing.Unlock()
	if err := s.unguarded(ref); err != nil {
		return out, err
	}
	var got Synced
	r := &round{s: s, t: t, out: &got}
	if err := r.load(); err != nil {
		return out, err
	}
	r.notes.Taking = true
	if err := s.writeNotes(r.notes); err != nil {
		return out, err
	}
	err = r.run(ctx, 1)
	s.store.Changed(got.Paths)
	if err == nil {
		r.notes.Taking = false
		err = s.writeNotes(r.notes)
	}
	return Fetched{From: strings.TrimPrefix(ref, "refs/remotes/"), Paths: got.Paths, Aside: got.Aside}, err
}

// TakingFetched reports whether a call of TakeFetched was interrupted.
func (s *Syncer) TakingFetched() bool {
	n, err := s.readNotes()
	return err == nil && n.Taking && n.Remote == ""
}
