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
type commitHistory struct {
	mu    sync.Mutex // guards the fields below
	tip   string
	index *commitIndex
}

// A told is the past up to one commit. It does not change.
type commitIndex struct {
	messages *textindex.Messages
	commits  []commitVote        // in the order of messages
	subjects *textindex.Messages // of files: the first lines of all their commits
	files    []fold.ID           // in the order of subjects
}

// at returns what the commits tell that lead to the newest one that was read; nil
// if none was.
func (p *commitHistory) load(ctx context.Context, d *Door) (*commitIndex, error) {
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
		p.tip, p.index = tip, indexCommits(d.Slug, commits)
	}
	return p.index, nil
}

// indexCommits indexes commits, which come oldest first.
func indexCommits(slug string, commits []index.Commit) *commitIndex {
	t := &commitIndex{commits: make([]commitVote, len(commits))}
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
func (s *Door) votes(ctx context.Context, query string, f textindex.Filter, c *rank.Candidates) ([]commitVote, error) {
	t, err := s.history.load(ctx, s)
	if err != nil || t == nil {
		return nil, err
	}
	votes, messages := map[fold.ID]float64{}, map[fold.ID]float64{}
	var like []commitVote
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
	allowed, err := s.Text.Passing(ctx, f)
	if err != nil {
		return nil, err
	}
	known, err := s.Index.Stats(ctx, ids)
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
