package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/checkout"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Log returns the history of all memories, or of one, newest first.
func (d *Daemon) Log(ctx context.Context, sc fold.Scope, slug, id string, limit int) (wire.LogReply, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.LogReply{}, err
	}
	defer st.Release()
	if limit <= 0 || limit > 1000 {
		limit = 50
	}
	path := ""
	if id != "" {
		if path, err = st.PathOf(ctx, id); err != nil {
			return wire.LogReply{}, err
		}
	}
	revs, err := st.Store.History().Log(ctx, path, limit)
	if err != nil {
		return wire.LogReply{}, err
	}
	reply := wire.LogReply{Items: make([]wire.CommitInfo, 0, len(revs))}
	for _, r := range revs {
		reply.Items = append(reply.Items, checkout.CommitInfo(r))
	}
	return reply, nil
}

// Diff returns what changed in the memories since a revision.
func (d *Daemon) Diff(ctx context.Context, sc fold.Scope, slug, rev string) (wire.DiffReply, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.DiffReply{}, err
	}
	defer st.Release()
	text, from, to, err := st.Store.History().Diff(ctx, rev)
	if errors.Is(err, fold.ErrNotFound) || errors.Is(err, fold.ErrInvalid) {
		if path, perr := st.PathOf(ctx, rev); perr == nil {
			if id, own := fold.OwnPath(path); own {
				err = fold.WithHint(fmt.Errorf("%s is a memory, and no revision: %w", id, fold.ErrInvalid),
					fmt.Sprintf("its revisions: foldwatch log %s; what changed since one: foldwatch diff REV", id))
			}
		}
	}
	if err != nil {
		return wire.DiffReply{}, err
	}
	return wire.DiffReply{From: from, To: to, Diff: text}, nil
}

// Restore brings one memory back as it was: at a revision, or as the newest
// that differs from what is there.
func (d *Daemon) Restore(ctx context.Context, sc fold.Scope, slug string, in wire.Restore) (wire.WriteReply, error) {
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return wire.WriteReply{}, err
	}
	defer st.Release()
	path, err := st.LostPath(ctx, in)
	if err != nil {
		return wire.WriteReply{}, err
	}
	put, err := st.Writes.Restore(ctx, path, in.At)
	if err != nil {
		return wire.WriteReply{}, err
	}
	if id, ok := fold.OwnPath(path); ok {
		if err := st.Checkout.Back(ctx, id, false); err != nil {
			return wire.WriteReply{}, err
		}
	}
	reply := wire.WriteReply{ID: in.ID, Path: path, Project: slug, ContentHash: fold.ContentHash(put.Bytes), WriteState: wire.WriteState{Durable: true}}
	if m, err := fold.Decode(st.Checkout.Record.Slug, path, put.Bytes); err == nil {
		reply.ID, reply.Title = string(m.ID), m.Title
	}
	return st.Checkout.Answered(reply, nil)
}

// Lost lists the memories that were written in tracked mode and that git took away
// before they were committed (git.md T4).
func (d *Daemon) Lost(ctx context.Context, sc fold.Scope, slug string) (wire.LostList, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.LostList{}, err
	}
	defer st.Release()
	st.Checkout.FindLost(ctx, st.RepoHandle) // a stash that is dropped moves no HEAD, and nothing told of it
	list := wire.LostList{Items: []wire.LostMemory{}}
	for _, l := range st.Store.Lost() {
		item := wire.LostMemory{ID: string(l.ID), Path: l.Path, WrittenAt: l.At}
		if m, err := fold.Decode(st.Checkout.Record.Slug, l.Path, l.Bytes); err == nil {
			item.ID, item.Title = string(m.ID), m.Title
		}
		list.Items = append(list.Items, item)
	}
	return list, nil
}

// ForgetLost ends the matter of what is lost: the journal keeps it, and nothing tells of
// it any more.
func (d *Daemon) ForgetLost(ctx context.Context, sc fold.Scope, slug string) (wire.LostForgotten, error) {
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return wire.LostForgotten{}, err
	}
	defer st.Release()
	n, err := st.Store.ForgetLost(ctx)
	if err == nil {
		st.Checkout.Note(checkout.LostNotice, "")
	}
	return wire.LostForgotten{Count: n}, err
}
