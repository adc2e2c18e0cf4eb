package gitops

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/go-git/go-git/v5/plumbing"
)

// refRemote is the newest commit of the remote's branch that we have seen and
// hold.
const refRemote = "refs/foldwatch/remote"

// A transport speaks to the one remote. It reads and writes its branch
// foldwatch and nothing else of it. Errors are *SyncError.
type transport interface {
	// tip returns the commit the branch names; zero if there is no branch.
	tip(ctx context.Context) (plumbing.Hash, error)
	// fetch brings what the branch holds into the object store and returns its
	// tip; zero if there is no branch. It moves no reference.
	fetch(ctx context.Context) (plumbing.Hash, error)
	// push moves the branch from was (zero: there is none) to is, which is was
	// or a descendant of it. It returns a SyncLost error if the branch is not
	// at was any more.
	push(ctx context.Context, was, is plumbing.Hash) error
}

// transport returns how to speak to the remote: by the user's git program, with
// the user's agent, helpers and ssh configuration (G15).
func (s *Store) transport(opt SyncOptions) (transport, address, error) {
	a, err := parseAddress(opt, s.foldBase())
	if err != nil {
		return nil, a, err
	}
	if err := s.obj.CheckOwn(); errors.Is(err, fold.ErrForbidden) {
		return nil, a, &SyncError{Kind: SyncRefused, Err: err}
	} else if err != nil {
		return nil, a, err
	}
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = maxReceived
	}
	if opt.Timeout <= 0 {
		opt.Timeout = transferLimit
	}
	exe, err := exec.LookPath("git")
	if err != nil {
		return nil, a, syncError(SyncRefused, a.host, "install git", "git is not on the PATH")
	}
	return &gitProgram{exe: exe, obj: s.obj, at: a, opt: opt, ssh: s.sshCommand}, a, nil
}

// foldBase is where a path that is not absolute begins.
func (s *Store) foldBase() string {
	if s.l.MainTree != "" {
		return s.l.MainTree
	}
	return filepath.Clean(s.l.CommonDir)
}
