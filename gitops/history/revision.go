// Package history reads the commits that a store has made in its own repository, and
// those of the remote that it has fetched: the log, single versions of files, and what
// has changed between two commits. It writes nothing and runs no program. Every call
// reads objects from disk.
package history

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/foldwatch/foldwatch/gitops/objdb"
)

// maxPaths is how many paths a revision names.
const maxPaths = 200

// AppliedSubject is how the subject of a journal commit begins that holds what came from
// the remote.
const AppliedSubject = "fold: Take in "

// A Reader reads the history of one store. Safe for concurrent use.
type Reader struct {
	obj    *objdb.Repo
	tip    func() (plumbing.Hash, error)
	remote string
	newest atomic.Pointer[newest]
}

// New returns the reader of a repository. Tip returns the newest commit of the journal,
// zero before the first; remote is the reference of the remote's branch as it was last
// seen, which need not exist.
func New(obj *objdb.Repo, tip func() (plumbing.Hash, error), remote string) *Reader {
	return &Reader{obj: obj, tip: tip, remote: remote}
}

// Where a revision is from.
const (
	FromHere   = ""       // the journal: written in this checkout
	FromSync   = "sync"   // the journal: what a sync brought
	FromRemote = "remote" // the remote's branch: written on another machine
)

// A Revision is one commit of the journal, or of what came from the remote.
type Revision struct {
	Oid     string
	Time    time.Time // UTC
	Author  string
	Subject string
	Body    string       // ids, paths and trailers
	Paths   []PathChange // at most 200

	From    string   // FromHere, FromSync or FromRemote
	Writers []string // of FromSync: who wrote what came, as far as it is known; else empty or Author
}

// A PathChange is one file that a revision changes.
type PathChange struct {
	Status byte // A, M or D
	Path   string
}

// revision describes one commit; before is the tree of its parent.
func (r *Reader) revision(at plumbing.Hash, c *object.Commit, before plumbing.Hash) (Revision, error) {
	v := Revision{Oid: at.String(), Time: c.Committer.When.UTC(), Author: c.Author.Name}
	v.Subject, v.Body, _ = strings.Cut(c.Message, "\n")
	v.Body = strings.TrimSpace(v.Body)
	var err error
	v.Paths, err = r.pathChanges(before, c.TreeHash)
	return v, err
}

func (r *Reader) pathChanges(a, b plumbing.Hash) ([]PathChange, error) {
	var out []PathChange
	err := r.obj.Diff(a, b, func(path string, was, is plumbing.Hash) {
		p := PathChange{Status: 'M', Path: path}
		switch {
		case was.IsZero():
			p.Status = 'A'
		case is.IsZero():
			p.Status = 'D'
		}
		if len(out) < maxPaths {
			out = append(out, p)
		}
	})
	return out, err
}
