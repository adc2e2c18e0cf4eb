package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

type inAddMemory struct {
	inProject
	wire.MemoryCreate
}

type inUpdateMemory struct {
	ID string `json:"id"`
	inProject
	wire.MemoryUpdate
}

type inDeleteMemory struct {
	ID           string `json:"id"`
	ExpectedHash string `json:"expected_hash,omitempty"`
	inProject
}

type inGetMemory struct {
	ID        string `json:"id"`
	StartLine int    `json:"start_line,omitempty" minimum:"0"`
	EndLine   int    `json:"end_line,omitempty" minimum:"0"`
	inProject
}

type inListMemories struct {
	Source        string   `json:"source,omitempty" enum:"file,agent,git"`
	Type          string   `json:"type,omitempty"`
	Author        string   `json:"author,omitempty"`
	Tags          []string `json:"tags,omitempty"`
	Q             string   `json:"q,omitempty"`
	CreatedAfter  string   `json:"created_after,omitempty"`
	CreatedBefore string   `json:"created_before,omitempty"`
	Limit         int      `json:"limit,omitempty" minimum:"0" maximum:"200"`
	Cursor        string   `json:"cursor,omitempty"`
	inProject
}

type memoryGot struct {
	About  string           `json:"about"`
	Memory wire.Memory      `json:"memory"`
	Source *wire.SourceText `json:"source,omitempty"`
}

type memoriesListed struct {
	About      string            `json:"about"`
	Items      []wire.MemoryItem `json:"items"`
	Total      int               `json:"total"`
	NextCursor string            `json:"next_cursor,omitempty"`
}

func memoryTools() []tool {
	return []tool{
		define("memory_add", "Add a memory", adds,
			"Remember what code does not tell: a decision and its reasons, the cause of a bug, a convention. The same slug again replaces. Credentials are refused.",
			func(ctx context.Context, c *call, in inAddMemory) (wire.WriteReply, string, error) {
				slug, err := c.project(ctx, in.Project)
				if err != nil {
					return wire.WriteReply{}, "", err
				}
				r, err := c.handlers.AddMemory(ctx, c.scope, slug, in.MemoryCreate)
				return r, written(r, "Added", "Updated"), err
			}),
		define("memory_update", "Update a memory", repeats,
			"Change the named fields only. replace changes one exact passage, section what stands under a heading; links are added. Send the content_hash you read as expected_hash: if it changed since, you get both versions instead.",
			func(ctx context.Context, c *call, in inUpdateMemory) (wire.WriteReply, string, error) {
				slug, err := c.project(ctx, in.Project)
				if err != nil {
					return wire.WriteReply{}, "", err
				}
				r, err := c.handlers.UpdateMemory(ctx, c.scope, slug, in.ID, in.MemoryUpdate)
				return r, written(r, "Updated", "Updated"), err
			}),
		define("memory_delete", "Delete a memory", destroys,
			"Delete a memory; the user can restore it. Rather correct what is wrong.",
			func(ctx context.Context, c *call, in inDeleteMemory) (wire.WriteReply, string, error) {
				slug, err := c.project(ctx, in.Project)
				if err != nil {
					return wire.WriteReply{}, "", err
				}
				r, err := c.handlers.DeleteMemory(ctx, c.scope, slug, in.ID, in.ExpectedHash)
				return r, written(r, "Deleted", "Deleted"), err
			}),
		define("memory_get", "Get a memory", reads,
			"Read a memory in full, with links and content_hash; with lines, those of the source file it describes.",
			getMemory),
		define("memory_list", "List memories", reads,
			"List memories by fields, newest first, without text. q is in title, path or context.",
			listMemories),
	}
}

func written(r wire.WriteReply, created, changed string) string {
	verb := changed
	if r.Created {
		verb = created
	}
	text := fmt.Sprintf("%s memory %s %s", verb, r.ID, quote(r.Title))
	if r.ContentHash != "" {
		text += ", content_hash " + r.ContentHash
	}
	if r.BlockedReason != "" {
		text += ". It is stored; " + line(r.BlockedReason)
	}
	return text + "."
}

func getMemory(ctx context.Context, c *call, in inGetMemory) (memoryGot, string, error) {
	slug, err := c.project(ctx, in.Project)
	if err != nil {
		return memoryGot{}, "", err
	}
	m, err := c.handlers.GetMemory(ctx, c.scope, slug, in.ID)
	if err != nil {
		return memoryGot{}, "", err
	}
	out := memoryGot{About: about, Memory: m}
	if in.StartLine > 0 || in.EndLine > 0 {
		if in.EndLine > 0 && in.EndLine < in.StartLine {
			return memoryGot{}, "", fmt.Errorf("end_line %d lies before start_line %d: %w", in.EndLine, in.StartLine, fold.ErrInvalid)
		}
		if m.FilePath != "" && m.Source == "file" {
			src, err := c.handlers.MemorySource(ctx, c.scope, slug, in.ID, in.StartLine, in.EndLine)
			if err != nil {
				return memoryGot{}, "", err
			}
			out.Source, out.Memory.Content = &src, clip(m.Content, 400)
			label := labelOf(m)
			label.Path = ""
			return out, fmt.Sprintf("%s, lines %d to %d:\n%s", line(src.FilePath), src.StartLine, src.EndLine, frame(label, src.Content)), nil
		}
		out.Memory.Content = lines(m.Content, in.StartLine, in.EndLine)
	}
	var text strings.Builder
	text.WriteString(frame(labelOf(m), out.Memory.Content))
	if m.Stale {
		text.WriteString("\nThe file it describes has changed since.")
	}
	for _, l := range m.Links {
		fmt.Fprintf(&text, "\n→ %s %s %s", l.Type, l.TargetID, quote(l.Title))
	}
	for _, l := range m.Backlinks {
		fmt.Fprintf(&text, "\n← %s %s %s", l.Type, l.SourceID, quote(l.Title))
	}
	return out, text.String(), nil
}

// lines returns lines start to end of text, from 1, inclusive, 0 meaning the
// first and the last.
func lines(text string, start, end int) string {
	all := strings.SplitAfter(text, "\n")
	start = min(max(start, 1), len(all)+1)
	if end <= 0 || end > len(all) {
		end = len(all)
	}
	return strings.Join(all[start-1:max(end, start-1)], "")
}

func listMemories(ctx context.Context, c *call, in inListMemories) (memoriesListed, string, error) {
	slug, err := c.project(ctx, in.Project)
	if err != nil {
		return memoriesListed{}, "", err
	}
	q := wire.ListQuery{
		Source: in.Source, Type: in.Type, Author: in.Author, Tags: in.Tags, Q: in.Q, CreatedAfter: in.CreatedAfter, CreatedBefore: in.CreatedBefore,
		Limit: cmp.Or(in.Limit, 20), Cursor: in.Cursor,
	}
	list, err := c.handlers.ListMemories(ctx, c.scope, slug, q)
	if err != nil {
		return memoriesListed{}, "", err
	}
	for {
		out, text := memoryPage(list)
		if fits(out, text) || q.Limit == 1 {
			return out, text, nil
		}
		// A shorter page, so that its cursor is right.
		q.Limit = max(1, q.Limit/2)
		if list, err = c.handlers.ListMemories(ctx, c.scope, slug, q); err != nil {
			return memoriesListed{}, "", err
		}
	}
}

func memoryPage(list wire.MemoryList) (memoriesListed, string) {
	out := memoriesListed{About: about, Items: []wire.MemoryItem{}, Total: list.Total, NextCursor: list.NextCursor}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d memories. %s\n", len(list.Items), list.Total, about)
	for _, m := range list.Items {
		m.Title, m.Snippet, m.Project = clip(line(m.Title), 100), "", ""
		out.Items = append(out.Items, m)
		fmt.Fprintf(&b, "%s %s %s/%s%s%s %s\n", m.ID, quote(m.Title), m.Source, m.Type, after(" by ", m.Author), after(" ", m.FilePath), m.UpdatedAt.Format("2006-01-02"))
	}
	if list.NextCursor != "" {
		fmt.Fprintf(&b, "More: memory_list with cursor %s\n", quote(list.NextCursor))
	}
	return out, b.String()
}

// after returns a value behind its separator, or nothing.
func after(sep, v string) string {
	if v == "" {
		return ""
	}
	return sep + clip(line(v), 120)
}
