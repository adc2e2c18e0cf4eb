package evolve

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/state"
	"github.com/foldwatch/foldwatch/vecindex"
)

// Bounds of the comparison.
const (
	// Near is the least cosine of two memories that are compared by their words. The
	// cosine alone does not decide: memories about one thing are often as near.
	Near = 0.95
	// neighbours is how many near memories each memory is compared with.
	neighbours = 16
	// longest is how many bytes of text two memories may have together, so that the
	// merged one fits into one file.
	longest = 256 << 10
)

// MakerConsolidation is the maker of the proposals of [Consolidation].
const MakerConsolidation = "consolidation"

// A Consolidation proposes to merge memories with nearly the same text, among those that
// agents and people wrote. It compares existing vectors, then words, and asks no model.
// It costs one vector search for each memory.
type Consolidation struct {
	Index   *index.DB
	Vectors *vecindex.Index
	Now     func() time.Time
	Waits   func() bool // reports that other work waits, to stop early; may be nil
}

// Propose compares memories with all others. It returns one proposal for each pair, and
// whether it finished; if not, it is to be called again.
func (c *Consolidation) Propose(ctx context.Context, ids []fold.ID) (made []state.Proposal, whole bool, err error) {
	rows, err := c.Index.Memories(ctx, ids)
	if err != nil {
		return nil, false, err
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if c.Waits != nil && c.Waits() {
			return made, false, nil
		}
		row, ok := rows[id]
		if !ok || !mayMerge(&row) {
			continue
		}
		v, ok := c.Vectors.Vector("m:" + string(id))
		if !ok {
			continue // without words, or not embedded yet: it comes again with its vector
		}
		var near []fold.ID
		cosines := map[fold.ID]float64{}
		for _, h := range c.Vectors.Search(v, neighbours, &vecindex.Filter{Memories: true, Not: map[fold.ID]bool{id: true}}) {
			if h.Score >= Near {
				near = append(near, h.Memory)
				cosines[h.Memory] = h.Score
			}
		}
		if len(near) == 0 {
			continue
		}
		others, err := c.Index.Memories(ctx, near)
		if err != nil {
			return nil, false, err
		}
		out, in, err := c.Index.LinksOf(ctx, append(slices.Clone(near), id))
		if err != nil {
			return nil, false, err
		}
		for _, n := range near {
			other, ok := others[n]
			if !ok || !mayMerge(&other) || apart(&row, &other, out) || superseded(id, in) || superseded(n, in) {
				continue
			}
			p, ok := c.pair(row, other, cosines[n])
			if ok && !seen[p.ID] {
				seen[p.ID] = true
				made = append(made, p)
			}
		}
	}
	return made, true, nil
}

// mayMerge reports whether a memory may be merged with another. Not facts and episodes,
// which may differ by a word or by their time; not memories of a session, which are its
// course; not notes of people and descriptions of sources.
func mayMerge(row *index.Row) bool {
	switch row.Type {
	case "fact", "episode", "association", "relationship", "scratchpad", "session", "commit", "pr", "codebase":
		return false
	}
	return row.Source == fold.SourceAgent && row.Described == "fold" && !row.Note && !row.Deleted && row.Session == "" && row.Commit == ""
}

// apart reports whether two memories must not be merged, whatever they say: they differ
// in kind, readers, day or files, have slugs of their own, or are linked as versions that
// contradict each other.
func apart(a, b *index.Row, out map[fold.ID][]fold.Link) bool {
	differ := func(x, y string) bool { return x != "" && y != "" && x != y }
	shared := func(v string) bool { return v == "" || v == "shared" }
	if a.Type != b.Type || shared(a.Visibility) != shared(b.Visibility) || a.Layer != b.Layer ||
		differ(a.OriginalDate, b.OriginalDate) || differ(a.FilePath, b.FilePath) || a.Slug != "" && b.Slug != "" || len(a.Body)+len(b.Body) > longest {
		return true
	}
	linked := func(from, to fold.ID) bool {
		return slices.ContainsFunc(out[from], func(l fold.Link) bool {
			return l.To == to && (l.Type == fold.LinkConflictsWith || l.Type == fold.LinkSupersedes)
		})
	}
	return linked(a.ID, b.ID) || linked(b.ID, a.ID)
}

// superseded reports whether another memory superseded id.
func superseded(id fold.ID, in map[fold.ID][]fold.Link) bool {
	return slices.ContainsFunc(in[id], func(l fold.Link) bool { return l.Type == fold.LinkSupersedes && !l.Derived })
}

// pair returns the proposal to merge two memories, if they say the same.
func (c *Consolidation) pair(a, b index.Row, cosine float64) (state.Proposal, bool) {
	wa, wb := sayingOf(&a), sayingOf(&b)
	keep, gone, wk, wg := a, b, wa, wb
	if stays(&b, &a, wb, wa) {
		keep, gone, wk, wg = b, a, wb, wa
	}
	share, ok := wk.saysAll(wg)
	if !ok {
		return state.Proposal{}, false
	}
	reason := fmt.Sprintf("“%s” says all that “%s” says", keep.Title, gone.Title)
	switch {
	case wk.count > wg.count:
		reason += ", and more"
	case keep.UpdatedAt.After(gone.UpdatedAt):
		reason += ", and is newer"
	}
	return state.Proposal{
		ID: fold.ProposalID(string(state.ProposeMerge), "", keep.ID, gone.ID), Kind: state.ProposeMerge, Maker: MakerConsolidation,
		Memories:   []state.ProposalEnd{{ID: keep.ID, Hash: keep.ContentHash}, {ID: gone.ID, Hash: gone.ContentHash}},
		Confidence: min(cosine, 1) * share, State: state.ProposalOpen, CreatedAt: c.Now(),
		ProposalBody: state.ProposalBody{
			Reason:   reason,
			Evidence: fmt.Sprintf("cosine %.3f; %d of %d telling words of the one are in the other", cosine, wg.count-wk.missing(wg), wg.count),
		},
	}, true
}

// stays reports whether a is kept rather than b: the one with a slug, else the one that
// says more, else the newer one.
func stays(a, b *index.Row, wa, wb *saying) bool {
	if (a.Slug != "") != (b.Slug != "") {
		return a.Slug != ""
	}
	if wa.count != wb.count {
		return wa.count > wb.count
	}
	if !a.UpdatedAt.Equal(b.UpdatedAt) {
		return a.UpdatedAt.After(b.UpdatedAt)
	}
	return a.ID < b.ID
}
