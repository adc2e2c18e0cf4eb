package gitops

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"
)

// An ownTransport speaks to the remote without a git program.
type ownTransport struct {
	obj *objects
	at  address
	opt SyncOptions
}

func (o *ownTransport) none() error {
	return syncError(SyncRefused, o.at.host, "install git and see that it is on the PATH", "there is no git program")
}

func (o *ownTransport) tip(context.Context) (plumbing.Hash, error) {
	return plumbing.ZeroHash, o.none()
}
func (o *ownTransport) fetch(context.Context) (plumbing.Hash, error) {
	return plumbing.ZeroHash, o.none()
}
func (o *ownTransport) push(context.Context, plumbing.Hash, plumbing.Hash) error {
	return o.none()
}
