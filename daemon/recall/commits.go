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

// voters is how many past commits, those most similar to a question, vote for their files
// (retrieval.md 3.5).
const voters = 50

// subjectRunes is how many characters of a commit's subject are kept, to be shown.
const subjectRunes = 100

// A commitHistory caches the index of past commits. It is rebuilt when more of the
// history was read.
type commitHistory struct {
	mu    sync.Mutex // guards the fields below
	tip   string
	index *commitIndex
}

// A commitIndex finds past commits, up to one of them, by their messages. It is immutable.
type commitIndex struct {
	messages *textindex.Messages
	commits  []commitVote        // in the order of messages
	subjects *textindex.Messages // of each file: the subjects of all its commits
	files    []fold.ID           // in the order of subjects
}

// load returns the index of the commits up to the newest one that was read; nil if none
// was.
func (p *commitHistory) load(ctx context.Context, d *Service) (*commitIndex, error) {
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

// indexCommits makes the index of commits, which come oldest first.
func indexCommits(slug string, commits []index.Commit) *commitIndex {
	t := &commitIndex{commits: make([]commitVote, len(commits))}
	numbers := map[string]int{} // of files
	var subjects []*strings.Builder
	for i, c := range slices.Backward(commits) { // the index keeps the first part of a long text, so the newest come first
		subject, _, _ := strings.Cut(c.Message, "\n")
		v := &t.commits[i]
		// A copy, so that the rest of the message can be freed.
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

// votes sets what past commits say of files. Commits similar to the question vote for
// their files, with the square of the similarity as weight; besides, the subjects of all
// commits of a file are compared with the question. It returns the commits that voted, the
// most similar first. Files that are not indexed, or do not pass the filter, get nothing.
func (s *Service) votes(ctx context.Context, query string, f textindex.Filter, c *rank.Candidates) ([]commitVote, error) {
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
	allowed, err := s.Text.MatchingMemories(ctx, f)
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
