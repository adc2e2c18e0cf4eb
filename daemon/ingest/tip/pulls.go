package tip

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/regex"
	"github.com/foldwatch/foldwatch/meta/secret"
	"github.com/foldwatch/foldwatch/meta/shown"
)

const (
	// MaxPullText is how much of the text of a merged request is kept, in bytes.
	MaxPullText = 64 << 10
	PullType    = "pr"
	pullWeight  = 1 // of the link to its commit: the forge says so
)

// RememberPulls makes memories of merged requests, once: what is there stays as it
// is, and what was deleted by hand stays deleted. Those that hold a credential are
// left out.
func (fo *Follower) RememberPulls(ctx context.Context, list []wire.MergeRequest) (r progress.Report, err error) {
	if fo.Store == nil || fo.NoCommits || len(list) == 0 {
		return r, nil
	}
	gone, err := fo.State.Gone(ctx, fo.Slug)
	if err != nil {
		return r, err
	}
	var writes []gitops.Write
	var written []string
	for i := range list {
		w, ok := pullWrite(fo.Slug, &list[i])
		if !ok || gone[w.ID] || slices.Contains(written, w.Path) {
			continue
		}
		if _, err := fo.Folder.Lstat(w.Path); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		writes, written = append(writes, w), append(written, w.Path)
	}
	if len(writes) == 0 {
		return r, nil
	}
	if _, _, err := fo.Store.PutMany(ctx, writes); err != nil {
		return r, fmt.Errorf("remember merged requests: %w", err)
	}
	return fo.Indexer.Fold(ctx, written, nil)
}

// pullWrite is the memory file of a merged request; false for one that gets none.
func pullWrite(slug string, p *wire.MergeRequest) (w gitops.Write, ok bool) {
	m := pullMemory(slug, p, false)
	none := func(fold.ID) string { return "" }
	b := fold.Encode(m, none)
	if _, err := fold.Decode(slug, m.Path, b); err != nil {
		// Its text looks like something that no memory may hold, as with commits.
		m = pullMemory(slug, p, true)
		b = fold.Encode(m, none)
		if _, err := fold.Decode(slug, m.Path, b); err != nil {
			return w, false
		}
	}
	return gitops.Write{ID: m.ID, Path: m.Path, New: b}, len(secret.Scan(b)) == 0
}

// pullMemory is the memory of a merged request: a function of what was sent and of
// nothing else, so that every machine that is told writes the same. What people wrote
// stands in a fence: nothing in it is a link, an image or a heading.
func pullMemory(slug string, p *wire.MergeRequest, indent bool) *fold.Memory {
	kind, mark := "Pull request", "#"
	if p.Forge == "gitlab" {
		kind, mark = "Merge request", "!"
	}
	of := fmt.Sprintf("%s/%s%s%d", p.Host, p.Repo, mark, p.Number)
	id := fold.PullID(slug, p.Host+"/"+p.Repo, p.Number)
	subject := shown.Line(p.Title)
	title := describe.Clip(subject, describe.MaxTitle)
	if title == "" {
		title = kind + " " + of
	}
	text := strings.TrimSpace(shown.Text(p.Text[:min(len(p.Text), MaxPullText)]))
	m := &fold.Memory{
		ID: id, Path: id.Path(), Title: title, Aliases: []string{title}, Type: PullType, Source: fold.SourceGit,
		Author: describe.Clip(shown.Line(p.Author), describe.MaxTitle), Commit: p.Commit, CreatedAt: p.At, UpdatedAt: p.At,
		Keywords: describe.Keywords(subject + "\n" + text), Tags: pullTags(p.Labels),
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s %s", title, kind, of)
	if from := branchShown(p.From); from != "" {
		fmt.Fprintf(&b, ", from `%s`", from)
	}
	if onto := branchShown(p.Onto); onto != "" {
		fmt.Fprintf(&b, ", merged into `%s`", onto)
	}
	b.WriteString(".\n")
	if title != subject && subject != "" {
		text = strings.TrimSpace(subject + "\n\n" + text)
	}
	if text != "" {
		if indent {
			text = "    " + strings.ReplaceAll(text, "\n", "\n    ")
		}
		fence := fenceOf(text)
		fmt.Fprintf(&b, "\nWhat its author wrote there:\n\n%stext\n%s\n%s\n", fence, text, fence)
	}
	m.Body = b.String()
	return m
}

// pulledFrom is what pullMemory says that a merged request is of.
var pulledFrom = regex.Later(`(?m)^(?:Pull|Merge) request ([a-z0-9._:/-]{1,768})[#!]([1-9][0-9]{0,8})[.,]`)

// wholeOid is the name of a commit, in either format.
var wholeOid = regex.Later(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// PullLinks ties the memory of a merged request to that of the commit that it became
// on its branch. One that was squashed or rebased is that commit; a merge has no memory,
// and the link leads nowhere. It is not written into the file: which machine has seen
// the commit makes no difference to that.
func PullLinks(slug string, m *fold.Memory) []fold.Link {
	of, n, ok := PulledFrom(m)
	if !ok || !wholeOid().MatchString(m.Commit) || m.ID != fold.PullID(slug, of, n) {
		return nil
	}
	return []fold.Link{{
		From: m.ID, To: fold.CommitID(slug, m.Commit), Type: fold.LinkRelated, Derived: true, Weight: pullWeight,
		Evidence: fmt.Sprintf("%s was merged as commit %s", of, m.Commit[:7]),
	}}
}

// PulledFrom returns which request of which host/repo m says to be the memory of. What
// it says is not known to be true: its id shows that.
func PulledFrom(m *fold.Memory) (hostRepo string, n int, ok bool) {
	if m.Type != PullType {
		return "", 0, false
	}
	found := pulledFrom().FindStringSubmatch(m.Body)
	if found == nil {
		return "", 0, false
	}
	n, err := strconv.Atoi(found[2])
	return found[1], n, err == nil
}

// fenceOf returns a fence of tildes that nothing in text ends.
func fenceOf(text string) string {
	n := 3
	for run := 0; len(text) > 0; text = text[1:] {
		if text[0] != '~' {
			run = 0
			continue
		}
		run++
		n = max(n, run+1)
	}
	return strings.Repeat("~", n)
}

// branchShown is the name of a branch as it may stand between backquotes.
func branchShown(name string) string {
	return describe.Clip(strings.ReplaceAll(shown.Line(name), "`", ""), describe.MaxTitle)
}

// pullTags returns tags of the labels that can be: lower case, words joined.
func pullTags(labels []string) (tags []string) {
	for _, l := range labels {
		tag := strings.Trim(strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
				return r
			case r >= 'A' && r <= 'Z':
				return r + 'a' - 'A'
			case r == ' ', r == '_', r == ':', r == '/':
				return '-'
			}
			return -1
		}, l), "-")
		if tag != "" && len(tag) <= 24 && len(tags) < describe.MaxTags && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}
