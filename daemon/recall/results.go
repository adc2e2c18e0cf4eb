package recall

import (
	"context"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// results returns what is shown of the ranked memories, as far as they still pass the
// filter. See is called for each of them; it may be nil.
func (s *Service) results(ctx context.Context, ranked []rank.Ranked, req wire.SearchRequest, filter textindex.Filter, p *projectResult, see func(*index.Summary, []quotedChunk)) (map[fold.ID]wire.SearchResult, error) {
	out := make(map[fold.ID]wire.SearchResult, len(ranked))
	var ids []fold.ID
	var chunkIDs []string
	for i := range ranked {
		ids = append(ids, ranked[i].ID)
		for _, c := range ranked[i].Chunks {
			chunkIDs = append(chunkIDs, strings.TrimPrefix(c.Key, "c:"))
		}
	}
	all := ids
	for _, id := range ids {
		if beside, ok := p.found.MatchingNeighbour[id]; ok {
			all = append(all, beside)
		}
	}
	rows, err := s.Index.Summaries(ctx, all)
	if err != nil {
		return nil, err
	}
	chunks, err := s.Index.ChunksByID(ctx, ids, chunkIDs)
	if err != nil {
		return nil, err
	}
	q := parseQuestion(req.Query)
	defer q.release()
	for _, r := range ranked {
		row, ok := rows[r.ID]
		if !ok || !passes(row, &filter) {
			continue // deleted or changed since it was found
		}
		res := wire.SearchResult{
			ID: string(r.ID), Type: row.Type, Title: row.Title, Score: r.Score, Relevance: r.Relevance, Strength: r.Strength,
			Metadata: wire.ResultMetadata{
				Source: string(row.Source), FilePath: row.FilePath, Path: row.Path, Author: row.Author, Tags: slices.Clone(row.Tags), Language: row.Language,
			},
			CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, Stale: row.Stale, Project: s.Slug,
		}
		parts := s.quoteChunks(ctx, row.FilePath, r.Chunks, chunks, q, &res)
		body, seen := quoteOf(withoutTitle(row.Body, row.Title), q)
		res.Snippet, _, res.Highlights = body.wire(1)
		res.Why = why(r, row, &res, parts, seen, q, p.voters, rows[p.found.MatchingNeighbour[r.ID]])
		if see != nil {
			see(row, parts)
		}
		if req.IncludeChunks != nil && !*req.IncludeChunks {
			res.MatchedChunks = nil
		}
		if req.Explain {
			res.Explain, res.Lacks = explain(r, p.strengthWeight), q.unmatched(row, parts, seen)
		}
		out[r.ID] = res
	}
	return out, nil
}

// passes reports whether a memory still is as the filter asks, as far as a change of
// its own may alter that: it may have been ranked long before it is shown.
func passes(row *index.Summary, f *textindex.Filter) bool {
	if f.Source != "" && string(row.Source) != f.Source || f.Type != "" && row.Type != f.Type ||
		f.Author != "" && !strings.EqualFold(row.Author, f.Author) ||
		!f.After.IsZero() && row.UpdatedAt.Before(f.After) || !f.Before.IsZero() && !row.UpdatedAt.Before(f.Before) {
		return false
	}
	for _, want := range f.Tags {
		if !slices.ContainsFunc(row.Tags, func(tag string) bool { return strings.EqualFold(tag, want) }) {
			return false
		}
	}
	return true
}

// A quotedChunk is the text of a chunk that is shown.
type quotedChunk struct {
	text string // "" if nothing may be quoted
	seen formSet
}

// quoteChunks adds the chunks that matched to res, quoted from the source file as far as
// that still is what was indexed. It returns the text of each.
func (s *Service) quoteChunks(ctx context.Context, path string, found []rank.RankedChunk, chunks map[string]fold.Chunk, q question, res *wire.SearchResult) []quotedChunk {
	if len(found) == 0 {
		return nil
	}
	shown, parts := make([]fold.Chunk, 0, len(found)), make([][2]int, 0, len(found))
	for _, f := range found {
		c, ok := chunks[strings.TrimPrefix(f.Key, "c:")]
		if !ok {
			continue
		}
		res.MatchedChunks = append(res.MatchedChunks, wire.MatchedChunk{
			ID: c.ID, NodeType: c.NodeType, NodeName: c.NodeName, StartLine: c.StartLine, EndLine: c.EndLine, Score: f.Relevance,
		})
		part := [2]int{c.StartByte, c.EndByte}
		if c.Hidden {
			part[1] = part[0] - 1 // an empty part: it is not read
		}
		shown, parts = append(shown, c), append(parts, part)
	}
	texts := make([]quotedChunk, len(shown))
	// A chunk that cannot be read is not quoted; its place is still shown.
	_ = s.SourceParts(ctx, path, parts, func(i int, part []byte) {
		c := &shown[i]
		if c.Hidden || fold.ChunkHash(part) != c.Hash {
			return
		}
		m, text := &res.MatchedChunks[i], string(part)
		quote, seen := quoteOf(text, q)
		m.Snippet, m.SnippetLines, m.Highlights = quote.wire(c.StartLine)
		texts[i] = quotedChunk{text, seen}
	})
	return texts
}
