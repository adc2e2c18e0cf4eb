package checkout

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/foldwatch/foldwatch/daemon/evolve"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

const (
	// proposalsOpen is how many proposals of a project wait at most: nobody reviews
	// more, and what is left out is found again when there is room.
	proposalsOpen = 500
	// consolidateMost is how many memories one job compares with all others.
	consolidateMost = 64
)

// The values of evolve.
const (
	evolveOff    = "off"
	evolveAuto   = "auto"
	evolveReview = "review"
)

// noteConsolidated is the note that says how far memories were compared with each other.
const noteConsolidated = "consolidated"

// consolidated is what it holds: up to which change, in which index, by which vectors.
type consolidated struct {
	Generation string `json:"generation"`
	Identity   string `json:"identity"`
	Seq        int64  `json:"seq"`
}

// consolidatedTo returns how far the memories of st were compared.
func (w worker) consolidatedTo(ctx context.Context, st *Stores) (consolidated, error) {
	now := consolidated{Generation: st.Index.Generation, Identity: st.Vectors.Serving().Identity.String()}
	text, err := w.State.Note(ctx, w.Record.Key, noteConsolidated)
	if err != nil {
		return now, err
	}
	var n consolidated
	if json.Unmarshal([]byte(text), &n) == nil && n.Generation == now.Generation && n.Identity == now.Identity {
		now.Seq = n.Seq
	}
	return now, nil
}

// consolidateLater queues the comparison of memories, if any changed since the last
// one, or if something is proposed that may not be true any more.
func (w worker) consolidateLater(ctx context.Context, st *Stores) error {
	if w.Config.For(w.Record.Slug).Evolve == evolveOff {
		return nil
	}
	at, err := w.consolidatedTo(ctx, st)
	if err != nil {
		return err
	}
	to := st.Vectors.Serving().Index.Seq()
	if to <= at.Seq {
		return nil
	}
	ids, _, _, err := st.Index.WrittenPage(ctx, at.Seq, to, 1)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		open, err := w.State.OpenProposals(ctx, w.Record.Slug)
		if err != nil || open == 0 {
			return err
		}
	}
	w.Add(work.Task{Kind: work.Consolidate, Priority: work.Later})
	return nil
}

// doConsolidate compares memories that changed with all others, a part at a time, and
// proposes to merge those that say the same. Proposals about what has changed are
// dropped before: where they hold still, they are made anew. It gives way to
// everything that somebody waits for.
func (w worker) doConsolidate(ctx context.Context, st *Stores) error {
	if w.Busy() {
		w.consolidateAgain()
		return nil
	}
	mode := w.Config.For(w.Record.Slug).Evolve
	if mode == evolveAuto && st.Tracked {
		mode = evolveReview // nothing gets into the user's history unasked (git.md T1)
	}
	if mode == evolveOff {
		return nil
	}
	if err := w.dropChanged(ctx, st); err != nil {
		return err
	}
	at, err := w.consolidatedTo(ctx, st)
	if err != nil {
		return err
	}
	m := st.Vectors.Serving()
	ids, upTo, more, err := st.Index.WrittenPage(ctx, at.Seq, m.Index.Seq(), consolidateMost)
	if err != nil {
		return err
	}
	maker := evolve.Consolidation{Index: st.Index, Vectors: m.Index, Now: w.Now, Waits: w.Busy}
	made, whole, err := maker.Propose(ctx, ids)
	if err != nil {
		return err
	}
	added, err := w.State.PutProposals(ctx, w.Record.Slug, made, proposalsOpen)
	if err != nil {
		return err
	}
	if added > 0 && mode != evolveAuto {
		w.Log.InfoContext(ctx, "Memories proposed to be merged", "count", added)
		w.Events.Publish("memory:proposed", w.Record.Slug, map[string]any{"count": added})
	}
	if mode == evolveAuto {
		w.acceptAll(ctx, st)
	}
	if !whole {
		w.consolidateAgain()
		return nil
	}
	at.Seq = max(at.Seq, upTo)
	b, err := json.Marshal(at)
	if err != nil {
		return err
	}
	if err := w.State.SetNote(ctx, w.Record.Key, noteConsolidated, string(b)); err != nil || !more {
		return err
	}
	w.Add(work.Task{Kind: work.Consolidate, Priority: work.Later})
	return nil
}

// consolidateGap is how long the comparison waits after it gave way to others.
const consolidateGap = time.Second

// consolidateAgain goes on with the comparison once others had their turn.
func (w worker) consolidateAgain() {
	w.Add(work.Task{Kind: work.Consolidate, Priority: work.Later, At: time.Now().Add(consolidateGap)})
}

// dropChanged forgets open proposals whose memories have changed, and notes of those
// that a crash kept from being noted that they were accepted.
func (w worker) dropChanged(ctx context.Context, st *Stores) error {
	db, slug := w.State, w.Record.Slug
	open, err := db.Proposals(ctx, slug, state.ProposalOpen, state.ProposalCursor{}, proposalsOpen)
	if err != nil || len(open) == 0 {
		return err
	}
	rows, err := st.RowsOf(ctx, open)
	if err != nil {
		return err
	}
	var gone []string
	for _, p := range open {
		switch evolve.StandingOf(p, rows) {
		case evolve.Changed:
			gone = append(gone, p.ID)
		case evolve.Done:
			if err := db.DecideProposal(ctx, slug, p.ID, state.ProposalAccepted, "", w.Now()); err != nil && !errors.Is(err, fold.ErrConflict) {
				return err
			}
		}
	}
	return db.DropProposals(ctx, slug, gone)
}

// acceptAll accepts what is proposed, each as a commit of its own: the user wants no
// review (evolve = "auto"). What cannot be accepted now stays open.
func (w worker) acceptAll(ctx context.Context, st *Stores) {
	if w.View().paused {
		return
	}
	open, err := w.State.Proposals(ctx, w.Record.Slug, state.ProposalOpen, state.ProposalCursor{}, proposalsOpen)
	if err != nil {
		w.Log.WarnContext(ctx, "Proposals not read", "err", err)
		return
	}
	for _, p := range open {
		if ctx.Err() != nil {
			return
		}
		out, err := w.Accept(ctx, st, fold.LocalScope(), p)
		switch {
		case err == nil:
			w.Log.InfoContext(ctx, "Memories merged", "id", out.ID, "rev", out.Rev)
		case errors.Is(err, fold.ErrConflict), errors.Is(err, fold.ErrNotFound): // changed by the one before: made anew if it holds
		default:
			w.Log.InfoContext(ctx, "Proposal not accepted", "id", p.ID, "err", err)
		}
	}
}
