package gitsync

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// SyncOptions say with whom to sync, and how. Remote is required.
type SyncOptions struct {
	// Remote is the address as the user registered it; credentials in it are
	// dropped.
	Remote string
	// Local allows file:// and paths, PlainHTTP http:// to other machines than
	// this one: only where the user registered that on this machine (G15).
	Local     bool
	PlainHTTP bool
	// Publish allows to push now. Without it what the remote has new is merged
	// here, and the merge is pushed by the next sync that may.
	Publish bool
	// Resync goes on where the remote's branch was rewritten or deleted, by the
	// last commit that both have (G14).
	Resync bool

	// MaxBytes bounds what one fetch may bring. Zero means 512 MB.
	MaxBytes int64
	// Timeout ends a fetch or push that takes longer. Zero means 10 minutes.
	Timeout time.Duration
	// Rand makes the pauses between tries, in [0, 1). Nil means math/rand.
	Rand func() float64
	// Step is told before each step, by name, for tests that stop there. Nil is
	// fine.
	Step func(step string) error
}

// A Synced says what one call of Sync came to.
type Synced struct {
	Fetched bool   // the remote had something new
	Pushed  bool   // the remote has taken something from us
	Sent    int    // the files that this changed there
	Remote  string // the tip of the remote's branch; "" if it has none
	Local   string // the tip of ours
	// Paths are the files below fold/ that were written or deleted, sorted.
	Paths []string
	// Merged counts the memories that both sides had changed, Conflicts those of
	// them of which something is kept in a callout or in history only.
	Merged, Conflicts int
	// Aside are files that did not enter, on either side, and why.
	Aside []SetAside
	// Project is the project file where the sync changed it. If its slug is not
	// that of the store, file memories are to be described again under it
	// (G19), and the store opened with it.
	Project *conf.Project
	// Joined says that nothing but the project file was taken: it is the first
	// sync with a remote that calls the project by another slug. Sync again
	// once the store is open with that slug.
	Joined bool
}

// syncTries is how often a lost race is run again at once (G13).
const syncTries = 5

// Sync brings the branch foldwatch of the remote and ours together: fetch, merge
// in the object store, push the merge as one commit on the remote's tip, then
// change the working files, the journal, and last our references. A crash
// leaves the replica behind and never ahead; the next call goes on from what
// the references say, and what this one has noted of its intent (G11 to G14). Where nothing is new it costs one run of the
// git program and writes nothing. Errors that end a sync are *transport.Error. One
// call runs at a time.
func (s *Syncer) Sync(ctx context.Context, opt SyncOptions) (out Synced, err error) {
	if err := s.store.MaySync(); err != nil {
		return out, err
	}
	t, err := s.dial(opt)
	if err != nil {
		return out, err
	}
	if opt.Rand == nil {
		opt.Rand = rand.Float64
	}
	s.syncing.Lock()
	defer s.syncing.Unlock()
	if err := s.unguarded(t.Host()); err != nil {
		return out, err
	}
	r := &round{s: s, t: t, host: t.Host(), address: t.Address(), opt: opt, out: &out}
	if err := r.load(); err != nil {
		return out, err
	}
	defer func() { s.store.Changed(out.Paths) }()
	for try := 1; ; try++ {
		err := r.run(ctx, try)
		if lost, ok := errors.AsType[*transport.Error](err); !ok || lost.Kind != transport.Lost {
			return out, err
		} else if try == syncTries {
			lost.Err = fold.WithHint(lost.Err, transport.Lost.Hint(r.host))
			return out, lost
		}
		pause := 50*time.Millisecond + time.Duration(opt.Rand()*float64(450*time.Millisecond))
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// RemoteTip asks the remote for the tip of its branch; "" if there is none. It
// is the poll: one question, nothing fetched, nothing written.
func (s *Syncer) RemoteTip(ctx context.Context, opt SyncOptions) (string, error) {
	if err := s.store.MaySync(); err != nil {
		return "", err
	}
	t, err := s.dial(opt)
	if err != nil {
		return "", err
	}
	h, err := t.Tip(ctx)
	if err != nil || h.IsZero() {
		return "", err
	}
	return h.String(), nil
}

func (r *round) run(ctx context.Context, try int) (err error) {
	s := r.s
	unlock, err := s.store.Lock()
	if err != nil {
		return err
	}
	r.branch, r.from, err = s.squash(ctx)
	unlock()
	if err != nil {
		return err
	}
	tip, err := r.remoteTip(ctx, try)
	if err != nil {
		return err
	}
	r.out.Remote, r.out.Local = hashText(tip), hashText(r.branch)
	if tip == r.branch && len(r.notes.Held)+len(r.notes.Back) == 0 {
		return r.saw(tip)
	}
	onto := tip
	if tip.IsZero() {
		// What was published once is published again where it was deleted, so
		// that others can go on; else the first commit there begins a history:
		// that of this machine is nobody's business.
		onto = r.lost
	}
	base, err := s.obj.MergeBase(ctx, r.branch, onto)
	if err != nil {
		return err
	}
	if joined, err := r.join(ctx, base, onto); joined || err != nil {
		return err
	}
	next, m, err := r.merge(ctx, base, onto)
	if err != nil {
		return err
	}
	push := next != tip && r.opt.Publish
	if push || len(m.take) > 0 {
		if err := r.begin(onto, next); err != nil {
			return err
		}
	}
	if push {
		if err := r.push(ctx, tip, next); err != nil {
			return err
		}
	}
	if r.out.Pushed {
		if r.out.Sent, err = r.sent(ctx, onto, next); err != nil {
			return err
		}
	}
	r.out.Merged, r.out.Conflicts = r.out.Merged+m.merged, r.out.Conflicts+m.conflicts
	return r.finish(ctx, m, next)
}

// merge merges the remote's tip with our branch and returns the commit both are
// to stand at.
func (r *round) merge(ctx context.Context, base, tip plumbing.Hash) (next plumbing.Hash, m *merging, err error) {
	if err := r.step("merge"); err != nil {
		return next, nil, err
	}
	s := r.s
	var trees [3]plumbing.Hash
	for i, h := range []plumbing.Hash{base, r.branch, tip} {
		if trees[i], err = s.obj.TreeOf(h); err != nil {
			return next, nil, err
		}
	}
	again, err := r.heldBack(trees[1])
	if err != nil {
		return next, nil, err
	}
	if r.before, err = r.appliedBefore(ctx, base, tip); err != nil {
		return next, nil, err
	}
	if m, err = s.mergeTrees(ctx, trees[0], trees[1], trees[2], again, r.before); err != nil {
		if errors.Is(err, fold.ErrInvalid) {
			err = transport.Errorf(transport.Refused, r.host, "look at what the branch foldwatch of the remote holds", "merge: %v", err)
		}
		return next, nil, err
	}
	unlock, err := s.store.Lock()
	if err != nil {
		return next, nil, err
	}
	defer unlock()
	next, err = s.commitMerge(ctx, m, base, r.branch, tip)
	return next, m, err
}

// heldBack returns the files that earlier syncs held back and that the branch,
// whose tree is given, does not have as the journal does.
func (r *round) heldBack(branch plumbing.Hash) (map[string]plumbing.Hash, error) {
	if len(r.notes.Back) == 0 {
		return nil, nil
	}
	s := r.s
	journal, err := s.obj.TreeOf(r.from)
	if err != nil {
		return nil, err
	}
	out := map[string]plumbing.Hash{}
	for path := range r.notes.Back {
		is, err := s.obj.Lookup(journal, path)
		if err != nil {
			return nil, err
		}
		has, err := s.obj.Lookup(branch, path)
		if err != nil {
			return nil, err
		}
		unpublished, err := s.wasLocal(path, is)
		if err != nil {
			return nil, err
		}
		if is != has && !unpublished {
			out[path] = is
		}
	}
	return out, nil
}

// push moves the remote's branch to next.
func (r *round) push(ctx context.Context, tip, next plumbing.Hash) error {
	if err := r.unguarded(); err != nil {
		return err
	}
	if err := r.step("push"); err != nil {
		return err
	}
	if err := r.t.Push(ctx, tip, next); err != nil {
		return err
	}
	r.out.Pushed, r.out.Remote = true, next.String()
	r.notes.Pushed = r.s.now().UTC()
	if err := r.step("pushed"); err != nil {
		return err
	}
	return r.saw(next)
}

// sent counts the files in which two commits differ.
func (r *round) sent(ctx context.Context, was, is plumbing.Hash) (int, error) {
	a, err := r.s.obj.TreeOf(was)
	if err != nil {
		return 0, err
	}
	b, err := r.s.obj.TreeOf(is)
	if err != nil {
		return 0, err
	}
	files, err := r.s.changesFrom(ctx, a, b)
	return len(files), err
}

// dial returns the remote. See [Syncer.checkOwn] for what it refuses.
func (s *Syncer) dial(opt SyncOptions) (*transport.Remote, error) {
	if err := s.checkOwn(); err != nil {
		return nil, err
	}
	to := opt.Transport()
	to.Base, to.SSH = s.repo.Main(), &s.ssh
	return transport.Open(s.obj, to)
}

// checkOwn sees that the repository is as we left it, before git runs in it. It returns a
// *transport.Error if it is not.
func (s *Syncer) checkOwn() error {
	err := s.obj.CheckOwn()
	if errors.Is(err, fold.ErrForbidden) {
		return &transport.Error{Kind: transport.Refused, Err: err}
	}
	return err
}

// Transport is what a transport is told of the options.
func (o SyncOptions) Transport() transport.Options {
	return transport.Options{Address: o.Remote, Local: o.Local, PlainHTTP: o.PlainHTTP, MaxBytes: o.MaxBytes, Timeout: o.Timeout}
}

// CheckRemote returns the address of a remote without credentials, and its host, "" for
// a path. It returns a *transport.Error if that may not be synced with, and asks nobody.
func CheckRemote(opt SyncOptions) (address, host string, err error) {
	to := opt.Transport()
	to.Base = "/"
	return transport.CheckAddress(to)
}

// KnowsTip reports whether the remote's branch is known to have stood at a commit.
func (s *Syncer) KnowsTip(commit string) bool {
	tip, err := s.obj.Ref(RefRemote)
	return err == nil && hashText(tip) == commit
}

// OnRemote reports whether the remote's branch, as it was last seen, holds the bytes
// b at path below fold/.
func (s *Syncer) OnRemote(path string, b []byte) (bool, error) {
	tip, err := s.obj.Ref(RefRemote)
	if err != nil || tip.IsZero() {
		return false, err
	}
	tree, err := s.obj.TreeOf(tip)
	if err != nil {
		return false, err
	}
	have, err := s.obj.Lookup(tree, path)
	return err == nil && have == plumbing.ComputeHash(plumbing.BlobObject, b), err
}
