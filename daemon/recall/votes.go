package recall

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// voters is how many of the past commits that are most like a question vote for
// their files (retrieval.md 3.5).
const voters = 50

// subjectRunes is how much is kept of the first line of a message, to say which
// commit it was.
const subjectRunes = 100

// A past is what past commits say, made when it is first asked for and again
// when the history was read on.
type past struct {
	mu   sync.Mutex // guards the fields below
	tip  string
	told *told
}

// A told is the past up to one commit. It does not change.
type told struct {
	messages *textindex.Messages
	commits  []voter             // in the order of messages
	subjects *textindex.Messages // of files: the first lines of all their commits
	files    []fold.ID           // in the order of subjects
}

// at returns what the commits tell that lead to the newest one that was read; nil
// if none was.
func (p *past) at(ctx context.Context, d *Door) (*told, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tip, err := d.Index.CommitsTip(ctx)
	if err != nil {
		return nil, err
	}
	if tip != p.tip {
		tip, commits, err := d.Index.Commits(ctx)
		if err != nil {
			return nil, err
		}
		p.tip, p.told = tip, tellPast(d.Slug, commits)
	}
	return p.told, nil
}

// tellPast indexes commits, which come oldest first.
func tellPast(slug string, commits []index.Commit) *told {
	t := &told{commits: make([]voter, len(commits))}
	numbers := map[string]int{} // of files
	var subjects []*strings.Builder
	for i, c := range slices.Backward(commits) { // the newest are read of a file that has many
		subject, _, _ := strings.Cut(c.Message, "\n")
		v := &t.commits[i]
		// A copy, so that the rest of the message can go.
		v.oid, v.subject = c.Oid, strings.Clone(clip(strings.TrimSpace(subject), subjectRunes))
		for _, f := range c.Files {
			n, ok := numbers[f]
			if !ok {
				n = len(t.files)
				numbers[f] = n
				t.files, subjects = append(t.files, fold.FileID(slug, f)), append(subjects, &strings.Builder{})
			}
			v.files = append(v.files, t.files[n])
			subjects[n].WriteString(subject)
			subjects[n].WriteByte('\n')
		}
	}
	t.messages = textindex.NewMessages(len(commits), func(i int) string { return commits[i].Message })
	t.subjects = textindex.NewMessages(len(t.files), func(i int) string { return subjects[i].String() })
	return t
}

// votes sets what past commits say of files: those that are like the question vote,
// each with the square of how much it is like it, and all that was said of a file
// may be like it. It returns the commits that voted, most like it first. Files that
// are not indexed, or do not pass the filter, get nothing.
func (d *Door) votes(ctx context.Context, query string, f textindex.Filter, c *rank.Candidates) ([]voter, error) {
	t, err := d.past.at(ctx, d)
	if err != nil || t == nil {
		return nil, err
	}
	votes, messages := map[fold.ID]float64{}, map[fold.ID]float64{}
	var like []voter
	for _, l := range t.messages.Like(query, voters) {
		like = append(like, t.commits[l.Text])
		for _, id := range t.commits[l.Text].files {
			votes[id] += l.Score * l.Score
		}
	}
	for _, l := range t.subjects.Like(query, candidates) {
		messages[t.files[l.Text]] = l.Score
	}
	ids := slices.AppendSeq(make([]fold.ID, 0, len(votes)+len(messages)), maps.Keys(votes))
	for id := range messages {
		if _, voted := votes[id]; !voted {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	allowed, err := d.Text.Passing(ctx, f)
	if err != nil {
		return nil, err
	}
	known, err := d.Index.Stats(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if !known[i].Known || allowed != nil && !allowed[id] {
			delete(votes, id)
			delete(messages, id)
		}
	}
	c.Votes, c.Messages = votes, messages
	return like, nil
}
