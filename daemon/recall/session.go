package recall

import (
	"context"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// inSession begins the group of what was said in a session.
const inSession = "session "

// sessions tells the ranker which memories followed each other in a session, and
// adds those next to a candidate that pass f: an answer may share no word with
// the question it follows.
func (d *Door) sessions(ctx context.Context, f textindex.Filter, c *rank.Candidates) error {
	ids := make([]fold.ID, len(c.Memories))
	for i := range c.Memories {
		ids[i] = c.Memories[i].Memory
	}
	members, err := d.Index.Sessions(ctx, ids)
	if err != nil || len(members) == 0 {
		return err
	}
	found := make(map[fold.ID]bool, len(ids))
	for _, id := range ids {
		found[id] = true
	}
	var near []fold.ID
	if c.Places == nil {
		c.Places = map[string]rank.Place{}
	}
	for session, all := range members {
		for i, id := range all {
			c.Places["m:"+string(id)] = rank.Place{Group: inSession + session, Ordinal: i}
			beside := i > 0 && found[all[i-1]] || i+1 < len(all) && found[all[i+1]]
			if beside && !found[id] {
				near = append(near, id)
			}
		}
	}
	if len(near) == 0 {
		return nil
	}
	allowed, err := d.Text.Passing(ctx, f)
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
