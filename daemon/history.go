package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/gitops/history"
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

func commitInfo(r history.Revision) wire.CommitInfo {
	c := wire.CommitInfo{Rev: r.Oid, Time: r.Time, Message: r.Subject, Author: r.Author, From: r.From, Writers: r.Writers}
	for _, p := range r.Paths {
		c.Paths = append(c.Paths, p.Path)
		if id, ok := fold.OwnPath(p.Path); ok {
			c.IDs = append(c.IDs, string(id))
		}
	}
	return c
}

// pathOf returns where the file of the memory that s means lies or lay.
func (st *stores) pathOf(ctx context.Context, s string) (string, error) {
	id, err := st.recall.Resolve(ctx, s)
	if errors.Is(err, fold.ErrNotFound) {
		id, err = st.deletedCalled(ctx, s, err)
	}
	if err != nil {
		return "", err
	}
	row, err := st.index.Memory(ctx, id)
	if err == nil && row.Path != "" {
		return row.Path, nil
	}
	if err != nil && !errors.Is(err, fold.ErrNotFound) {
		return "", err
	}
	return id.Path(), nil // also that of a memory which is gone
}

// lostPath is pathOf of a memory that is to be restored: where one that is lost lay.
func (st *stores) lostPath(ctx context.Context, in wire.Restore) (string, error) {
	if in.At == "" {
		for _, l := range st.store.Lost() {
			if in.ID != "" && (strings.EqualFold(string(l.ID), in.ID) || l.Path == in.ID) {
				return l.Path, nil
			}
		}
	}
	return st.pathOf(ctx, in.ID)
}

// deletedCalled returns the one memory that is deleted and whose id begins with s, or
// notFound. It returns an ErrInvalid that names them if there are several.
func (st *stores) deletedCalled(ctx context.Context, s string, notFound error) (fold.ID, error) {
	store := st.store
	ids, err := store.History().Called(ctx, strings.ToLower(strings.TrimSpace(s)))
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", notFound
	case len(ids) == 1:
		return ids[0], nil
	}
	return "", recall.Ambiguous(s, ids, func(id fold.ID) string {
		b, _, err := store.History().LastBlob(ctx, id.Path())
		if err != nil {
			return ""
		}
		m, err := fold.Decode("", id.Path(), b)
		if err != nil {
			return ""
		}
		return m.Title
	})
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
