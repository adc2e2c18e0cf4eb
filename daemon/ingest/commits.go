package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/secret"
)

const (
	newCommits   = 1000 // most commits one move of the tip makes memories of
	commitFiles  = 50   // files a commit's memory names and links
	commitMerged = 2    // parents from which a commit is a merge
)

// commitMemories makes memories of the commits after cursor up to the tip, and
// of as many before it as history says. Merges and the commits of bots are
// left out.
func (in *Ingester) commitMemories(ctx context.Context, cursor, tip string, history int) error {
	var commits []gitops.Commit
	if cursor != "" && cursor != tip {
		list, err := in.Layout.Commits(ctx, cursor, tip, newCommits)
		if err != nil {
			return err
		}
		commits = list
	}
	if history > 0 {
		list, err := in.Layout.Commits(ctx, "", tip, history)
		if err != nil {
			return err
		}
		commits = append(commits, list...)
	}
	for _, c := range commits {
		if c.Parents >= commitMerged || isBot(c) {
			continue
		}
		m := in.commitMemory(c)
		b := fold.Encode(m, func(id fold.ID) string { return in.pathOf(c, id) })
		if len(secret.Scan(b)) > 0 {
			continue // a message that holds a credential is not copied
		}
		err := in.put(ctx, gitops.Write{ID: m.ID, Path: m.Path, New: b})
		if err != nil && !errors.Is(err, fold.ErrConflict) {
			return fmt.Errorf("commit %.10s: %w", c.Oid, err)
		}
	}
	return nil
}

// commitMemory is the memory of one commit: a function of the commit alone.
func (in *Ingester) commitMemory(c gitops.Commit) *fold.Memory {
	id := fold.CommitID(in.Slug, c.Oid)
	title := clipRunes(strings.TrimSpace(c.Subject), maxTitle)
	if title == "" {
		title = "Commit " + c.Oid[:10]
	}
	m := &fold.Memory{
		ID: id, Path: id.Path(), Title: title, Aliases: []string{title}, Type: "commit", Source: fold.SourceGit,
		Author: c.AuthorName, Commit: c.Oid, CreatedAt: c.Time.UTC(), UpdatedAt: c.Time.UTC(),
		Keywords: Keywords(c.Subject + "\n" + c.Body),
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", title)
	if text := strings.TrimSpace(c.Body); text != "" {
		fmt.Fprintf(&b, "\n%s\n", text)
	}
	rules, dir := in.Rules(), in.foldPrefix()
	var files []string
	for _, f := range c.Files {
		if rules.Eligible(f, dir) {
			files = append(files, f)
		}
	}
	if len(files) > 0 {
		b.WriteString("\n## Files\n")
		for i, f := range files {
			if i == commitFiles {
				fmt.Fprintf(&b, "- and %d more\n", len(files)-commitFiles)
				break
			}
			fmt.Fprintf(&b, "- `%s`\n", f)
			m.Links = append(m.Links, fold.Link{From: id, To: fold.FileID(in.Slug, f), Type: fold.LinkModifies, Weight: 1})
		}
	}
	m.Body = b.String()
	return m
}

func (in *Ingester) pathOf(c gitops.Commit, id fold.ID) string {
	for _, f := range c.Files {
		if fold.FileID(in.Slug, f) == id {
			return f
		}
	}
	return ""
}

// isBot reports whether a program made the commit, by the name it goes by.
func isBot(c gitops.Commit) bool {
	name := strings.ToLower(c.AuthorName + " " + c.AuthorEmail)
	return strings.Contains(name, "[bot]") || strings.Contains(name, "dependabot") || strings.Contains(name, "renovate") ||
		strings.HasPrefix(c.Subject, "fold: ")
}
