package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/secret"
)

// publishTypes are what is published where nobody names a memory: what is meant
// to last, and for everybody.
func publishTypes() []string {
	return []string{"decision", "convention", "spec", "code_pattern", "bug_fix"}
}

// published is what `publish --json` prints.
type published struct {
	Commit  string          `json:"commit,omitempty"` // none if there was nothing to commit
	Files   []publishedFile `json:"files"`
	Skipped []publishedFile `json:"skipped"`
}

type publishedFile struct {
	ID     string `json:"id"`
	Title  string `json:"title,omitempty"`
	Path   string `json:"path,omitempty"`
	Change string `json:"change,omitempty"` // added, updated or unchanged
	Reason string `json:"reason,omitempty"` // why it is left out
}

func publishCommand(app *App) *cobra.Command {
	var to, message string
	var dry bool
	c := &cobra.Command{
		Use:   "publish [ID...]",
		Short: "Copy memories onto the branch you are on, as a commit of yours",
		Long: "Writes memories as plain markdown into a folder of the checkout and commits those\n" +
			"files, and nothing else, with your own git, name and hooks. Without an ID these are all shared\n" +
			"memories of type " + strings.Join(publishTypes(), ", ") + ", and those published there\n" +
			"before. A second time only what changed is written. Nothing is pushed.",
		Example: "foldwatch publish --dry-run\nfoldwatch publish 1f2e3d4c5b6a7988 --to docs/decisions",
		Args:    between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids := make([]string, 0, len(args))
			for _, a := range args {
				id, err := memoryID(a)
				if err != nil {
					return err
				}
				ids = append(ids, id)
			}
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				p := &publisher{e: app, c: c, slug: slug, message: message}
				if err := p.open(cmd.Context(), to); err != nil {
					return err
				}
				return p.publish(cmd.Context(), ids, dry)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&to, "to", "docs/memory", "folder in the checkout")
	f.StringVarP(&message, "message", "m", "", "commit message (default: made from the titles)")
	f.BoolVar(&dry, "dry-run", false, "write nothing; say what would be")
	return c
}

// A publisher copies memories of one checkout to a folder in it.
type publisher struct {
	e       *App
	c       local.Client
	slug    string
	message string

	layout *usergit.Repo
	to     string             // below the work tree, with forward slashes
	there  map[fold.ID]string // names of the copies that are in the folder
	hashes map[fold.ID]string // of what they were made from
	reply  published
}

// open finds the checkout that is meant and looks at what was published.
func (p *publisher) open(ctx context.Context, to string) error {
	pr, err := p.c.Project(ctx, p.slug)
	if err != nil {
		return err
	}
	w, err := p.e.workTree(ctx, p.c, p.slug)
	if err != nil {
		return err
	}
	p.layout = w.Repo
	p.to = path.Clean(filepath.ToSlash(to))
	abs := filepath.Join(p.layout.WorkTree, filepath.FromSlash(p.to))
	if !filepath.IsLocal(filepath.FromSlash(p.to)) || p.to == ".git" || strings.HasPrefix(p.to, ".git/") {
		return usagef("foldwatch publish --to docs/memory", "--to %s: name a folder in the checkout", to)
	}
	for _, co := range pr.Checkouts {
		if rel, err := filepath.Rel(co.Fold, abs); err == nil && filepath.IsLocal(rel) {
			return usagef("foldwatch publish --to docs/memory", "--to %s: memories lie there already; they are published elsewhere", to)
		}
	}
	return p.look()
}

// look reads which memories have a copy in the folder.
func (p *publisher) look() error {
	p.there, p.hashes = map[fold.ID]string{}, map[fold.ID]string{}
	root, err := os.OpenRoot(p.layout.WorkTree)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), p.to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil { // it is no folder, or leads out of the checkout
		return fmt.Errorf("--to %s: %w: %w", p.to, err, fold.ErrInvalid)
	}
	for _, en := range entries {
		if !en.Type().IsRegular() || path.Ext(en.Name()) != ".md" {
			continue
		}
		b, err := root.ReadFile(path.Join(p.to, en.Name()))
		if err != nil {
			return err
		}
		if id, hash, ok := fold.CopyOf(b); ok {
			p.there[id], p.hashes[id] = en.Name(), hash
		}
	}
	return nil
}

func (p *publisher) publish(ctx context.Context, ids []string, dry bool) error {
	p.reply = published{Files: []publishedFile{}, Skipped: []publishedFile{}}
	memories, err := p.choose(ctx, ids)
	if err != nil {
		return err
	}
	pub := &usergit.Publication{Files: p.copies(memories), Stdin: p.e.Stdin, Output: p.e.Stderr}
	if len(ids) > 0 {
		for _, s := range p.reply.Skipped {
			return fold.WithHint(fmt.Errorf("memory %s is not published: %s: %w", s.ID, s.Reason, fold.ErrForbidden), "leave it out, or change the memory")
		}
	}
	if len(pub.Files) > 0 {
		if dry {
			err = p.layout.MayPublish(ctx, pub)
		} else {
			pub.Message = p.commitMessage()
			p.reply.Commit, err = p.layout.PublishFiles(ctx, pub)
		}
		if err != nil {
			return err
		}
	}
	return p.e.Emit(p.reply, func(out terminal.Printer) { p.print(out, dry) })
}

// choose returns the memories that are meant.
func (p *publisher) choose(ctx context.Context, ids []string) ([]wire.Memory, error) {
	named := len(ids) > 0
	if !named {
		// A list does not wait for what was just written; a search can.
		if _, err := p.c.Search(ctx, p.slug, wire.SearchRequest{Query: "decision", Limit: 1, WaitForPending: true}); err != nil {
			return nil, err
		}
		for _, typ := range publishTypes() {
			for cursor := ""; ; {
				list, err := p.c.ListMemories(ctx, p.slug, wire.ListQuery{Type: typ, SortBy: "created_at", SortDir: "asc", Limit: 200, Cursor: cursor})
				if err != nil {
					return nil, err
				}
				for _, m := range list.Items {
					if m.Path != "" && m.Source != string(fold.SourceFile) {
						ids = append(ids, m.ID)
					}
				}
				if cursor = list.NextCursor; cursor == "" {
					break
				}
			}
		}
		for id := range p.there {
			ids = append(ids, string(id))
		}
	}
	slices.Sort(ids)
	var memories []wire.Memory
	for _, id := range slices.Compact(ids) {
		m, err := p.c.GetMemory(ctx, p.slug, id)
		if errors.Is(err, fold.ErrNotFound) && !named {
			p.skip(wire.Memory{ID: id}, "it is gone from fold/; its copy "+path.Join(p.to, p.there[fold.ID(id)])+" stays")
			continue
		}
		if err != nil {
			return nil, err
		}
		memories = append(memories, m)
	}
	return memories, nil
}

func (p *publisher) skip(m wire.Memory, reason string) {
	p.reply.Skipped = append(p.reply.Skipped, publishedFile{ID: m.ID, Title: m.Title, Reason: reason})
}

// copies returns the files to write, and notes what becomes of each memory.
func (p *publisher) copies(memories []wire.Memory) map[string][]byte {
	var list []*fold.Memory
	links := map[string]string{} // titles by id
	var entries []fold.ResolverEntry
	for _, m := range memories {
		if m.Visibility == "local" {
			p.skip(m, "its visibility is local")
			continue
		}
		if found := secret.Scan([]byte(m.Title + "\n" + m.Content)); len(found) > 0 {
			p.skip(m, fmt.Sprintf("it holds what looks like a credential (%s)", found[0].Rule))
			continue
		}
		fm := &fold.Memory{
			ID: fold.ID(m.ID), Path: m.Path, Title: m.Title, Type: m.Type, Author: m.Author, Tags: m.Tags,
			OriginalDate: m.OriginalDate, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, Body: m.Content,
		}
		for _, l := range m.Links {
			if l.Derived || l.Type == string(fold.LinkReferences) {
				continue // what the text itself links to stands there
			}
			fm.Links = append(fm.Links, fold.Link{From: fm.ID, To: fold.ID(l.TargetID), Type: fold.LinkType(l.Type), Weight: 1})
		}
		for _, l := range m.Links {
			links[l.TargetID] = l.Title
		}
		links[m.ID] = m.Title
		list = append(list, fm)
		entries = append(entries, fold.ResolverEntry{ID: fm.ID, Path: m.Path, Title: m.Title, Aliases: m.Aliases})
	}
	names := p.names(list)
	resolver := fold.NewResolver(entries)
	at := func(target string) fold.CopyTarget {
		id, ok := resolver.Resolve(target)
		if !ok {
			parsed, err := fold.ParseID(strings.TrimSuffix(path.Base(target), ".md"))
			if err != nil {
				return fold.CopyTarget{}
			}
			id = parsed
		}
		return fold.CopyTarget{File: names[id], Title: links[string(id)]}
	}
	files := map[string][]byte{}
	for _, m := range list {
		b := fold.EncodeCopy(m, at)
		f := publishedFile{ID: string(m.ID), Title: m.Title, Path: path.Join(p.to, names[m.ID]), Change: "added"}
		if _, ok := p.there[m.ID]; ok {
			f.Change = "updated"
		}
		if _, hash, _ := fold.CopyOf(b); hash == p.hashes[m.ID] {
			f.Change = "unchanged"
		} else {
			files[f.Path] = b
		}
		p.reply.Files = append(p.reply.Files, f)
	}
	return files
}

// names returns the files of all copies there are or will be. A copy keeps the
// name it has.
func (p *publisher) names(list []*fold.Memory) map[fold.ID]string {
	names, taken := map[fold.ID]string{}, map[string]bool{}
	for id, name := range p.there {
		names[id], taken[name] = name, true
	}
	for _, m := range list {
		if names[m.ID] != "" {
			continue
		}
		name := fold.CopyName(m)
		if taken[name] {
			name = string(m.ID) + ".md"
		}
		names[m.ID], taken[name] = name, true
	}
	return names
}

func (p *publisher) commitMessage() string {
	var changed []publishedFile
	for _, f := range p.reply.Files {
		if f.Change != "unchanged" {
			changed = append(changed, f)
		}
	}
	var b bytes.Buffer
	switch {
	case p.message != "":
		fmt.Fprintf(&b, "%s\n", strings.TrimSpace(p.message))
	case len(changed) == 1:
		fmt.Fprintf(&b, "Publish memory %q\n", terminal.Clean(changed[0].Title))
	default:
		fmt.Fprintf(&b, "Publish %d memories to %s\n\n", len(changed), p.to)
		for i, f := range changed {
			if i == 50 {
				fmt.Fprintf(&b, "- and %d more\n", len(changed)-i)
				break
			}
			fmt.Fprintf(&b, "- %s\n", terminal.Clean(f.Title))
		}
	}
	fmt.Fprintf(&b, "\n%s: %d\n", usergit.TrailerPublish, len(changed))
	return b.String()
}

func (p *publisher) print(out terminal.Printer, dry bool) {
	for _, f := range p.reply.Files {
		if f.Change != "unchanged" {
			out.Printf("%-8s %s\n", f.Change, f.Path)
		}
	}
	msg := p.e.Messages(false)
	for _, s := range p.reply.Skipped {
		msg.Printf("left out: %s %s: %s\n", s.ID, s.Title, s.Reason)
	}
	switch {
	case p.reply.Commit != "":
		msg.Printf("committed %s; nothing is pushed\n", p.reply.Commit[:min(12, len(p.reply.Commit))])
	case dry:
		msg.Printf("nothing was written (--dry-run)\n")
	default:
		msg.Printf("nothing changed since it was published\n")
	}
}
