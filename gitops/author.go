package gitops

import (
	"context"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// committer is who makes our commits; their author is the user.
const (
	committerName  = "foldwatch"
	committerEmail = "foldwatch@localhost"
)

// putCommit adds a commit to the batch.
func (s *Store) putCommit(tree, parent plumbing.Hash, message string) (plumbing.Hash, error) {
	now := s.opt.Now().Truncate(time.Second)
	name, email := s.author()
	c := object.Commit{
		Author:    object.Signature{Name: name, Email: email, When: now},
		Committer: object.Signature{Name: committerName, Email: committerEmail, When: now},
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
	return s.obj.Put(plumbing.CommitObject, b)
}

// author returns who the user is, in a form a commit can hold.
func (s *Store) author() (name, email string) {
	if s.opt.Author != nil {
		name, email = s.opt.Author()
	} else {
		name, email = s.identity()
	}
	name, email = plainName(name), plainName(email)
	if name == "" {
		name = committerName
	}
	if email == "" {
		email = committerEmail
	}
	return name, email
}

// identityAge is for how long the user's identity is not read again.
const identityAge = time.Minute

// identity returns the user's git identity; the caller holds commit.
func (s *Store) identity() (name, email string) {
	if now := s.opt.Now(); s.who.at.IsZero() || now.Sub(s.who.at) > identityAge || now.Before(s.who.at) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		s.who.name, s.who.email = s.l.Identity(ctx)
		s.who.at = now
	}
	return s.who.name, s.who.email
}

// An identity is who commits are by, as git's configuration said at a time.
type identity struct {
	name, email string
	at          time.Time
}
