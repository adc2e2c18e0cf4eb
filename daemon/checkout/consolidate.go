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
func (co *Checkout) consolidatedTo(ctx context.Context, st *Stores) (consolidated, error) {
	now := consolidated{Generation: st.Index.Generation, Identity: st.Vectors.Serving().Identity.String()}
	text, err := co.Shared.State.Note(ctx, co.Record.Key, noteConsolidated)
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
func (co *Checkout) consolidateLater(ctx context.Context, st *Stores) error {
	if co.Config.For(co.Record.Slug).Evolve == evolveOff {
		return nil
	}
	at, err := co.consolidatedTo(ctx, st)
	if err != nil {
		return err
	}
	to := st.Vectors.Serving().Index.Seq()
	if to <= at.Seq {
		return nil
	}
	ids, _, _, err := st.Index.WrittenPart(ctx, at.Seq, to, 1)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		open, err := co.Shared.State.OpenProposals(ctx, co.Record.Slug)
		if err != nil || open == 0 {
			return err
		}
	}
	co.Add(work.Task{Kind: work.Consolidate, Priority: work.Later})
	return nil
}

// doConsolidate compares memories that changed with all others, a part at a time, and
// proposes to merge those that say the same. Proposals about what has changed are
// dropped before: where they hold still, they are made anew. It gives way to
// everything that somebody waits for.
func (co *Checkout) doConsolidate(ctx context.Context, st *Stores) error {
	if co.Busy() {
		co.consolidateAgain()
		return nil
	}
	mode := co.Config.For(co.Record.Slug).Evolve
	if mode == evolveAuto && st.Tracked {
		mode = evolveReview // nothing gets into the user's history unasked (git.md T1)
	}
	if mode == evolveOff {
		return nil
	}
	if err := co.dropChanged(ctx, st); err != nil {
		return err
	}
	at, err := co.consolidatedTo(ctx, st)
	if err != nil {
		return err
	}
	m := st.Vectors.Serving()
	ids, upTo, more, err := st.Index.WrittenPart(ctx, at.Seq, m.Index.Seq(), consolidateMost)
	if err != nil {
		return err
	}
	maker := evolve.Consolidation{Index: st.Index, Vectors: m.Index, Now: co.Now, Waits: co.Busy}
	made, whole, err := maker.Propose(ctx, ids)
	if err != nil {
		return err
	}
	added, err := co.Shared.State.PutProposals(ctx, co.Record.Slug, made, proposalsOpen)
	if err != nil {
		return err
	}
	if added > 0 && mode != evolveAuto {
		co.Log.InfoContext(ctx, "Memories proposed to be merged", "count", added)
		co.Events.Publish("memory:proposed", co.Record.Slug, map[string]any{"count": added})
	}
	if mode == evolveAuto {
		co.acceptAll(ctx, st)
	}
	if !whole {
		co.consolidateAgain()
		return nil
	}
	at.Seq = max(at.Seq, upTo)
	b, err := json.Marshal(at)
	if err != nil {
		return err
	}
	if err := co.Shared.State.SetNote(ctx, co.Record.Key, noteConsolidated, string(b)); err != nil || !more {
		return err
	}
	co.Add(work.Task{Kind: work.Consolidate, Priority: work.Later})
	return nil
}

// consolidateGap is how long the comparison waits after it gave way to others.
const consolidateGap = time.Second

// consolidateAgain goes on with the comparison once others had their turn.
func (co *Checkout) consolidateAgain() {
	co.Add(work.Task{Kind: work.Consolidate, Priority: work.Later, At: time.Now().Add(consolidateGap)})
}

// dropChanged forgets open proposals whose memories have changed, and notes of those
// that a crash kept from being noted that they were accepted.
func (co *Checkout) dropChanged(ctx context.Context, st *Stores) error {
	db, slug := co.Shared.State, co.Record.Slug
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
			if err := db.DecideProposal(ctx, slug, p.ID, state.ProposalAccepted, "", co.Now()); err != nil && !errors.Is(err, fold.ErrConflict) {
				return err
			}
		}
	}
	return db.DropProposals(ctx, slug, gone)
}

// acceptAll accepts what is proposed, each as a commit of its own: the user wants no
// review (evolve = "auto"). What cannot be accepted now stays open.
func (co *Checkout) acceptAll(ctx context.Context, st *Stores) {
	if co.View().paused {
		return
	}
	open, err := co.Shared.State.Proposals(ctx, co.Record.Slug, state.ProposalOpen, state.ProposalCursor{}, proposalsOpen)
	if err != nil {
		co.Log.WarnContext(ctx, "Proposals not read", "err", err)
		return
	}
	for _, p := range open {
		if ctx.Err() != nil {
			return
		}
		out, err := co.Accept(ctx, st, fold.LocalScope(), p)
		switch {
		case err == nil:
			co.Log.InfoContext(ctx, "Memories merged", "id", out.ID, "rev", out.Rev)
		case errors.Is(err, fold.ErrConflict), errors.Is(err, fold.ErrNotFound): // changed by the one before: made anew if it holds
		default:
			co.Log.InfoContext(ctx, "Proposal not accepted", "id", p.ID, "err", err)
		}
	}
}
