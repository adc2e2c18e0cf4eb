package checkout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const (
	archiveDaily = "daily" // of decay_archive
	archiveEvery = 24 * time.Hour
	archiveAgain = 10 * time.Minute // where memories are git's for now
	archiveMost  = 5000             // memories in one commit; the rest is for the next one
	fadedShown   = 1000
)

func (h *Lease) Decay(ctx context.Context, in wire.DecayRequest) (wire.DecayReply, error) {
	if in.Archive {
		// What a memory links to is kept: the index must know all links.
		if err := h.Checkout.Settled(ctx); err != nil {
			return wire.DecayReply{}, err
		}
	}
	found, err := h.Recall.Faded(ctx, in.Threshold)
	if err != nil {
		return wire.DecayReply{}, err
	}
	out := wire.DecayReply{
		Decayed: len(found.Items), Threshold: in.Threshold, Checked: found.Checked, Kept: found.Linked,
		Items: make([]wire.FadedMemory, 0, min(len(found.Items), fadedShown)),
	}
	for _, m := range found.Items[:min(len(found.Items), fadedShown)] {
		f := wire.FadedMemory{ID: string(m.ID), Title: m.Title, Type: m.Type, Strength: m.Strength, UpdatedAt: m.Stats.Updated, RetrievalCount: m.Access.Count}
		if last := m.Access.Last; !last.IsZero() {
			f.LastAccessed = &last
		}
		out.Items = append(out.Items, f)
	}
	if in.Archive && !in.DryRun {
		out.Rev, out.Deleted, err = h.archive(ctx, found.Items)
	}
	return out, err
}

// archive moves memories out of fold/: the history keeps them.
func (h *Lease) archive(ctx context.Context, faded []recall.FadedMemory) (rev string, n int, err error) {
	store := h.Store
	var ws []gitops.Write
	for _, m := range faded[:min(len(faded), archiveMost)] {
		b, err := store.Read(m.Path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fold.ErrNotFound) {
			continue // just deleted
		}
		if err != nil {
			return "", 0, err
		}
		ws = append(ws, gitops.Write{ID: m.ID, Path: m.Path, Base: b})
	}
	if len(ws) == 0 {
		return "", 0, nil
	}
	subject := fmt.Sprintf("fold: Archive %d memories that have faded", len(ws))
	if len(ws) == 1 {
		subject = "fold: Archive a memory that has faded"
	}
	rev, done, _, err := store.PutAs(ctx, ws, subject)
	return rev, len(done), err
}

// archiveDaily archives what has faded soon after each start, since many machines
// are never on for a day, and then each day.
func (t turn) archiveDaily(ctx context.Context) error {
	for {
		next := archiveEvery
		switch err := t.archiveFaded(ctx); {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, fold.ErrUnavailable):
			next = archiveAgain
			t.Log.DebugContext(ctx, "Faded memories are archived later", "err", err)
		default:
			t.Log.WarnContext(ctx, "Faded memories not archived", "err", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(next):
		}
	}
}

func (t turn) archiveFaded(ctx context.Context) error {
	if t.View().paused {
		return nil
	}
	h, err := t.Acquire(ctx)
	if err != nil {
		return err
	}
	defer h.Release()
	out, err := h.Decay(ctx, wire.DecayRequest{Archive: true, Threshold: rank.Faded})
	if out.Deleted > 0 {
		t.Log.InfoContext(ctx, "Faded memories archived", "memories", out.Deleted, "rev", out.Rev)
	}
	return err
}

// Back notes that somebody brought a memory back, or, with gone, let it go by
// taking something back. What is back is described again as ever, and is used: it
// has not faded.
func (co *Checkout) Back(ctx context.Context, id fold.ID, gone bool) error {
	state, slug := co.State, co.Record.Slug
	err := state.SetGone(ctx, slug, id, gone)
	if !gone {
		err = errors.Join(err, state.Touch(ctx, slug, id, co.Now()))
	}
	return err
}
