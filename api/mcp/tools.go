package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
)

// coreTools is the default toolset, in any order: tools/list is sorted by name.
func coreTools() []tool {
	return slices.Concat(projectTools(), memoryTools(), searchTools(), linkTools(), indexTools())
}

// inProject is the parameter that every tool has: a slug. Where it is missing,
// the project that the agent works in is meant.
type inProject struct {
	Project string `json:"project,omitempty"`
}

type projectItem struct {
	Slug  string   `json:"slug"`
	Name  string   `json:"name,omitempty"`
	Paths []string `json:"paths"`
}

type projectListed struct {
	Projects []projectItem `json:"projects"`
	Omitted  int           `json:"omitted,omitempty"`
}

type projectGot struct {
	Slug         string          `json:"slug"`
	Name         string          `json:"name,omitempty"`
	Paths        []string        `json:"paths"`
	State        string          `json:"state"`
	Reason       string          `json:"reason,omitempty"`
	Hint         string          `json:"hint,omitempty"`
	Memories     int             `json:"memories"`
	Chunks       int             `json:"chunks"`
	Links        int             `json:"links"`
	Queued       int             `json:"queued"`
	Files        wire.FileCounts `json:"files"`
	Progress     *wire.Progress  `json:"progress,omitempty"`
	VectorsDue   int             `json:"vectors_due"`
	ProblemCount int             `json:"problem_count"`
	Sync         string          `json:"sync"`
}

func paths(p wire.Project) []string {
	out := make([]string, 0, len(p.Checkouts))
	for _, c := range p.Checkouts {
		out = append(out, line(c.Path))
	}
	return out
}

func projectTools() []tool {
	type inGet struct {
		Slug string `json:"slug,omitempty"`
	}
	return []tool{
		define("project_list", "List projects", reads,
			"List the projects you can use: slugs and checkouts.",
			func(ctx context.Context, c *call, _ struct{}) (projectListed, string, error) {
				list, err := c.handlers.Projects(ctx, c.scope)
				if err != nil {
					return projectListed{}, "", err
				}
				out, text := fit(len(list.Items), func(_, n int) (projectListed, string) {
					out := projectListed{Projects: []projectItem{}, Omitted: len(list.Items) - n}
					var b strings.Builder
					for _, p := range list.Items[:n] {
						out.Projects = append(out.Projects, projectItem{Slug: p.Slug, Name: line(p.Name), Paths: paths(p)})
						fmt.Fprintf(&b, "%s  %s\n", p.Slug, strings.Join(paths(p), ", "))
					}
					return out, b.String() + omitted(out.Omitted)
				})
				return out, cmp.Or(text, "No project is registered. Ask the user to run: foldwatch up PATH"), nil
			}),
		define("project_get", "Get a project", reads,
			"State of a project: counts, what is queued, what is wrong and how to mend it.",
			func(ctx context.Context, c *call, in inGet) (projectGot, string, error) {
				slug, err := c.project(ctx, in.Slug)
				if err != nil {
					return projectGot{}, "", err
				}
				p, err := c.handlers.Project(ctx, c.scope, slug)
				if err != nil {
					return projectGot{}, "", err
				}
				st, err := c.handlers.ProjectStatus(ctx, c.scope, slug)
				if err != nil {
					return projectGot{}, "", err
				}
				out := projectGot{
					Slug: p.Slug, Name: line(p.Name), Paths: paths(p), State: st.State, Reason: line(st.Reason), Hint: st.Hint,
					Memories: st.Memories, Chunks: st.Chunks, Links: st.Links, Queued: st.Queued, Files: st.Files, ProblemCount: st.ProblemCount, Sync: st.Sync,
					Progress: st.Progress, VectorsDue: st.VectorsDue,
				}
				text := fmt.Sprintf("%s (%s) is %s: %d memories, %d chunks, %d links; files %d indexed, %d stale, %d failed, %d skipped; %d jobs queued.",
					out.Slug, strings.Join(out.Paths, ", "), out.State, out.Memories, out.Chunks, out.Links, out.Files.Indexed, out.Files.Stale, out.Files.Failed, out.Files.Skipped, out.Queued)
				if out.Progress != nil {
					text += " Now " + sentence(stageText(*out.Progress))
				}
				if out.VectorsDue > 0 {
					text += fmt.Sprintf(" %d memories are found by words only so far; their vectors follow.", out.VectorsDue)
				}
				if out.Reason != "" {
					text += " " + sentence(out.Reason)
				}
				if out.Hint != "" {
					text += " To mend it: " + out.Hint
				}
				return out, text, nil
			}),
	}
}

func omitted(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("(%d more left out to keep this short)\n", n)
}

func linkTools() []tool {
	type inAdd struct {
		SourceID string `json:"source_id"`
		TargetID string `json:"target_id"`
		LinkType string `json:"link_type,omitempty"`
		Context  string `json:"context,omitempty"`
		inProject
	}
	type inList struct {
		ID string `json:"id"`
		inProject
	}
	type listed struct {
		Links   []wire.Link `json:"links"`
		Omitted int         `json:"omitted,omitempty"`
	}
	return []tool{
		define("memory_link_add", "Link memories", adds,
			"Link a memory to another: related, references, depends_on, modifies, supersedes or your own word. context says why.",
			func(ctx context.Context, c *call, in inAdd) (wire.Link, string, error) {
				slug, err := c.project(ctx, in.Project)
				if err != nil {
					return wire.Link{}, "", err
				}
				l, err := c.handlers.AddLink(ctx, c.scope, slug, in.SourceID, wire.LinkCreate{TargetID: in.TargetID, Type: in.LinkType, Context: in.Context})
				return l, fmt.Sprintf("Linked %s to %s (%s).", in.SourceID, in.TargetID, cmp.Or(l.Type, in.LinkType, "related")), err
			}),
		define("memory_link_list", "List links", reads,
			"List the links of a memory, out and in.",
			func(ctx context.Context, c *call, in inList) (listed, string, error) {
				slug, err := c.project(ctx, in.Project)
				if err != nil {
					return listed{}, "", err
				}
				list, err := c.handlers.Links(ctx, c.scope, slug, in.ID)
				if err != nil {
					return listed{}, "", err
				}
				out, text := fit(len(list.Items), func(snippet, n int) (listed, string) {
					out := listed{Links: []wire.Link{}, Omitted: len(list.Items) - n}
					var b strings.Builder
					for _, l := range list.Items[:n] {
						l.Title, l.Context, l.Evidence = clip(line(l.Title), 100), clip(line(l.Context), snippet), clip(line(l.Evidence), snippet)
						out.Links = append(out.Links, l)
						other, arrow := l.TargetID, "→"
						if l.Direction == "in" {
							other, arrow = l.SourceID, "←"
						}
						fmt.Fprintf(&b, "%s %s %s %s", arrow, l.Type, other, quote(l.Title))
						if l.Derived {
							fmt.Fprintf(&b, ", derived: %s", quote(l.Evidence))
						}
						b.WriteByte('\n')
					}
					return out, b.String() + omitted(out.Omitted)
				})
				return out, cmp.Or(text, "It has no links."), nil
			}),
	}
}
