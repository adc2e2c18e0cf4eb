package gitsync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// syncName is a file of what references cannot say. Without it the next sync
// asks the remote once more than it had to.
const syncName = "sync.json"

// syncNotes is what is kept between syncs.
type syncNotes struct {
	Remote string    `json:"remote"` // address that RefRemote is of
	Pushed time.Time `json:"pushed,omitzero"`
	// Held are files of our branch that did not become working files, and why:
	// they are looked at again by each sync.
	Held map[string]string `json:"held,omitempty"`
	// Back are files of ours that were not published, and why: the same.
	Back map[string]string `json:"back,omitempty"`
	// Intent is that of the sync that did not end; nil if there is none.
	Intent *intent `json:"begun,omitempty"`
	// Taking says that TakeFetched has begun and not ended.
	Taking bool `json:"taking,omitempty"`
}

// readNotes reads what writeNotes left; a file that is damaged, or none, is the zero value.
func (s *Syncer) readNotes() (*syncNotes, error) {
	b, err := os.ReadFile(filepath.Join(s.repo.StateDir(), syncName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", syncName, err)
	}
	n := &syncNotes{}
	if json.Unmarshal(b, n) != nil {
		n = &syncNotes{}
	}
	return n, nil
}

func (s *Syncer) writeNotes(n *syncNotes) error {
	b, err := json.Marshal(n)
	if err == nil {
		err = disk.WriteFile(filepath.Join(s.repo.StateDir(), syncName), b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", syncName, disk.Unavailable(err))
	}
	return nil
}

// noteContact remembers that the remote answered.
func (s *Syncer) noteContact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.contact = s.now()
}

// A State says how the store stands with its remote, as far as is known
// without asking it.
type State struct {
	Address   string    // of the remote that was synced with last; "" before the first
	RemoteTip string    // newest commit seen on its branch foldwatch; "" if none
	LocalTip  string    // of our own branch foldwatch
	Contact   time.Time // when it last answered; zero if it did not since the store was opened
	Pushed    time.Time // when it last took something from us
	// Unpushed counts the files in which the remote's branch differs from what
	// may be published of the journal.
	Unpushed int
	// Held are files of the remote that did not become working files, and why.
	Held map[string]string
	// Back are files of ours that the remote does not get, and why.
	Back map[string]string
}

// State returns how the store stands with its remote. It costs what has
// changed since the last sync.
func (s *Syncer) State(ctx context.Context) (State, error) {
	var st State
	tip, err := s.store.Journal()
	if err != nil {
		return st, err
	}
	n, err := s.readNotes()
	if err != nil {
		return st, err
	}
	refs := map[string]plumbing.Hash{RefRemote: {}, RefBranch: {}, RefSquashed: {}}
	for name := range refs {
		if refs[name], err = s.obj.Ref(name); err != nil {
			return st, err
		}
	}
	if n.Remote == "" {
		refs[RefRemote] = plumbing.ZeroHash
	}
	s.mu.Lock()
	st.Contact = s.contact
	s.mu.Unlock()
	st.Address, st.Pushed, st.Held, st.Back = n.Remote, n.Pushed, n.Held, n.Back
	st.RemoteTip, st.LocalTip = hashText(refs[RefRemote]), hashText(refs[RefBranch])
	st.Unpushed, err = s.unpushed(ctx, refs[RefRemote], refs[RefBranch], refs[RefSquashed], tip)
	return st, err
}

// unpushed counts the paths at which the remote differs from our branch and
// what the journal adds to it.
func (s *Syncer) unpushed(ctx context.Context, remote, branch, squashed, tip plumbing.Hash) (int, error) {
	theirs, err := s.obj.TreeOf(remote)
	if err != nil {
		return 0, err
	}
	ours, err := s.obj.TreeOf(branch)
	if err != nil {
		return 0, err
	}
	differ, err := s.changesFrom(ctx, theirs, ours)
	if err != nil {
		return 0, err
	}
	if squashed != tip {
		p, err := s.publishable(ctx, squashed, tip, ours)
		if err != nil {
			return 0, err
		}
		for path, blob := range p.blobs {
			have, err := s.obj.Lookup(theirs, path)
			if err != nil {
				return 0, err
			}
			if have == blob {
				delete(differ, path)
			} else {
				differ[path] = pathChange{was: have, is: blob}
			}
		}
	}
	return len(differ), nil
}
