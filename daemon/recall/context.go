package recall

import (
	"context"
	"fmt"
	"sort"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex"
)

const (
	maxDepth       = 3
	similarLimit   = 5
	contextDefault = 20
	contextMost    = 100
)

// Context returns the memory id with its surroundings: linked memories in both
// directions, breadth first and each once, then the nearest in meaning that are not
// linked.
func (s *Service) Context(ctx context.Context, id fold.ID, req wire.ContextRequest) (wire.ContextReply, error) {
	if req.Depth <= 0 {
		req.Depth = 1
	}
	if req.Depth > maxDepth {
		return wire.ContextReply{}, fmt.Errorf("depth %d: at most %d: %w", req.Depth, maxDepth, fold.ErrInvalid)
	}
	if req.Limit <= 0 {
		req.Limit = contextDefault
	}
	req.Limit = min(req.Limit, contextMost)
	if req.TokenBudget != 0 && req.TokenBudget < minTokenBudget {
		return wire.ContextReply{}, fmt.Errorf("token_budget %d: at least %d: %w", req.TokenBudget, minTokenBudget, fold.ErrInvalid)
	}
	m, err := s.Get(ctx, id)
	if err != nil {
		return wire.ContextReply{}, err
	}
	id = fold.ID(m.ID) // differs if it was merged into another
	reply := wire.ContextReply{Memory: m, RelatedMemories: []wire.RelatedMemory{}, SimilarMemories: []wire.SimilarMemory{}}
	seen := map[fold.ID]bool{id: true}
	if err := s.walk(ctx, id, req, seen, &reply); err != nil {
		return reply, err
	}
	if err := s.addSimilar(ctx, id, seen, &reply); err != nil {
		return reply, err
	}
	if req.TokenBudget > 0 {
		fitContext(&reply, req.TokenBudget)
	}
	return reply, nil
}

// A step is a memory to be reached by a link.
type step struct {
	id, via   fold.ID
	link      fold.Link
	direction string
}

// walk follows the links breadth first, written ones before derived ones.
func (s *Service) walk(ctx context.Context, start fold.ID, req wire.ContextRequest, seen map[fold.ID]bool, reply *wire.ContextReply) error {
	frontier := []fold.ID{start}
	for depth := 1; depth <= req.Depth && len(frontier) > 0; depth++ {
		steps, err := s.steps(ctx, frontier, seen)
		if err != nil {
			return err
		}
		if depth == 1 { // associations of all others would compare half a project
			more, err := s.associatedSteps(ctx, start, seen)
			if err != nil {
				return err
			}
			steps = append(steps, more...)
		}
		ids := make([]fold.ID, len(steps))
		for i, st := range steps {
			ids[i] = st.id
		}
		rows, err := s.Index.Memories(ctx, ids)
		if err != nil {
			return err
		}
		frontier = frontier[:0]
		for _, st := range steps {
			row, ok := rows[st.id]
			if !ok {
				continue // the link is dangling
			}
			if len(reply.RelatedMemories) == req.Limit {
				reply.Truncated = true
				return nil
			}
			frontier = append(frontier, st.id)
			reply.RelatedMemories = append(reply.RelatedMemories, wire.RelatedMemory{
				MemoryItem: s.item(row), Relationship: string(st.link.Type), Direction: st.direction, Depth: depth,
				Via: string(st.via), Derived: st.link.Derived, Context: st.link.Context, Evidence: st.link.Evidence,
			})
		}
	}
	return nil
}

// steps returns the memories that the links of frontier lead to, without those in seen,
// to which it adds them.
func (s *Service) steps(ctx context.Context, frontier []fold.ID, seen map[fold.ID]bool) ([]step, error) {
	out, in, err := s.Index.LinksOf(ctx, frontier)
	if err != nil {
		return nil, err
	}
	var all []step
	for _, id := range frontier {
		var here []step
		for _, l := range out[id] {
			here = append(here, step{l.To, id, l, "out"})
		}
		for _, l := range in[id] {
			here = append(here, step{l.From, id, l, "in"})
		}
		sort.SliceStable(here, func(i, j int) bool {
			a, b := here[i].link, here[j].link
			if a.Derived != b.Derived {
				return !a.Derived
			}
			return a.Weight > b.Weight
		})
		for _, st := range here {
			if !seen[st.id] {
				seen[st.id] = true
				all = append(all, st)
			}
		}
	}
	return all, nil
}

// associatedSteps is steps for associations.
func (s *Service) associatedSteps(ctx context.Context, id fold.ID, seen map[fold.ID]bool) ([]step, error) {
	links, err := s.associatedLinks(ctx, id)
	if err != nil {
		return nil, err
	}
	var all []step
	for _, l := range links {
		st := step{fold.ID(l.TargetID), id, fold.Link{Type: fold.LinkType(l.Type), Derived: true, Evidence: l.Evidence, Weight: l.Weight}, l.Direction}
		if l.Direction == "in" {
			st.id = fold.ID(l.SourceID)
		}
		if !seen[st.id] {
			seen[st.id] = true
			all = append(all, st)
		}
	}
	return all, nil
}

// addSimilar adds the memories nearest in meaning that are not linked.
func (s *Service) addSimilar(ctx context.Context, id fold.ID, seen map[fold.ID]bool, reply *wire.ContextReply) error {
	m := s.model.Load()
	v, ok := m.Vectors.Vector("m:" + string(id))
	if !ok {
		return nil // not embedded yet
	}
	hits := m.Vectors.Search(v, similarLimit, &vecindex.Filter{Not: seen, Memories: true})
	ids := make([]fold.ID, len(hits))
	for i, h := range hits {
		ids[i] = h.Memory
	}
	rows, err := s.Index.Memories(ctx, ids)
	if err != nil {
		return err
	}
	for _, h := range hits {
		if row, ok := rows[h.Memory]; ok && h.Score > 0 {
			reply.SimilarMemories = append(reply.SimilarMemories, wire.SimilarMemory{MemoryItem: s.item(row), Relevance: min(h.Score, 1)})
		}
	}
	return nil
}

// TaskContext returns what helps with a task, ranked, with a reason for each item.
func (s *Service) TaskContext(ctx context.Context, req wire.TaskContextRequest) (wire.TaskContextReply, error) {
	if req.Limit <= 0 {
		req.Limit = contextDefault
	}
	reply := wire.TaskContextReply{Task: req.Task, Context: []wire.TaskContextItem{}}
	if req.TokenBudget != 0 && req.TokenBudget < minTokenBudget {
		return reply, fmt.Errorf("token_budget %d: at least %d: %w", req.TokenBudget, minTokenBudget, fold.ErrInvalid)
	}
	sources := req.Sources
	if len(sources) == 0 {
		sources = []string{""}
	}
	seen := map[string]bool{}
	for _, source := range sources {
		found, err := s.Search(ctx, wire.SearchRequest{Query: req.Task, Source: source, Limit: min(req.Limit, maxResults)})
		if err != nil {
			return reply, err
		}
		for _, res := range found.Results {
			if !seen[res.ID] {
				seen[res.ID] = true
				reply.Context = append(reply.Context, taskItem(res))
			}
		}
	}
	sort.SliceStable(reply.Context, func(i, j int) bool { return reply.Context[i].Relevance > reply.Context[j].Relevance })
	if err := s.linkedToTask(ctx, seen, &reply); err != nil {
		return reply, err
	}
	reply.Context = reply.Context[:min(len(reply.Context), req.Limit)]
	if req.TokenBudget > 0 {
		fitTaskContext(&reply, req.TokenBudget)
	}
	return reply, nil
}

func taskItem(res wire.SearchResult) wire.TaskContextItem {
	item := wire.TaskContextItem{
		ID: res.ID, Title: res.Title, Type: res.Type, Source: res.Metadata.Source, FilePath: res.Metadata.FilePath,
		Content: res.Snippet, Relevance: res.Relevance, Reason: "its text fits the task",
	}
	if len(res.MatchedChunks) > 0 && res.MatchedChunks[0].NodeName != "" {
		c := res.MatchedChunks[0]
		item.Reason = fmt.Sprintf("%s %s fits the task (lines %d–%d)", c.NodeType, c.NodeName, c.StartLine, c.EndLine)
		item.Content = c.Snippet
	}
	return item
}

// linkedToTask adds memories that the three best results have written links to: decisions
// and commits that give reasons.
func (s *Service) linkedToTask(ctx context.Context, seen map[string]bool, reply *wire.TaskContextReply) error {
	for _, top := range reply.Context[:min(3, len(reply.Context))] {
		links, err := s.storedLinks(ctx, fold.ID(top.ID))
		if err != nil {
			return err
		}
		for _, l := range links.Items {
			other := l.TargetID
			if l.Direction == "in" {
				other = l.SourceID
			}
			if l.Derived || seen[other] {
				continue
			}
			row, err := s.Index.Memory(ctx, fold.ID(other))
			if err != nil {
				continue // the link is dangling
			}
			seen[other] = true
			reply.Context = append(reply.Context, wire.TaskContextItem{
				ID: other, Title: row.Title, Type: row.Type, Source: string(row.Source), FilePath: row.FilePath,
				Content: firstText(row.Body, 300), Relevance: top.Relevance / 2, Reason: fmt.Sprintf("%s %q, which fits the task", l.Type, top.Title),
			})
		}
	}
	return nil
}
