package apitest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Search finds memories whose text holds a word of the query.
func (d *Fake) Search(_ context.Context, sc fold.Scope, slug string, in wire.SearchRequest) (wire.SearchReply, error) {
	h, unlock, err := d.open("Search", sc, slug)
	defer unlock()
	if err != nil {
		return wire.SearchReply{}, err
	}
	out := wire.SearchReply{Query: in.Query}
	h.find(in, &out)
	err = page(in, &out)
	return out, err
}

// SearchAll searches every project of the scope.
func (d *Fake) SearchAll(_ context.Context, sc fold.Scope, in wire.SearchRequest) (wire.SearchReply, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.failing("SearchAll"); err != nil {
		return wire.SearchReply{}, err
	}
	out := wire.SearchReply{Query: in.Query}
	for _, h := range d.projects {
		if sc.CanRead(h.project.Slug) {
			h.find(in, &out)
		}
	}
	err := page(in, &out)
	return out, err
}

func (h *held) find(in wire.SearchRequest, out *wire.SearchReply) {
	for _, m := range h.sorted() {
		if in.Source != "" && m.Source != in.Source {
			continue
		}
		hits := 0
		for w := range strings.FieldsSeq(strings.ToLower(in.Query)) {
			if strings.Contains(strings.ToLower(m.Title+" "+m.Content), w) {
				hits++
			}
		}
		if hits == 0 {
			continue
		}
		r := wire.SearchResult{
			ID: m.ID, Type: m.Type, Title: m.Title, Snippet: m.Content, Score: float64(hits), Relevance: 1, Strength: 0.5, Project: m.Project,
			Metadata:  wire.ResultMetadata{Source: m.Source, FilePath: m.FilePath, Path: m.Path, Author: m.Author, Tags: m.Tags},
			CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
		}
		if in.IncludeChunks == nil || *in.IncludeChunks {
			r.MatchedChunks = []wire.MatchedChunk{{ID: m.ID, NodeType: "function", NodeName: "f", StartLine: 3, EndLine: 9, Score: 1, Snippet: m.Content}}
		}
		if in.Explain {
			r.Explain = []wire.ScoreTerm{{Name: "words", Value: 1, Weight: float64(hits), Adds: float64(hits)}}
		}
		out.Results = append(out.Results, r)
	}
}

// page cuts what was found to the page that in asks for.
func page(in wire.SearchRequest, out *wire.SearchReply) error {
	slices.SortStableFunc(out.Results, func(a, b wire.SearchResult) int { return cmp.Compare(b.Score, a.Score) })
	out.Total = len(out.Results)
	c := wire.SearchCursor{At: time.UnixMilli(0), Of: in.Sum()}
	if in.Cursor != "" {
		var err error
		if c, err = wire.ParseSearchCursor(in.Cursor); err != nil {
			return err
		}
	}
	out.Cursor = c.String()
	out.Results = out.Results[min(c.Offset, out.Total):]
	out.Results = out.Results[:min(len(out.Results), cmp.Or(in.Limit, 10))]
	if next := c.Plus(len(out.Results)); next.Offset < out.Total {
		out.NextCursor = next.String()
	}
	return nil
}

// Context returns the direct neighbours.
func (d *Fake) Context(_ context.Context, sc fold.Scope, slug, id string, _ wire.ContextRequest) (wire.ContextReply, error) {
	h, unlock, err := d.open("Context", sc, slug)
	defer unlock()
	if err != nil {
		return wire.ContextReply{}, err
	}
	m, err := h.memory(id)
	if err != nil {
		return wire.ContextReply{}, err
	}
	out := wire.ContextReply{Memory: h.full(m)}
	for _, l := range append(out.Memory.Links, out.Memory.Backlinks...) {
		end := l.TargetID
		if l.Direction == "in" {
			end = l.SourceID
		}
		out.RelatedMemories = append(out.RelatedMemories, wire.RelatedMemory{MemoryItem: item(h.memories[end]), Relationship: l.Type, Direction: l.Direction, Depth: 1})
	}
	return out, nil
}

// TaskContext returns every memory, with the task as the reason.
func (d *Fake) TaskContext(_ context.Context, sc fold.Scope, slug string, in wire.TaskContextRequest) (wire.TaskContextReply, error) {
	h, unlock, err := d.open("TaskContext", sc, slug)
	defer unlock()
	if err != nil {
		return wire.TaskContextReply{}, err
	}
	out := wire.TaskContextReply{Task: in.Task}
	for _, m := range h.sorted() {
		out.Context = append(out.Context, wire.TaskContextItem{ID: m.ID, Title: m.Title, Type: m.Type, Source: m.Source, Content: m.Content, Relevance: 1, Reason: "for " + in.Task})
	}
	return out, nil
}

// Reindex queues a job.
func (d *Fake) Reindex(_ context.Context, sc fold.Scope, slug string, _ wire.Reindex) (wire.JobRef, error) {
	_, unlock, err := d.open("Reindex", sc, slug)
	defer unlock()
	if err != nil {
		return wire.JobRef{}, err
	}
	return wire.JobRef{JobID: d.job(slug).ID}, nil
}

// Finish completes all jobs and says so.
func (d *Fake) Finish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.jobs {
		d.jobs[i].Status = "completed"
		d.emit("job:completed", d.jobs[i].Project, map[string]any{"id": d.jobs[i].ID})
	}
}

// Jobs lists jobs newest first.
func (d *Fake) Jobs(_ context.Context, _ fold.Scope, slug string, limit int) (wire.JobList, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.failing("Jobs"); err != nil {
		return wire.JobList{}, err
	}
	var out wire.JobList
	for _, j := range slices.Backward(d.jobs) {
		if (slug == "" || j.Project == slug) && (limit == 0 || len(out.Items) < limit) {
			out.Items = append(out.Items, j)
		}
	}
	return out, nil
}

// Job returns one job.
func (d *Fake) Job(_ context.Context, _ fold.Scope, id string) (wire.Job, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.failing("Job"); err != nil {
		return wire.Job{}, err
	}
	for _, j := range d.jobs {
		if j.ID == id {
			return j, nil
		}
	}
	return wire.Job{}, fmt.Errorf("job %s: %w", id, fold.ErrNotFound)
}

// Log has one commit a memory.
func (d *Fake) Log(_ context.Context, sc fold.Scope, slug, id string, _ int) (wire.LogReply, error) {
	h, unlock, err := d.open("Log", sc, slug)
	defer unlock()
	if err != nil {
		return wire.LogReply{}, err
	}
	var out wire.LogReply
	for _, m := range h.sorted() {
		if id == "" || id == m.ID {
			out.Items = append(out.Items, wire.CommitInfo{Rev: m.ContentHash[:12], Time: m.UpdatedAt, Message: "add " + m.Title, IDs: []string{m.ID}})
		}
	}
	return out, nil
}

// Diff is a fixed one.
func (d *Fake) Diff(_ context.Context, sc fold.Scope, slug, rev string) (wire.DiffReply, error) {
	_, unlock, err := d.open("Diff", sc, slug)
	defer unlock()
	return wire.DiffReply{From: rev, To: "tip", Diff: "-a\n+b\n"}, err
}

// Restore answers with the memory as it is.
func (d *Fake) Restore(_ context.Context, sc fold.Scope, slug string, in wire.Restore) (wire.WriteReply, error) {
	h, unlock, err := d.open("Restore", sc, slug)
	defer unlock()
	if err != nil {
		return wire.WriteReply{}, err
	}
	m, err := h.memory(in.ID)
	if err != nil {
		return wire.WriteReply{}, err
	}
	return reply(m, false), nil
}

// Lost finds nothing.
func (d *Fake) Lost(_ context.Context, sc fold.Scope, slug string) (wire.LostList, error) {
	_, unlock, err := d.open("Lost", sc, slug)
	defer unlock()
	return wire.LostList{Items: []wire.LostMemory{}}, err
}

// ForgetLost forgets nothing.
func (d *Fake) ForgetLost(_ context.Context, sc fold.Scope, slug string) (wire.LostForgotten, error) {
	_, unlock, err := d.open("ForgetLost", sc, slug)
	defer unlock()
	return wire.LostForgotten{Count: 1}, err
}

// Undo changes nothing.
func (d *Fake) Undo(_ context.Context, sc fold.Scope, slug string, in wire.Undo) (wire.Undone, error) {
	_, unlock, err := d.open("Undo", sc, slug)
	defer unlock()
	return wire.Undone{Rev: in.Rev, Paths: []string{}}, err
}

// Decay finds nothing that has faded.
func (d *Fake) Decay(_ context.Context, sc fold.Scope, slug string, in wire.DecayRequest) (wire.DecayReply, error) {
	h, unlock, err := d.open("Decay", sc, slug)
	defer unlock()
	if err != nil {
		return wire.DecayReply{}, err
	}
	return wire.DecayReply{Threshold: in.Threshold, Checked: len(h.memories), Items: []wire.FadedMemory{}}, nil
}

// Prime lists titles.
func (d *Fake) Prime(_ context.Context, sc fold.Scope, slug string, _ wire.PrimeQuery) (wire.Prime, error) {
	h, unlock, err := d.open("Prime", sc, slug)
	defer unlock()
	if err != nil {
		return wire.Prime{}, err
	}
	var text strings.Builder
	text.WriteString("# Memory of the project " + slug + "\n")
	for _, m := range h.memories {
		text.WriteString("- " + m.Title + "\n")
	}
	return wire.Prime{Project: slug, State: "ready", Memories: len(h.memories), Text: text.String()}, nil
}

// ReportEvent forgets what it is told.
func (d *Fake) ReportEvent(_ context.Context, sc fold.Scope, slug, _ string, _ wire.SessionEvent) error {
	_, unlock, err := d.open("ReportEvent", sc, slug)
	defer unlock()
	return err
}

// SessionEvents are none.
func (d *Fake) SessionEvents(_ context.Context, sc fold.Scope, slug, _ string) (wire.SessionEvents, error) {
	_, unlock, err := d.open("SessionEvents", sc, slug)
	defer unlock()
	return wire.SessionEvents{Items: []wire.SessionEvent{}}, err
}
