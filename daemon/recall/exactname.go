package recall

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/index"
)

// checkedResults is how many of the best results are searched for a name. It does not
// depend on the page or limit, so that the scores of a search are the same on each page.
const checkedResults = 10

// certainty returns how sure the search is of its results: the share of the question that
// occurs in what was searched. Results that only vectors found are rated by their
// cosines instead.
func (q *search) certainty(ctx context.Context) (float64, error) {
	if onlyVectors(q.found) {
		return 1, nil
	}
	if len(q.words) == 1 && len(q.occurrences) == 1 && (q.occurrences[0].at == possible || q.occurrences[0].at == possiblyFiltered) {
		if err := q.checkExactName(ctx, q.words[0].whole); err != nil {
			return 0, err
		}
	}
	return presentShare(q.words, q.occurrences), nil
}

// checkExactName decides where a name occurs that is the whole question, if the index
// cannot tell: it reads the best results, and where none has the name, those that the
// filter leaves out.
func (q *search) checkExactName(ctx context.Context, name string) error {
	found, err := q.bestHave(ctx, name)
	if err != nil || found {
		return err
	}
	q.occurrences[0].at = absent
	if q.filter.Empty() {
		return nil
	}
	unfiltered := search{
		checkouts: q.checkouts, channels: q.channels, words: q.words, cursor: q.cursor,
		req: wire.SearchRequest{Query: q.req.Query, Limit: q.req.Limit, ChunksFirst: q.req.ChunksFirst},
	}
	if err := unfiltered.gather(ctx); err != nil {
		return err
	}
	if found, err = unfiltered.bestHave(ctx, name); found {
		q.occurrences[0].at = onlyFiltered
	}
	return err
}

// bestHave reports whether one of the best results or of their chunks has a name, with or
// without separators between its words.
func (q *search) bestHave(ctx context.Context, name string) (bool, error) {
	best := rankCandidates(q.found, q.req, q.rankOptions)
	best = best[:min(len(best), checkedResults)]
	limitChunks(best, q.req)
	withoutSeparators := strings.NewReplacer("_", "", "-", "")
	var found atomic.Bool
	_, err := q.results(ctx, best, func(row *index.Summary, chunks []quotedChunk) {
		texts := []string{row.Title, row.FilePath, row.Body}
		for _, c := range chunks {
			texts = append(texts, c.text)
		}
		for _, text := range texts {
			if strings.Contains(withoutSeparators.Replace(strings.ToLower(text)), name) {
				found.Store(true)
			}
		}
	})
	return found.Load(), err
}
