package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/api/wire"
)

type inSearchBase struct {
	Query         string   `json:"query" minLength:"1"`
	Limit         int      `json:"limit,omitempty" minimum:"0" maximum:"100"`
	Type          string   `json:"type,omitempty"`
	Tags          []string `json:"tags,omitempty"`
	FilePattern   string   `json:"file_pattern,omitempty"`
	Language      string   `json:"language,omitempty"`
	After         string   `json:"after,omitempty"`
	Before        string   `json:"before,omitempty"`
	MinScore      float64  `json:"min_score,omitempty"`
	IncludeChunks *bool    `json:"include_chunks,omitempty"`
	Explain       bool     `json:"explain,omitempty"`
	Cursor        string   `json:"cursor,omitempty"`
	TokenBudget   int      `json:"token_budget,omitempty" minimum:"300"`
	AllProjects   bool     `json:"all_projects,omitempty"`
	inProject
}

type inSearch struct {
	inSearchBase
	Source string `json:"source,omitempty" enum:"file,agent,git"`
}

func (in inSearchBase) request(source string) wire.SearchRequest {
	return wire.SearchRequest{
		Query: in.Query, Source: source, Type: in.Type, Tags: in.Tags, FilePattern: in.FilePattern, Language: in.Language,
		After: in.After, Before: in.Before, Limit: in.Limit, MinScore: in.MinScore, IncludeChunks: in.IncludeChunks, Explain: in.Explain,
		Cursor: in.Cursor,
	}
}

type found struct {
	About      string              `json:"about"`
	Project    string              `json:"project,omitempty"`
	Results    []wire.SearchResult `json:"results"`
	Total      int                 `json:"total"`
	TookMS     float64             `json:"took_ms"`
	IndexStale bool                `json:"index_stale"`
	NotFound   []string            `json:"not_found,omitempty"`
	Words      []wire.QueryWord    `json:"words,omitempty"`
	Filters    []wire.FilterEffect `json:"filters,omitempty"`
	Omitted    int                 `json:"omitted,omitempty"`
	NextCursor string              `json:"next_cursor,omitempty"`
}

func searchTools() []tool {
	return []tool{
		define("memory_search", "Search memories", reads,
			"Search the project's memory by meaning and words: what files do, decisions, bugs, conventions, history. Ask before you explore or decide. Read a result in full with memory_get.",
			func(ctx context.Context, c *call, in inSearch) (found, string, error) {
				return search(ctx, c, "memory_search", in.inSearchBase, in.request(in.Source))
			}),
		define("codebase_search", "Search source code", reads,
			"Search source by name or meaning: functions, types, sections with path and lines.",
			func(ctx context.Context, c *call, in inSearchBase) (found, string, error) {
				req := in.request("file")
				req.ChunksFirst = true
				return search(ctx, c, "codebase_search", in, req)
			}),
		define("memory_context", "Get context of a memory", reads,
			"What surrounds a memory: what it links to, over depth (1 to 3) links, and what is close in meaning.",
			memoryContext),
	}
}

func search(ctx context.Context, c *call, tool string, in inSearchBase, req wire.SearchRequest) (found, string, error) {
	slug := ""
	var r wire.SearchReply
	var err error
	if in.AllProjects {
		r, err = c.handlers.SearchAll(ctx, c.scope, req)
	} else if slug, err = c.project(ctx, in.Project); err == nil {
		r, err = c.handlers.Search(ctx, c.scope, slug, req)
	}
	if err != nil {
		return found{}, "", err
	}
	out, text, ok := fitIn(tokenLimitOf(in.TokenBudget), len(r.Results), func(snippet, n int) (found, string) {
		return foundText(tool, slug, r, snippet, n)
	})
	if !ok {
		return found{}, "", tooSmall(in.TokenBudget)
	}
	return out, text, nil
}

// foundText renders the first n results; slug is "" where all projects were
// searched.
func foundText(tool, slug string, r wire.SearchReply, snippet, n int) (found, string) {
	out := found{
		About: about, Project: slug, Results: []wire.SearchResult{}, Total: r.Total, TookMS: r.TookMS, IndexStale: r.IndexStale,
		NotFound: r.NotFound, Words: r.Words, Filters: r.Filters, Omitted: len(r.Results) - n, NextCursor: r.NextCursor,
	}
	if c, err := wire.ParseSearchCursor(r.Cursor); err == nil && out.Omitted > 0 {
		out.NextCursor = c.Plus(n).String()
	}
	var b strings.Builder
	if len(r.Results) == 0 {
		b.WriteString("Nothing found. Try other words, fewer filters, or all_projects.\n")
	} else {
		fmt.Fprintf(&b, "%d of %d results in %s. %s\n", n, max(r.Total, len(r.Results)), cmp.Or(slug, "all projects"), about)
	}
	queryText(&b, r)
	for i, m := range r.Results[:n] {
		m = shortened(m, snippet)
		if slug != "" {
			m.Project = ""
		}
		resultText(&b, i+1, m)
		out.Results = append(out.Results, m)
	}
	b.WriteString(omitted(out.Omitted))
	if out.NextCursor != "" {
		fmt.Fprintf(&b, "More: %s with the same arguments and cursor %s\n", tool, quote(out.NextCursor))
	}
	if r.Notice != "" {
		fmt.Fprintf(&b, "All results: %s.\n", r.Notice)
	}
	if r.IndexStale {
		b.WriteString("Changes are still being indexed; what was saved a moment ago may be missing.\n")
	}
	return out, b.String()
}

// queryText says what a search says of its words and filters.
func queryText(b *strings.Builder, r wire.SearchReply) {
	list := func(words []string) string {
		out := make([]string, len(words))
		for i, w := range words {
			out[i] = quote(clip(line(w), 100))
		}
		return strings.Join(out, ", ")
	}
	if len(r.NotFound) > 0 {
		fmt.Fprintf(b, "Occurs nowhere, as a word or name: %s.\n", list(r.NotFound))
	}
	for _, f := range r.Filters {
		switch {
		case f.Passing > 0:
			fmt.Fprintf(b, "%s %s: %d pass it; it takes away %d.\n", f.Name, list([]string{f.Value}), f.Passing, f.Removed)
		case len(f.Known) > 0:
			fmt.Fprintf(b, "%s %s: nothing passes it; there is %s.\n", f.Name, list([]string{f.Value}), list(f.Known))
		default:
			fmt.Fprintf(b, "%s %s: nothing passes it.\n", f.Name, list([]string{f.Value}))
		}
	}
}

// shortened is m without what only screens need, its texts at most snippet runes.
func shortened(m wire.SearchResult, snippet int) wire.SearchResult {
	m.Title, m.Snippet, m.Highlights = clip(line(m.Title), 100), clip(line(m.Snippet), snippet), nil
	m.Score, m.Relevance, m.Strength = short(m.Score), short(m.Relevance), short(m.Strength)
	chunks, why, terms := m.MatchedChunks, m.Why, m.Explain
	m.MatchedChunks, m.Why, m.Explain = nil, nil, nil
	for _, k := range chunks[:min(len(chunks), 3)] {
		k.NodeName, k.Snippet, k.Score = clip(line(k.NodeName), 100), clip(line(k.Snippet), snippet/2), short(k.Score)
		k.SnippetLines, k.Highlights = nil, nil
		m.MatchedChunks = append(m.MatchedChunks, k)
	}
	for _, w := range why[:min(len(why), 3)] {
		m.Why = append(m.Why, wire.Reason{Kind: w.Kind, Text: clip(line(w.Text), max(snippet/2, 60)), Commit: w.Commit[:min(len(w.Commit), 12)]})
	}
	for _, t := range terms {
		t.About = ""
		m.Explain = append(m.Explain, t)
	}
	return m
}

func resultText(b *strings.Builder, n int, m wire.SearchResult) {
	where := after(" ", cmp.Or(m.Metadata.FilePath, m.Metadata.Path)) + after(" by ", m.Metadata.Author) + after(" in project ", m.Project)
	fmt.Fprintf(b, "%d. %.2f %s %s %s/%s%s\n", n, m.Score, m.ID, quote(m.Title), m.Metadata.Source, m.Type, where)
	if m.Stale {
		b.WriteString("   (the file changed since this was written)\n")
	}
	if m.Snippet != "" {
		b.WriteString("   | " + m.Snippet + "\n")
	}
	for _, k := range m.MatchedChunks {
		fmt.Fprintf(b, "   %s:%d-%d %s %s\n", line(m.Metadata.FilePath), k.StartLine, k.EndLine, k.NodeType, k.NodeName)
	}
	var why []string
	for _, w := range m.Why {
		why = append(why, w.Text)
	}
	if len(why) > 0 {
		b.WriteString("   why: " + strings.Join(why, "; ") + "\n")
	}
	for _, t := range m.Explain {
		fmt.Fprintf(b, "   %s %.4f × %.4f = %.4f\n", t.Name, t.Value, t.Weight, t.Adds)
	}
}

// short keeps four digits of a score.
func short(v float64) float64 { return float64(int64(v*1e4+0.5)) / 1e4 }

type inContext struct {
	ID    string `json:"id"`
	Depth int    `json:"depth,omitempty" minimum:"0" maximum:"3"`
	Limit int    `json:"limit,omitempty" minimum:"0" maximum:"100"`

	TokenBudget int `json:"token_budget,omitempty" minimum:"300"`
	inProject
}

type surroundings struct {
	About   string               `json:"about"`
	Memory  wire.MemoryItem      `json:"memory"`
	Related []wire.RelatedMemory `json:"related_memories"`
	Similar []wire.SimilarMemory `json:"similar_memories"`
	Omitted int                  `json:"omitted,omitempty"`
}

func memoryContext(ctx context.Context, c *call, in inContext) (surroundings, string, error) {
	slug, err := c.project(ctx, in.Project)
	if err != nil {
		return surroundings{}, "", err
	}
	r, err := c.handlers.Context(ctx, c.scope, slug, in.ID, wire.ContextRequest{Depth: cmp.Or(in.Depth, 1), Limit: cmp.Or(in.Limit, 20)})
	if err != nil {
		return surroundings{}, "", err
	}
	out, text, ok := fitIn(tokenLimitOf(in.TokenBudget), len(r.RelatedMemories)+len(r.SimilarMemories), func(snippet, n int) (surroundings, string) {
		related := min(n, len(r.RelatedMemories))
		return contextText(r, snippet, related, n-related)
	})
	if !ok {
		return surroundings{}, "", tooSmall(in.TokenBudget)
	}
	return out, text, nil
}

func contextText(r wire.ContextReply, snippet, related, similar int) (surroundings, string) {
	m := r.Memory
	out := surroundings{
		About: about, Related: []wire.RelatedMemory{}, Similar: []wire.SimilarMemory{},
		Memory: wire.MemoryItem{
			ID: m.ID, Title: clip(line(m.Title), 100), Type: m.Type, Source: m.Source, Author: m.Author, Tags: m.Tags, FilePath: m.FilePath,
			Path: m.Path, Snippet: clip(line(m.Content), 2*snippet), CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, Stale: m.Stale,
		},
		Omitted: len(r.RelatedMemories) - related + len(r.SimilarMemories) - similar,
	}
	var b strings.Builder
	b.WriteString(frame(labelOf(m), clip(m.Content, 4*snippet)) + "\n")
	item := func(i wire.MemoryItem) wire.MemoryItem {
		i.Title, i.Snippet, i.Project = clip(line(i.Title), 100), clip(line(i.Snippet), snippet), ""
		return i
	}
	for _, x := range r.RelatedMemories[:related] {
		x.MemoryItem, x.Context = item(x.MemoryItem), clip(line(x.Context), snippet)
		out.Related = append(out.Related, x)
		arrow := "→"
		if x.Direction == "in" {
			arrow = "←"
		}
		fmt.Fprintf(&b, "%s %s (%d away) %s %s%s\n", arrow, x.Relationship, x.Depth, x.ID, quote(x.Title), after(" | ", clip(x.Snippet, snippet)))
	}
	for _, x := range r.SimilarMemories[:similar] {
		x.MemoryItem, x.Relevance = item(x.MemoryItem), short(x.Relevance)
		out.Similar = append(out.Similar, x)
		fmt.Fprintf(&b, "≈ %.2f %s %s%s\n", x.Relevance, x.ID, quote(x.Title), after(" | ", clip(x.Snippet, snippet)))
	}
	if related+similar == 0 && out.Omitted == 0 {
		b.WriteString("Nothing is linked to it or close to it.\n")
	}
	if out.Omitted > 0 {
		fmt.Fprintf(&b, "(%d more left out to keep this short; a larger token_budget or memory_link_list shows them)\n", out.Omitted)
	}
	if utf8.RuneCountInString(m.Content) > 4*snippet {
		fmt.Fprintf(&b, "The memory is cut; memory_get %s has all of it.\n", m.ID)
	}
	return out, b.String()
}
