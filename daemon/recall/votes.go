package recall

import (
	"context"
	"sync"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// voters is how many of the past commits that are most like a question vote for
// their files (retrieval.md 3.5).
const voters = 50

// A past is what past commits say, made when it is first asked for and again
// when the history was read on.
type past struct {
	mu       sync.Mutex // guards the fields below
	tip      string
	messages *textindex.Messages
	files    [][]fold.ID // by commit
}

// at returns the commits that lead to the newest one that was read; nil if none
// was.
func (p *past) at(ctx context.Context, d *Door) (*textindex.Messages, [][]fold.ID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tip, err := d.Index.PastTip(ctx)
	if err != nil {
		return nil, nil, err
	}
	if tip != p.tip {
		tip, commits, err := d.Index.PastCommits(ctx)
		if err != nil {
			return nil, nil, err
		}
		ids := map[string]fold.ID{}
		files := make([][]fold.ID, len(commits))
		for i, c := range commits {
			for _, f := range c.Files {
				if ids[f] == "" {
					ids[f] = fold.FileID(d.Slug, f)
				}
				files[i] = append(files[i], ids[f])
			}
		}
		p.tip, p.files = tip, files
		p.messages = textindex.NewMessages(len(commits), func(i int) string { return commits[i].Message })
	}
	return p.messages, p.files, nil
}

// votes returns what the past commits that are like the question say of their
// files: each the square of how much it is like it. Files that are not indexed,
// or do not pass the filter, get none.
func (d *Door) votes(ctx context.Context, query string, f textindex.Filter) (map[fold.ID]float64, error) {
	messages, files, err := d.past.at(ctx, d)
	if err != nil || messages == nil {
		return nil, err
	}
	votes := map[fold.ID]float64{}
	for _, l := range messages.Like(query, voters) {
		for _, id := range files[l.Text] {
			votes[id] += l.Score * l.Score
		}
	}
	if len(votes) == 0 {
		return nil, nil
	}
	allowed, err := d.Text.Passing(ctx, f)
	if err != nil {
		return nil, err
	}
	var ids []fold.ID
	for id := range votes {
		if allowed != nil && !allowed[id] {
			delete(votes, id)
			continue
		}
		ids = append(ids, id)
	}
	known, err := d.Index.Pulses(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, ok := known[id]; !ok {
			delete(votes, id)
		}
	}
	return votes, nil
}
