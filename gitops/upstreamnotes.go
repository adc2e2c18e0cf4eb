package gitops

import (
	"context"
	"path/filepath"
	"time"
)

// upstreamFile is what is known of the branches of the remote. Without it the next
// sync asks once more than it had to.
const upstreamFile = "upstream.json"

// upstreamNotes is what is kept between syncs in branch mode.
type upstreamNotes struct {
	Remote   string                     `json:"remote"`           // address that the rest is of
	Branch   string                     `json:"branch,omitempty"` // that was synced last
	Branches map[string]*upstreamBranch `json:"branches,omitempty"`
}

// An upstreamBranch is what is known of one branch of the remote; names of commits
// are hex, "" is none.
type upstreamBranch struct {
	Seen string `json:"seen,omitempty"` // its tip, as it was seen last
	Base string `json:"base,omitempty"` // the last commit it had in common with the checkout's then
	// Offered is a commit whose push was begun and is not known to have failed: the
	// remote may have it, so that no other takes its place (B6).
	Offered string    `json:"offered,omitempty"`
	Pushed  time.Time `json:"pushed,omitzero"` // when it last took something from us
}

// of returns what is known of a branch.
func (n *upstreamNotes) of(branch string) *upstreamBranch {
	if n.Branches == nil {
		n.Branches = map[string]*upstreamBranch{}
	}
	if n.Branches[branch] == nil {
		n.Branches[branch] = &upstreamBranch{}
	}
	return n.Branches[branch]
}

func readUpstream(state string) (*upstreamNotes, error) {
	return readKept[upstreamNotes](state, upstreamFile)
}

func (n *upstreamNotes) write(state string) error { return writeKept(state, upstreamFile, n) }

// published reports whether the remote has, or may have, the commit that a draft
// begins with. The user's own references do not say so: none of them moves when we
// push (I4).
func (t *branchTarget) published(ctx context.Context, d *branchDraft) (bool, error) {
	n, err := readUpstream(t.l.StateDir())
	if err != nil {
		return false, err
	}
	b := n.Branches[d.pos.branch]
	if b == nil {
		return false, nil
	}
	at := d.pos.oid.String()
	switch {
	case at == b.Seen, at == b.Offered:
		return true, nil
	case b.Seen == "", d.head.parents[0].String() == b.Seen:
		return false, nil
	}
	dir := filepath.Join(t.l.StateDir(), upstreamName)
	_, err = call{dir: dir, gitDir: dir, args: []string{"merge-base", "--is-ancestor", at, b.Seen}}.output(ctx)
	// Without the repository, or the commit, in which the remote stood nothing is
	// known of it.
	return err == nil, nil
}
