// Package commits makes the commits of foldwatch's own repositories: who they are by and
// what their messages say. It owns nothing but the user's identity as it was read last,
// and asks the git program for that at most once a minute.
package commits

import (
	"context"
	"path"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/foldwatch/foldwatch/gitops/objdb"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/shown"
)

// Name and Email are of the committer of our commits; their author is the user.
const (
	Name  = "foldwatch"
	Email = "foldwatch@localhost"
)

// A Writer adds commits to a repository of ours. All fields but Author are required.
// Safe for concurrent use.
type Writer struct {
	Objects *objdb.Repo
	Repo    *usergit.Repo // the user's, for their identity
	Slug    string        // of the project, for subjects; "" means the name of its folder
	Now     func() time.Time
	Author  func() (name, email string) // nil means the user's git identity

	mu  sync.Mutex // guards who
	who identity
}

// An identity is who commits are by, as git's configuration said at a time.
type identity struct {
	name, email string
	at          time.Time
}

// identityAge is for how long the user's identity is not read again.
const identityAge = time.Minute

// Put adds a commit to the batch of the repository and returns its name. A zero parent
// is none.
func (w *Writer) Put(tree, parent plumbing.Hash, message string) (plumbing.Hash, error) {
	now := w.Now().Truncate(time.Second)
	name, email := w.author()
	c := object.Commit{
		Author:    object.Signature{Name: name, Email: email, When: now},
		Committer: object.Signature{Name: Name, Email: Email, When: now},
		Message:   message,
		TreeHash:  tree,
	}
	if !parent.IsZero() {
		c.ParentHashes = []plumbing.Hash{parent}
	}
	obj := &plumbing.MemoryObject{}
	if err := c.Encode(obj); err != nil {
		return plumbing.ZeroHash, err
	}
	r, err := obj.Reader()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer r.Close()
	b := make([]byte, obj.Size())
	if _, err := r.Read(b); err != nil {
		return plumbing.ZeroHash, err
	}
	return w.Objects.Put(plumbing.CommitObject, b)
}

// Message returns the message of a commit; see [Message]. The subject is made up where
// none is given.
func (w *Writer) Message(subject string, files []Change) string {
	slug := w.Slug
	if slug == "" {
		slug = path.Base(w.Repo.WorkTree)
	}
	return Message(slug, shown.OneLine(subject), files)
}

// author returns who the user is, in a form a commit can hold.
func (w *Writer) author() (name, email string) {
	if w.Author != nil {
		name, email = w.Author()
	} else {
		name, email = w.identity()
	}
	name, email = plainName(name), plainName(email)
	if name == "" {
		name = Name
	}
	if email == "" {
		email = Email
	}
	return name, email
}

// identity returns the user's git identity.
func (w *Writer) identity() (name, email string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.Now(); w.who.at.IsZero() || now.Sub(w.who.at) > identityAge || now.Before(w.who.at) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		w.who.name, w.who.email = w.Repo.Identity(ctx)
		w.who.at = now
	}
	return w.who.name, w.who.email
}
