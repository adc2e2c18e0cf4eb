package apitest

import (
	"context"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// repository is that of the project's only checkout.
func (h *held) repository() wire.Repository {
	co := h.project.Checkouts[0]
	r := wire.Repository{ID: co.Key, Path: co.Path, Kind: "none", Branch: "foldwatch", Sync: "off"}
	if h.remote != "" {
		r.Kind, r.Remote, r.Sync = "git", h.remote, "on"
	}
	return r
}

// Repositories lists the one remote.
func (d *Fake) Repositories(_ context.Context, sc fold.Scope, slug string) (wire.RepositoryList, error) {
	h, unlock, err := d.open("Repositories", sc, slug)
	defer unlock()
	if err != nil {
		return wire.RepositoryList{}, err
	}
	return wire.RepositoryList{Items: []wire.Repository{h.repository()}}, nil
}

// AddRepository turns sync on.
func (d *Fake) AddRepository(_ context.Context, sc fold.Scope, slug string, in wire.RepositoryCreate) (wire.RepositoryAdded, error) {
	h, unlock, err := d.open("AddRepository", sc, slug)
	defer unlock()
	if err != nil {
		return wire.RepositoryAdded{}, err
	}
	if strings.HasPrefix(in.Remote, "/") && !sc.Local {
		return wire.RepositoryAdded{}, fmt.Errorf("remote %q: a path can be given on this machine only: %w", in.Remote, fold.ErrForbidden)
	}
	h.remote = in.Remote
	if h.remote == "" {
		h.remote = "https://example.com/" + slug + ".git"
	}
	return wire.RepositoryAdded{Repository: h.repository(), Project: slug, Sends: "memories go to " + h.remote}, nil
}

// RemoveRepository turns sync off.
func (d *Fake) RemoveRepository(_ context.Context, sc fold.Scope, slug, id string) error {
	h, unlock, err := d.open("RemoveRepository", sc, slug)
	defer unlock()
	if err != nil {
		return err
	}
	if id != h.project.Checkouts[0].Key {
		return fmt.Errorf("repository %q: %w", id, fold.ErrNotFound)
	}
	h.remote = ""
	return nil
}

// Sync has nothing to do.
func (d *Fake) Sync(_ context.Context, sc fold.Scope, slug, id string, _ wire.SyncRequest) (wire.SyncReply, error) {
	h, unlock, err := d.open("Sync", sc, slug)
	defer unlock()
	switch {
	case err != nil:
		return wire.SyncReply{}, err
	case id != h.project.Checkouts[0].Key:
		return wire.SyncReply{}, fmt.Errorf("repository %q: %w", id, fold.ErrNotFound)
	case h.remote == "":
		return wire.SyncReply{}, fmt.Errorf("sync is off: %w", fold.WithHint(fold.ErrInvalid, "foldwatch sync on"))
	}
	return wire.SyncReply{Project: slug, Remote: h.remote}, nil
}
