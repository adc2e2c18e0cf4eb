package recall

import (
	"math"
	"slices"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// rankCandidates ranks memories by all that was found of them, or by their best chunk
// where chunks come first. Candidates that only vectors found are ranked by their cosines.
func rankCandidates(c rank.Candidates, req wire.SearchRequest, opt rank.Options) []rank.Ranked {
	if !onlyVectors(c) {
		return rankMemories(c, req, opt)
	}
	var w rank.Weights
	w.SetVectors(rank.Vectors{Whole: 1, Part: 1})
	least := opt.MinScore
	opt.Weights, opt.MinScore = &w, 0
	best := 0.0
	for _, n := range c.Vectors {
		best = max(best, n.Score)
	}
	ranked := rankMemories(c, req, opt)
	out := ranked[:0]
	for _, r := range ranked {
		if r = scaleRelevance(r, maxVectorRelevance*min(best, 1), opt); r.Score >= least {
			out = append(out, r)
		}
	}
	return out
}

// maxVectorRelevance is the relevance of a memory that shares no word with the question,
// if its cosine is 1.
const maxVectorRelevance = 0.5

// onlyVectors reports whether only the vectors found something: no word of the question
// occurs.
func onlyVectors(c rank.Candidates) bool {
	return len(c.Files)+len(c.Memories)+len(c.Chunks) == 0 && len(c.Vectors) > 0
}

// scaleRelevance returns r with its relevance times f, which is in [0, 1]. The best result
// of a search has relevance 1 by construction, also where it fits badly.
func scaleRelevance(r rank.Ranked, f float64, opt rank.Options) rank.Ranked {
	r.Relevance *= f
	r.Score = opt.Score(r.ID, r.Relevance, r.Strength)
	r.Evidence = r.Scaled(f)
	r.Chunks = slices.Clone(r.Chunks)
	for i := range r.Chunks {
		r.Chunks[i].Relevance *= f
		r.Chunks[i].Evidence = r.Chunks[i].Scaled(f)
	}
	return r
}

// rankMemories ranks with the weights of opt.
func rankMemories(c rank.Candidates, req wire.SearchRequest, opt rank.Options) []rank.Ranked {
	ranked := rank.Rank(c, opt)
	if !req.ChunksFirst {
		return ranked
	}
	byID := make(map[fold.ID]rank.Ranked, len(ranked))
	for _, r := range ranked {
		byID[r.ID] = r
	}
	var out []rank.Ranked
	for _, ch := range rank.RankChunks(c, opt) {
		if r, ok := byID[ch.Memory]; ok {
			delete(byID, ch.Memory)
			r.Relevance = ch.Relevance
			r.Score = opt.Score(r.ID, ch.Relevance, r.Strength)
			r.Evidence = ch.Evidence
			out = append(out, r)
		}
	}
	for _, r := range ranked { // memories without a matching chunk come last
		if _, left := byID[r.ID]; left {
			out = append(out, r)
		}
	}
	return out
}

// limitChunks cuts the chunks of each result to the three best. Where chunks come first,
// a result keeps all that are among the best req.Limit chunks of the page: the fourth
// function of one file may fit better than all of the next file.
func limitChunks(ranked []rank.Ranked, req wire.SearchRequest) {
	least := math.Inf(1)
	if req.ChunksFirst {
		var all []float64
		for _, r := range ranked {
			for _, c := range r.Chunks {
				all = append(all, c.Relevance)
			}
		}
		slices.Sort(all)
		if n := len(all) - req.Limit; n >= 0 && n < len(all) {
			least = all[n]
		} else if n < 0 {
			least = 0
		}
	}
	for i := range ranked {
		chunks := ranked[i].Chunks
		n := min(len(chunks), shownChunks)
		for n < min(len(chunks), req.Limit) && chunks[n].Relevance >= least {
			n++
		}
		ranked[i].Chunks = chunks[:n]
	}
}
