package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/gitops/commits"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/secret"
)

// committed is what `commit --json` prints.
type committed struct {
	Commit  string          `json:"commit,omitempty"` // none if there was nothing to commit
	Files   []committedFile `json:"files"`
	Skipped []committedFile `json:"skipped"`
}

type committedFile struct {
	ID     string `json:"id,omitempty"`
	Title  string `json:"title,omitempty"`
	Path   string `json:"path"`             // in the work tree
	Change string `json:"change,omitempty"` // added, updated or removed
	Reason string `json:"reason,omitempty"` // why it is left out
}

func commitCommand(app *App) *cobra.Command {
	var message string
	var dry bool
	c := &cobra.Command{
		Use:   "commit [ID...]",
		Short: "Commit changed memories onto your branch, with your own git (tracked mode)",
		Long: "Commits the memories that have changed since HEAD, or those that are named, and nothing\n" +
			"else: with your own git, name, hooks and signing; what else you staged stays staged.\n" +
			"If a hook refuses, the index is as it was. What does not parse, holds conflict markers\n" +
			"or a credential is left out with its reason. Nothing is pushed.",
		Example: "foldwatch commit --dry-run\nfoldwatch commit -m \"Decide on sessions\" 1f2e3d4c5b6a7988",
		Args:    between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				w, err := app.workTree(cmd.Context(), c, slug)
				if err != nil {
					return err
				}
				if err := w.mustBeTracked("commit"); err != nil {
					return err
				}
				cm := committer{e: app, daemon: c, tree: w, message: message, dry: dry}
				return cm.commit(cmd.Context(), args)
			})
		},
	}
	f := c.Flags()
	f.StringVarP(&message, "message", "m", "", "commit message (default: made from the titles)")
	f.BoolVar(&dry, "dry-run", false, "commit nothing; say what would be")
	return c
}

// A committer commits memories of one work tree.
type committer struct {
	e       *App
	daemon  local.Client
	tree    workTree
	message string
	dry     bool
}

// A memoryChange is a changed file that may enter a commit.
type memoryChange struct {
	usergit.ChangedPath
	rel    string // below the folder of memories
	b      []byte // nil where it is gone
	memory *fold.Memory
	reason string // why it may not; "" if it may
}

func (c memoryChange) reply() committedFile {
	f := committedFile{Path: c.Path, Change: "updated", Reason: c.reason}
	switch {
	case c.New:
		f.Change = "added"
	case c.Gone:
		f.Change = "removed"
	}
	if c.memory != nil {
		f.ID, f.Title = string(c.memory.ID), c.memory.Title
	}
	return f
}

func (c *committer) commit(ctx context.Context, names []string) error {
	if err := c.tree.MayCommit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if has, err := c.tree.hasFold(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	} else if !has {
		return fmt.Errorf("commit: %w", c.tree.noFold())
	}
	root, err := os.OpenRoot(c.tree.WorkTree)
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	defer root.Close()
	changes, err := c.settled(ctx, root)
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if len(names) > 0 {
		if changes, err = c.named(ctx, root, changes, names); err != nil {
			return err
		}
	} else if err := c.vanished(ctx, changes); err != nil {
		return err
	}
	reply := committed{Files: []committedFile{}, Skipped: []committedFile{}}
	var files []commits.Change
	var paths []string
	author, _ := c.tree.Identity(ctx)
	for _, ch := range changes {
		if ch.reason != "" {
			reply.Skipped = append(reply.Skipped, ch.reply())
			continue
		}
		reply.Files = append(reply.Files, ch.reply())
		paths = append(paths, ch.Path)
		file := commits.Change{Path: ch.rel, Is: ch.b, Added: ch.New}
		if m := ch.memory; m != nil && !ch.Gone && m.Source == fold.SourceAgent && m.Author != author {
			file.Agent = m.Author
		}
		files = append(files, file)
	}
	if len(names) > 0 && len(reply.Skipped) > 0 {
		s := reply.Skipped[0]
		return fold.WithHint(fmt.Errorf("commit: nothing was committed: %s: %s", s.Path, s.Reason), "mend it, or leave it out")
	}
	if len(files) == 1 && files[0].Is == nil {
		files[0].Was, _ = c.tree.HeadFile(ctx, paths[0]) // for its title
	}
	if len(files) > 0 && !c.dry {
		reply.Commit, err = c.tree.CommitPaths(ctx, &usergit.PathCommit{
			Paths: paths, Message: commits.Message(c.tree.name, c.message, files), Stdin: c.e.Stdin, Output: c.e.Stderr,
		})
		if err != nil {
			return fmt.Errorf("commit: %w", err)
		}
	}
	if err := c.e.Emit(reply, func(out terminal.Printer) {
		for _, f := range reply.Files {
			out.Printf("%-8s %s\n", f.Change, f.Path)
		}
	}); err != nil {
		return err
	}
	c.tell(reply)
	if len(reply.Skipped) > 0 {
		return errShown
	}
	return nil
}

// tell says what was done, and what was left out.
func (c *committer) tell(r committed) {
	for _, s := range r.Skipped {
		c.e.Messages(true).Printf("left out: %s: %s\n", s.Path, s.Reason)
	}
	msg := c.e.Messages(false)
	switch {
	case r.Commit != "":
		msg.Printf("committed %s; nothing is pushed\n", r.Commit[:min(12, len(r.Commit))])
	case len(r.Files) > 0:
		msg.Printf("nothing was committed (--dry-run)\n")
	case len(r.Skipped) > 0:
		msg.Printf("nothing was committed\n")
	default:
		msg.Printf("nothing to commit: HEAD has the memories as they are\n")
	}
}

// Files have to be left alone for debounce before they are committed (git.md G7). Such as
// were saved a moment ago are waited for as often as settleTries; what is still being
// written then is left out.
const (
	debounce    = 300 * time.Millisecond
	settleTries = 5
)

const reasonUnsettled = "it is still being written"

// settled returns the changes once nobody writes the files any more.
func (c *committer) settled(ctx context.Context, root *os.Root) ([]memoryChange, error) {
	for try := 1; ; try++ {
		changes, err := c.changes(ctx, root)
		unsettled := func(m memoryChange) bool { return m.reason == reasonUnsettled }
		if err != nil || try == settleTries || !slices.ContainsFunc(changes, unsettled) {
			return changes, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(debounce):
		}
	}
}

// changes returns the changed files that are memories, the project file, or the
// attributes by which git merges them. Attachments and what tools keep beside the
// memories are the user's to commit.
func (c *committer) changes(ctx context.Context, root *os.Root) ([]memoryChange, error) {
	all, err := c.tree.Changed(ctx, c.tree.fold)
	if err != nil {
		return nil, err
	}
	var out []memoryChange
	for _, ch := range all {
		m := memoryChange{ChangedPath: ch, rel: strings.TrimPrefix(ch.Path, c.tree.fold+"/")}
		switch {
		case m.rel == attributesFile:
			if !c.ourAttributes(ctx, root, m) {
				continue
			}
			m.b, _ = root.ReadFile(m.Path)
		case fold.ValidPath(m.rel) != nil:
			continue
		case ch.Gone:
			if b, err := c.tree.HeadFile(ctx, ch.Path); err == nil {
				m.memory = c.decode(m.rel, b)
			}
		default:
			m.b, m.reason = readPlain(root, ch.Path)
			m.memory = c.decode(m.rel, m.b)
			if m.reason == "" && c.beingWritten(root, ch.Path) {
				m.reason = reasonUnsettled
			}
			if m.reason == "" {
				m.reason, err = c.check(ctx, m)
			}
			if err != nil {
				return nil, err
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// beingWritten reports whether somebody may still be writing the file at p.
func (c *committer) beingWritten(root *os.Root, p string) bool {
	info, err := root.Lstat(p)
	if err != nil {
		return true // it went away after it was read
	}
	age := c.e.now().Sub(info.ModTime())
	return age >= 0 && age < debounce
}

// ourAttributes reports whether the attributes that changed are those that
// `merge-driver install` made, and not a person's.
func (c *committer) ourAttributes(ctx context.Context, root *os.Root, m memoryChange) bool {
	b, err := root.ReadFile(m.Path)
	if m.Gone {
		b, err = c.tree.HeadFile(ctx, m.Path)
	}
	return err == nil && string(b) == usergit.MergeAttributes
}

func (c *committer) decode(rel string, b []byte) *fold.Memory {
	if rel == fold.ProjectFile {
		return nil
	}
	m, err := fold.Decode(c.tree.name, rel, b)
	if err != nil {
		return nil
	}
	return m
}

// check returns why a file may not enter a commit (git.md G7), or "".
func (c *committer) check(ctx context.Context, m memoryChange) (reason string, err error) {
	if m.rel == fold.ProjectFile {
		if _, _, err := conf.ParseProject(m.b); err != nil {
			return err.Error(), nil
		}
		return "", nil
	}
	memory, err := fold.Decode(c.tree.name, m.rel, m.b) // reports conflict markers too
	if err != nil {
		return err.Error(), nil
	}
	if memory.Visibility == "local" {
		return "its visibility is local, and a commit is for all who have the repository", nil
	}
	if found := secret.Scan(m.b); len(found) > 0 {
		if allowed, err := c.allowed(ctx, memory.ID, m.b); allowed || err != nil {
			return "", err
		}
		return fmt.Sprintf("line %d looks like a credential (%s); take it out, or if it is none commit the file by git itself", found[0].Line, found[0].Rule), nil
	}
	return "", nil
}

// allowed reports whether the daemon shows the memory with these bytes, which it does of
// one with a credential only where its rule was allowed for that memory.
func (c *committer) allowed(ctx context.Context, id fold.ID, b []byte) (bool, error) {
	m, err := c.daemon.GetMemory(ctx, c.tree.slug, string(id))
	if errors.Is(err, fold.ErrSecret) || errors.Is(err, fold.ErrNotFound) || errors.Is(err, fold.ErrQuarantined) {
		return false, nil
	}
	return err == nil && m.ContentHash == fold.ContentHash(b), err
}

// vanished refuses to commit that much of fold/ is gone (git.md G8): more likely a
// folder was moved away than that somebody wants to have all that deleted.
func (c *committer) vanished(ctx context.Context, changes []memoryChange) error {
	gone, there := 0, map[fold.ID]bool{}
	for _, ch := range changes {
		if ch.memory != nil && !ch.Gone {
			there[ch.memory.ID] = true
		}
	}
	for _, ch := range changes {
		if ch.Gone && (ch.memory == nil || !there[ch.memory.ID]) { // else it was moved
			gone++
		}
	}
	const few = 10
	if gone <= few {
		return nil
	}
	total, err := c.tree.CountInHead(ctx, c.tree.fold)
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if gone <= total/20 {
		return nil
	}
	return fold.WithHint(fmt.Errorf("commit: %d of %d memories are gone from %s/; nothing was committed: %w", gone, total, c.tree.fold, fold.ErrConflict),
		"git restore "+terminal.Quote(c.tree.fold)+" brings them back; if they are to go: git commit -- "+terminal.Quote(c.tree.fold))
}

// named returns those of the changes that are meant by ids, paths, slugs, titles or
// beginnings of ids. A memory that has not changed is told, and no error.
func (c *committer) named(ctx context.Context, root *os.Root, changes []memoryChange, names []string) ([]memoryChange, error) {
	var chosen []memoryChange
	for _, name := range names {
		found, err := c.find(changes, name)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			if err := c.unchanged(ctx, root, name); err != nil {
				return nil, err
			}
			continue
		}
		for _, f := range found {
			if !slices.ContainsFunc(chosen, func(m memoryChange) bool { return m.Path == f.Path }) {
				chosen = append(chosen, f)
			}
		}
	}
	slices.SortFunc(chosen, func(a, b memoryChange) int { return strings.Compare(a.Path, b.Path) })
	return chosen, nil
}

// find returns the changes that a name means: both halves of a move, else one.
func (c *committer) find(changes []memoryChange, name string) ([]memoryChange, error) {
	for _, means := range c.meanings(name) {
		var found []memoryChange
		for _, ch := range changes {
			if means(ch.Path, ch.memory) {
				found = append(found, ch)
			}
		}
		if len(found) == 0 {
			continue
		}
		first := found[0].memory
		for _, f := range found[1:] {
			if f.memory == nil || first == nil || f.memory.ID != first.ID {
				return nil, usagef("name one by its id or path", "%q means several memories: %s and %s", name, found[0].Path, f.Path)
			}
		}
		if first == nil {
			return found, nil
		}
		// A moved memory is one that is gone and one that is new.
		for _, ch := range changes {
			if ch.memory != nil && ch.memory.ID == first.ID && !slices.ContainsFunc(found, func(m memoryChange) bool { return m.Path == ch.Path }) {
				found = append(found, ch)
			}
		}
		return found, nil
	}
	return nil, nil
}

// meanings are what a name may mean, in the order in which it is tried everywhere: an
// id, a path, a slug, a title, the beginning of an id.
func (c *committer) meanings(name string) []func(path string, m *fold.Memory) bool {
	link := strings.TrimSuffix(strings.TrimPrefix(name, "[["), "]]")
	link, _, _ = strings.Cut(link, "|")
	at := c.below(link)
	return []func(string, *fold.Memory) bool{
		func(_ string, m *fold.Memory) bool {
			return m != nil && (strings.EqualFold(string(m.ID), link) || m.Foreign != "" && strings.EqualFold(m.Foreign, link))
		},
		func(p string, _ *fold.Memory) bool {
			return slices.Contains(at, p) || slices.Contains(at, strings.TrimSuffix(p, ".md"))
		},
		func(_ string, m *fold.Memory) bool { return m != nil && m.Slug != "" && m.Slug == link },
		func(_ string, m *fold.Memory) bool { return m != nil && m.Title == link },
		func(_ string, m *fold.Memory) bool {
			return m != nil && len(link) >= 4 && strings.HasPrefix(string(m.ID), strings.ToLower(link))
		},
	}
}

// below returns where in the work tree a path may lie: seen from the working
// directory, from the top of the work tree, and from the folder of memories.
func (c *committer) below(name string) []string {
	slash := path.Clean(filepath.ToSlash(name))
	at := []string{slash, path.Join(c.tree.fold, slash)}
	if abs, err := c.e.absolute(name); err == nil {
		if real, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
			abs = filepath.Join(real, filepath.Base(abs))
		}
		if rel, err := filepath.Rel(c.tree.WorkTree, abs); err == nil && filepath.IsLocal(rel) {
			at = append(at, filepath.ToSlash(rel))
		}
	}
	return at
}

// unchanged says that a memory is in HEAD as it is. It returns ErrNotFound if there is
// none of that name, and why git does not see it where it ignores the file.
func (c *committer) unchanged(ctx context.Context, root *os.Root, name string) error {
	found, means := "", c.meanings(name)
	err := fs.WalkDir(root.FS(), c.tree.fold, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // what cannot be read is not what is meant
		}
		rel := strings.TrimPrefix(p, c.tree.fold+"/")
		if fold.ValidPath(rel) != nil {
			return nil //nolint:nilerr // no memory can lie there
		}
		b, _ := readPlain(root, p)
		m := c.decode(rel, b)
		if slices.ContainsFunc(means, func(is func(string, *fold.Memory) bool) bool { return is(p, m) }) {
			found = p
			return fs.SkipAll
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("commit: %w", err)
	}
	if found == "" {
		return fold.WithHint(fmt.Errorf("commit: there is no memory %q in %s/: %w", name, c.tree.fold, fold.ErrNotFound), "foldwatch commit --dry-run lists what has changed")
	}
	ignored, err := c.tree.Ignored(ctx, []string{found})
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if ignored[found] {
		return fold.WithHint(fmt.Errorf("commit: nothing was committed: git ignores %s: %w", found, fold.ErrConflict), "git check-ignore -v "+terminal.Quote(found)+" says by which rule")
	}
	c.e.Messages(false).Printf("%s has not changed since HEAD\n", found)
	return nil
}
