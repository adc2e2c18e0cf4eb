package corpus

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// turns is how many turns of a conversation are asked for, so that those of ten
// sessions are among them.
const turns = 100

// Request returns what a reader would ask for q: the files or memories it is about,
// or the places in the source, for which agents have codebase_search; among the
// files that the set is about, as `search --path` narrows it.
func (s *Searcher) Request(q eval.Query) wire.SearchRequest {
	req := wire.SearchRequest{Query: q.Text, Limit: eval.Depth, FilePattern: s.corpora[Slug(q)].Scopes[q.Set]}
	switch q.Set {
	case "a":
		req.Source = string(fold.SourceFile)
	case "b", "c":
		req.Source, req.ChunksFirst = string(fold.SourceFile), true
	default:
		req.Limit = turns
	}
	return req
}

// Answer returns the names of what the daemon's search finds for q, best first,
// by the channels (none means all that have a weight).
func (s *Searcher) Answer(ctx context.Context, q eval.Query, channels recall.Channels) ([]string, error) {
	slug := Slug(q)
	reply, err := s.Daemon.SearchBy(ctx, fold.LocalScope(), slug, s.Request(q), channels)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q.QID, err)
	}
	return s.names(slug, q, reply), nil
}

// names returns what q's set calls the results.
func (s *Searcher) names(slug string, q eval.Query, reply wire.SearchReply) []string {
	names, depth := []string{}, eval.Depth
	switch q.Set {
	case "a":
		for _, r := range reply.Results {
			if r.Metadata.FilePath != "" {
				names = append(names, r.Metadata.FilePath)
			}
		}
	case "b", "c":
		type place struct {
			name  string
			score float64
		}
		var places []place
		for _, r := range reply.Results {
			for _, m := range r.MatchedChunks {
				places = append(places, place{eval.Span(r.Metadata.FilePath, m.StartLine, m.EndLine), m.Score})
			}
		}
		slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(b.score, a.score) })
		for _, p := range places {
			names = append(names, p.name)
		}
	default:
		depth = turns
		for _, r := range reply.Results {
			if n := s.corpora[slug].Names[fold.ID(r.ID)]; n != "" {
				names = append(names, n)
			}
		}
	}
	return names[:min(len(names), depth)]
}

// Run answers all questions, several at a time. Progress is called with how many
// are answered; nil for not.
func (s *Searcher) Run(ctx context.Context, questions []eval.Query, channels recall.Channels, progress func(done int)) (eval.Run, error) {
	run := make(eval.Run, len(questions))
	var mu sync.Mutex // guards run
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, q := range questions {
		g.Go(func() error {
			names, err := s.Answer(ctx, q, channels)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			run[q.QID] = names
			if progress != nil {
				progress(len(run))
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return run, nil
}
