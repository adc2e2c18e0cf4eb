package recall

import (
	"context"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// inSession begins the names of groups that are sessions.
const inSession = "session "

// addSessionNeighbours tells the ranker the order of memories in their sessions, and adds
// the neighbours of candidates that pass f: an answer may share no word with the question
// before it.
func (s *Service) addSessionNeighbours(ctx context.Context, f textindex.Filter, c *rank.Candidates) error {
	ids := make([]fold.ID, len(c.Memories))
	for i := range c.Memories {
		ids[i] = c.Memories[i].Memory
	}
	members, err := s.Index.Sessions(ctx, ids)
	if err != nil || len(members) == 0 {
		return err
	}
	found, has := make(map[fold.ID]bool, len(ids)), make(map[fold.ID]bool, len(ids))
	for i, id := range ids {
		found[id] = true
		if h := &c.Memories[i]; h.Coverage > 0 || h.Exact > 0 { // other hits only have synonyms
			has[id] = true
		}
	}
	var near []fold.ID
	c.MatchingNeighbour = map[fold.ID]fold.ID{}
	if c.Places == nil {
		c.Places = map[string]rank.Place{}
	}
	for session, all := range members {
		for i, id := range all {
			c.Places["m:"+string(id)] = rank.Place{Group: inSession + session, Ordinal: i}
			if beside := i > 0 && found[all[i-1]] || i+1 < len(all) && found[all[i+1]]; beside && !found[id] {
				near = append(near, id)
			}
			switch {
			case has[id]:
			case i > 0 && has[all[i-1]]:
				c.MatchingNeighbour[id] = all[i-1]
			case i+1 < len(all) && has[all[i+1]]:
				c.MatchingNeighbour[id] = all[i+1]
			}
		}
	}
	if len(near) == 0 {
		return nil
	}
	allowed, err := s.Text.MatchingMemories(ctx, f)
	if err != nil {
		return err
	}
	for _, id := range near {
		if allowed == nil || allowed[id] {
			c.Memories = append(c.Memories, rank.Hit{Key: "m:" + string(id), Memory: id})
		}
	}
	return nil
}

// maxLookupWords is up to how many words a query looks something up rather than asks a
// question.
const maxLookupWords = 2

// demoteNeighbours moves results that only stand next to a match in a session behind
// those that have words of the query. Neighbours answer questions as often as not
// (retrieval.md 1.9), but who looks up a name wants what has it. A demoted result scores
// no more than the one before it.
func demoteNeighbours(ranked []rank.Ranked, opt rank.Options) []rank.Ranked {
	var beside []rank.Ranked
	out := make([]rank.Ranked, 0, len(ranked))
	for _, r := range ranked {
		if r.OnlyNeighbour() {
			beside = append(beside, r)
		} else {
			out = append(out, r)
		}
	}
	if len(beside) == 0 || len(out) == 0 {
		return ranked
	}
	most := out[len(out)-1].Score
	for _, r := range beside {
		if least := opt.Score(r.ID, 0, r.Strength); r.Score > most && r.Score > least {
			r = scaleRelevance(r, max(most-least, 0)/(r.Score-least), opt)
		}
		out = append(out, r)
	}
	return out
}
