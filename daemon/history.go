package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Log returns the history of all memories, or of one, newest first.
func (d *Daemon) Log(ctx context.Context, sc fold.Scope, slug, id string, limit int) (wire.LogReply, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.LogReply{}, err
	}
	defer st.letGo()
	if limit <= 0 || limit > 1000 {
		limit = 50
	}
	path := ""
	if id != "" {
		if path, err = st.pathOf(ctx, id); err != nil {
			return wire.LogReply{}, err
		}
	}
	revs, err := st.store.History().Log(ctx, path, limit)
	if err != nil {
		return wire.LogReply{}, err
	}
	reply := wire.LogReply{Items: make([]wire.CommitInfo, 0, len(revs))}
	for _, r := range revs {
		reply.Items = append(reply.Items, commitInfo(r))
	}
	return reply, nil
}

// Diff returns what changed in the memories since a revision.
func (d *Daemon) Diff(ctx context.Context, sc fold.Scope, slug, rev string) (wire.DiffReply, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.DiffReply{}, err
	}
	defer st.letGo()
	text, from, to, err := st.store.History().Diff(ctx, rev)
	if errors.Is(err, fold.ErrNotFound) || errors.Is(err, fold.ErrInvalid) {
		if path, perr := st.pathOf(ctx, rev); perr == nil {
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
	defer st.letGo()
	path, err := st.lostPath(ctx, in)
	if err != nil {
		return wire.WriteReply{}, err
	}
	put, err := st.door().Restore(ctx, path, in.At)
	if err != nil {
		return wire.WriteReply{}, err
	}
	if id, ok := fold.OwnPath(path); ok {
		if err := st.co.back(ctx, id, false); err != nil {
			return wire.WriteReply{}, err
		}
	}
	reply := wire.WriteReply{ID: in.ID, Path: path, Project: slug, ContentHash: fold.ContentHash(put.Bytes), WriteState: wire.WriteState{Durable: true}}
	if m, err := fold.Decode(st.co.rec.Slug, path, put.Bytes); err == nil {
		reply.ID, reply.Title = string(m.ID), m.Title
	}
	return st.co.answered(reply, nil)
}

// Lost lists the memories that were written in tracked mode and that git took away
// before they were committed (git.md T4).
func (d *Daemon) Lost(ctx context.Context, sc fold.Scope, slug string) (wire.LostList, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.LostList{}, err
	}
	defer st.letGo()
	st.co.findLost(ctx, st.repoHandle) // a stash that is dropped moves no HEAD, and nothing told of it
	list := wire.LostList{Items: []wire.LostMemory{}}
	for _, l := range st.store.Lost() {
		item := wire.LostMemory{ID: string(l.ID), Path: l.Path, WrittenAt: l.At}
		if m, err := fold.Decode(st.co.rec.Slug, l.Path, l.Bytes); err == nil {
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
	defer st.letGo()
	n, err := st.store.ForgetLost(ctx)
	if err == nil {
		st.co.note(lostNotice, "")
	}
	return wire.LostForgotten{Count: n}, err
}
