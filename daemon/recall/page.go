package recall

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/tokens"
)

// minTokenBudget is the fewest tokens a caller may ask for: the frame of a reply and
// one short result.
const minTokenBudget = 300

// frameTokens is reserved for what is filled in after the results are chosen: two
// cursors and three numbers.
const frameTokens = 90

// keyTokens is reserved for the JSON keys of what the reply says of the query.
const keyTokens = 16

// cursorOf returns the cursor of the page that req asks for, in a search of projects.
// The cursor of a first page has no time yet. It returns ErrInvalid for a cursor of
// another search.
func cursorOf(req wire.SearchRequest, projects []string) (wire.SearchCursor, error) {
	sum := req.Sum(projects...)
	if req.Cursor == "" {
		return wire.SearchCursor{Of: sum}, nil
	}
	c, err := wire.ParseSearchCursor(req.Cursor)
	if err == nil && c.Of != sum {
		err = fmt.Errorf("cursor %.40q is of another search: repeat its query, filters and project: %w", req.Cursor, fold.ErrInvalid)
	}
	return c, err
}

// without returns ranked without the memories in gone.
func without(ranked []rank.Ranked, gone []fold.ID) []rank.Ranked {
	if len(gone) == 0 {
		return ranked
	}
	out := make([]rank.Ranked, 0, len(ranked))
	for i := range ranked {
		if !slices.Contains(gone, ranked[i].ID) {
			out = append(out, ranked[i])
		}
	}
	return out
}

// missingFrom returns the memories of a page that were deleted or changed since they were
// ranked. Those of a checkout that could not be opened do not count.
func missingFrom(page []rank.Ranked, shown []map[fold.ID]wire.SearchResult) (gone []fold.ID) {
	for _, r := range page {
		i, id := splitProjectID(r.ID)
		if _, ok := shown[i][id]; !ok && shown[i] != nil {
			gone = append(gone, r.ID)
		}
	}
	return gone
}

// addResults puts the shown results of a page into reply. It returns for each result how
// many places of the page come before it, and as last element how many the page has. If
// the order of the search is stored, memories that are gone have no place in it; if the
// next page is ranked anew, they may come again and keep theirs.
func addResults(reply *wire.SearchReply, page []rank.Ranked, shown []map[fold.ID]wire.SearchResult, stored bool) (before []int) {
	n := 0
	for _, r := range page {
		i, id := splitProjectID(r.ID)
		res, ok := shown[i][id]
		if ok {
			reply.Results, before = append(reply.Results, res), append(before, n)
		}
		if ok || !stored || shown[i] == nil {
			n++
		}
	}
	return append(before, n)
}

// note adds a sentence to the notice of the reply.
func note(reply *wire.SearchReply, text string) {
	if reply.Notice != "" {
		reply.Notice += "; "
	}
	reply.Notice += text
}

// finishPage cuts the results to the token budget, 0 being no limit, and sets the
// cursors. The page began at c; before is what addResults returned, and the search has
// so many places in all.
func finishPage(reply *wire.SearchReply, c wire.SearchCursor, before []int, places, budget int) {
	if len(reply.Results) > 0 {
		reply.Cursor = c.String()
	}
	if budget > 0 {
		budget -= frameTokens + tokens.Count(reply.Query) + tokens.Count(reply.Notice)
		if len(reply.NotFound) > 0 {
			budget -= tokenCost(reply.NotFound) + keyTokens
		}
		if explained := tokenCost(reply.Words) + tokenCost(reply.Filters) + keyTokens; 2*explained > budget {
			reply.Words, reply.Filters = nil, nil // results matter more
		} else if len(reply.Words)+len(reply.Filters) > 0 {
			budget -= explained
		}
		budget = max(budget, 1)
	}
	if kept := fitBudget(reply.Results, budget); kept < len(reply.Results) {
		reply.Omitted = len(reply.Results) - kept
		reply.Results = reply.Results[:kept]
	}
	if next := c.Plus(before[len(reply.Results)]); next.Offset < places {
		reply.NextCursor = next.String()
	}
}

// fitBudget returns how many of results fit into budget tokens as JSON; 0 is no limit.
// If not all fit, it first drops all chunks but the best of each, and if then not even
// one fits, all texts.
func fitBudget(results []wire.SearchResult, budget int) int {
	if budget <= 0 {
		return len(results)
	}
	kept := countFitting(results, budget)
	if kept == len(results) {
		return kept
	}
	for i := range results {
		r := &results[i]
		r.MatchedChunks = r.MatchedChunks[:min(len(r.MatchedChunks), 1)]
		if len(r.MatchedChunks) > 0 && r.MatchedChunks[0].Snippet != "" {
			r.Snippet, r.Highlights = "", nil
		}
	}
	if kept = countFitting(results, budget); kept > 0 {
		return kept
	}
	for i := range results {
		r := &results[i]
		r.Snippet, r.Highlights, r.Why, r.Explain = "", nil, nil, nil
		for j := range r.MatchedChunks {
			c := &r.MatchedChunks[j]
			c.Snippet, c.SnippetLines, c.Highlights = "", nil, nil
		}
	}
	return countFitting(results, budget)
}

// countFitting returns how many of items, in order, fit into budget tokens as JSON.
func countFitting[T any](items []T, budget int) int {
	for i := range items {
		if budget -= tokenCost(&items[i]) + 1; budget < 0 {
			return i
		}
	}
	return len(items)
}

// fitContext cuts a context to budget tokens as JSON: the memory's own text to half of
// them if other memories come with it, then the farthest memories are left out.
func fitContext(r *wire.ContextReply, budget int) {
	left := budget - frameTokens
	content := r.Memory.Content
	r.Memory.Content = ""
	if tokenCost(r.Memory) > left/2 { // its links are among what follows
		r.Memory.Links, r.Memory.Backlinks, r.Truncated = []wire.Link{}, []wire.Link{}, true
	}
	left -= tokenCost(r.Memory)
	most := left
	if len(r.RelatedMemories)+len(r.SimilarMemories) > 0 {
		most /= 2
	}
	r.Memory.Content = content
	if tokenCost(content) > most {
		runes := []rune(content)
		n := sort.Search(len(runes), func(n int) bool { return tokenCost(string(runes[:n+1])+"…") > most })
		r.Memory.Content, r.Truncated = "", true
		if n > 0 {
			r.Memory.Content = string(runes[:n]) + "…"
		}
	}
	left -= tokenCost(r.Memory.Content)
	related, similar := len(r.RelatedMemories), len(r.SimilarMemories)
	for i := range r.RelatedMemories {
		if left -= tokenCost(&r.RelatedMemories[i]) + 1; left < 0 {
			r.RelatedMemories = r.RelatedMemories[:i]
			break
		}
	}
	r.SimilarMemories = r.SimilarMemories[:countFitting(r.SimilarMemories, left)]
	r.Omitted = related - len(r.RelatedMemories) + similar - len(r.SimilarMemories)
	r.Truncated = r.Truncated || r.Omitted > 0
}

// fitTaskContext cuts a task context to budget tokens as JSON: the least relevant items
// are left out, and if not even the first fits, all texts.
func fitTaskContext(r *wire.TaskContextReply, budget int) {
	all := len(r.Context)
	left := max(budget-frameTokens-tokenCost(r.Task), 1)
	n := countFitting(r.Context, left)
	if n == 0 {
		for i := range r.Context {
			r.Context[i].Content = ""
		}
		n = countFitting(r.Context, left)
	}
	r.Context, r.Omitted = r.Context[:n], all-n
}

// tokenCost returns how many tokens v has as JSON.
func tokenCost(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		return 0 // then it cannot be sent either
	}
	return tokens.Count(string(b))
}

// resultLimit returns how many results a search shows that asks for n; 0 is the default.
func resultLimit(n int) int {
	if n <= 0 {
		n = defaultResults
	}
	return min(n, maxResults)
}
