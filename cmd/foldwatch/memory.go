package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// maxText is the most that is read from stdin: a memory file is at most 1 MiB.
const maxText = 1 << 20

func memoryCommand(app *App) *cobra.Command {
	c := parent("memory", "Write memories", memoryAddCommand(app), memoryEditCommand(app), memoryRemoveCommand(app), memoryListCommand(app), memoryAdoptCommand(app))
	c.SuggestFor = []string{"list", "ls", "memories", "edit", "update", "rm", "delete", "new", "create", "note", "remember", "forget", "export", "import"}
	return c
}

func memoryAddCommand(app *App) *cobra.Command {
	var in wire.MemoryCreate
	c := &cobra.Command{
		Use:     "add [TEXT|-]",
		Aliases: []string{"new", "create", "write", "remember"},
		Short:   "Remember a text: an argument, stdin, or what your editor gives",
		Example: "foldwatch memory add \"Sessions expire after 7 days.\" --type decision --tag auth\ngit log -1 --format=%B | foldwatch memory add -",
		Args:    between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if in.Content, err = memoryText(cmd.Context(), app, args); err != nil {
				return err
			}
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				r, err := c.AddMemory(cmd.Context(), slug, in)
				if err != nil {
					return err
				}
				did := "updated"
				if r.Created {
					did = "added"
				}
				return emitWrite(app, r, did)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&in.Title, "title", "", "title (default: the first heading or line)")
	f.StringVar(&in.Type, "type", "", "decision, task, session, spec, …, or any WORD (default general)")
	f.StringArrayVar(&in.Tags, "tag", nil, "tag T; may be repeated")
	f.StringVar(&in.Slug, "slug", "", "adding under the same SLUG again updates")
	f.StringVar(&in.Author, "author", "", "who says so")
	f.StringVar(&in.AllowSecret, "allow-secret", "", "store although RULE finds a credential in it")
	return c
}

// memoryText returns the text to remember: the arguments, stdin for "-" or
// where stdin is no terminal, else what the editor gives.
func memoryText(ctx context.Context, app *App, args []string) (string, error) {
	text := strings.Join(args, " ")
	switch {
	case len(args) > 0 && text != "-":
	case text == "-" || !terminal.IsTerminal(app.Stdin):
		b, err := io.ReadAll(io.LimitReader(app.Stdin, maxText+1))
		if err != nil {
			return "", fmt.Errorf("read the text: %w", err)
		}
		if len(b) > maxText {
			return "", fmt.Errorf("the text is over 1 MiB: %w", fold.ErrInvalid)
		}
		text = string(b)
	case app.NoInput:
	default:
		edited, path, err := editText(ctx, app, "new", "")
		if err != nil {
			return "", err
		}
		discard(path)
		text = edited
	}
	if strings.TrimSpace(text) == "" {
		return "", usagef(`foldwatch memory add "what you want remembered"`, "there is no text to remember")
	}
	return text, nil
}

// emitWrite prints the answer to a write: the id first, so that scripts can
// take it.
func emitWrite(app *App, r wire.WriteReply, did string) error {
	switch reason := r.BlockedReason; {
	case reason == "", strings.HasPrefix(reason, "not pushed"): // status and notices tell of that
	case strings.HasPrefix(reason, "not committed"):
		app.Messages(false).Printf("%s\n", reason)
	default:
		app.Messages(false).Printf("held back from history: %s\n", reason)
	}
	return app.Emit(r, func(p terminal.Printer) {
		if app.Quiet {
			p.Printf("%s\n", r.ID)
			return
		}
		p.Printf("%s  %s  %s\n", r.ID, did, r.Title)
	})
}

func memoryEditCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:     "edit ID",
		Aliases: []string{"update", "change"},
		Short:   "Edit the text of a memory in $EDITOR",
		Args:    between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := memoryID(args[0])
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return app.inProject(ctx, func(c local.Client, slug string) error {
				m, err := c.GetMemory(ctx, slug, id)
				if err != nil {
					return err
				}
				text, path, err := editText(ctx, app, m.ID, m.Content)
				if err != nil {
					return err
				}
				if text == m.Content {
					discard(path)
					app.Messages(false).Printf("no change\n")
					return nil
				}
				r, err := c.UpdateMemory(ctx, slug, m.ID, editedMemory(m.Title, m.ContentHash, m.Content, text))
				if err != nil {
					return keptText(err, m.ID, path)
				}
				discard(path)
				return emitWrite(app, r, "updated")
			})
		},
	}
}

// editedMemory is the change of a memory whose content was saved as text. The title
// follows its heading.
func editedMemory(title, hash, content, text string) wire.MemoryUpdate {
	up := wire.MemoryUpdate{ExpectedHash: hash, Content: &text}
	was, _, _ := strings.Cut(strings.TrimLeft(content, "\n"), "\n")
	now, _, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	if heading, ok := strings.CutPrefix(now, "# "); ok && was == "# "+title && strings.TrimSpace(heading) != "" {
		if heading = strings.TrimSpace(heading); heading != title {
			up.Title = &heading
		}
	}
	return up
}

// keptText tells that what a person typed is not lost, and where it is.
func keptText(err error, id, path string) error {
	hint := fold.Hint(err)
	if errors.Is(err, fold.ErrConflict) {
		hint = fmt.Sprintf("foldwatch show %s; merge your text from %s, then: foldwatch memory edit %s", id, path, id)
	}
	return fold.WithHint(fmt.Errorf("%w\nyour text is kept in %s", unhinted(err), path), hint)
}

// unhinted returns err without its outer hint, so that a new one is the one
// that is told.
func unhinted(err error) error {
	if h, ok := errors.AsType[*fold.HintError](err); ok {
		return h.Err
	}
	return err
}

func memoryRemoveCommand(app *App) *cobra.Command {
	var missing bool
	c := &cobra.Command{
		Use:     "rm ID|--missing",
		Aliases: []string{"delete", "del", "remove"},
		Short:   "Delete a memory, or confirm that missing files were meant to go",
		Args:    between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if missing == (len(args) > 0) {
				return usagef("foldwatch memory rm --help", "give either ids or --missing")
			}
			ctx := cmd.Context()
			return app.inProject(ctx, func(c local.Client, slug string) error {
				if missing {
					r, err := c.RemoveMissing(ctx, slug, wire.RemoveMissing{})
					if err != nil {
						return err
					}
					return app.Emit(r, func(p terminal.Printer) {
						for _, id := range r.Removed {
							p.Printf("%s  removed\n", id)
						}
						if len(r.Removed) == 0 {
							app.Messages(false).Printf("nothing is missing\n")
						}
					})
				}
				for _, a := range args {
					id, err := memoryID(a)
					if err != nil {
						return err
					}
					r, err := c.DeleteMemory(ctx, slug, id, "")
					if err != nil {
						return err
					}
					if err := emitWrite(app, r, "removed"); err != nil {
						return err
					}
					// Whole: what is removed is not found by a part of its id.
					app.Messages(false).Printf("to take it back: foldwatch restore %s\n", r.ID)
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&missing, "missing", false, "files that vanished from fold/ were meant to go")
	return c
}

func memoryListCommand(app *App) *cobra.Command {
	var q wire.ListQuery
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List memories",
		Args:    between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				list, err := c.ListMemories(cmd.Context(), slug, q)
				if err != nil {
					return err
				}
				return app.Emit(list, func(p terminal.Printer) {
					var t terminal.Table
					for _, m := range list.Items {
						where := m.FilePath
						if where == "" && m.Path != "" {
							where = "fold/" + m.Path
						}
						t.Row(m.ID, m.UpdatedAt.Local().Format(time.DateOnly), m.Type, terminal.Short(terminal.Clean(m.Title), 60), where)
					}
					t.Print(p)
					if len(list.Items) == 0 {
						app.Messages(false).Printf("%s\n", cmp.Or(noSuchType(cmd.Context(), c, slug, q), "no memories"))
					}
					if list.NextCursor != "" {
						app.Messages(false).Printf("%d of %d; more: %s\n", len(list.Items), list.Total, moreOf(q, list))
					}
				})
			})
		},
	}
	f := c.Flags()
	f.Var(oneOf(&q.Source, "file", "agent", "git"), "source", "only from file|agent|git")
	f.StringVar(&q.Type, "type", "", "only of type T")
	f.StringArrayVar(&q.Tags, "tag", nil, "only with tag T; repeat for all of several")
	f.StringVar(&q.Author, "author", "", "only by author A")
	f.StringVar(&q.Q, "q", "", "TEXT in title, path or context")
	f.StringVar(&q.UpdatedAfter, "after", "", "updated after D (YYYY-MM-DD or RFC 3339)")
	f.StringVar(&q.UpdatedBefore, "before", "", "updated before D")
	f.Var(oneOf(&q.SortBy, "updated_at", "created_at", "title"), "sort", "by updated_at|created_at|title")
	f.Var(oneOf(&q.SortDir, "asc", "desc"), "dir", "asc|desc")
	f.IntVar(&q.Limit, "limit", 20, "at most N")
	f.StringVar(&q.Cursor, "cursor", "", "go on from where a list ended")
	return c
}

// listMost is how many memories one request may ask for.
const listMost = 200

// moreOf returns the flag that shows the rest of a list: a limit while that
// is enough, since nobody types a cursor.
func moreOf(q wire.ListQuery, list wire.MemoryList) string {
	if q.Cursor == "" && list.Total <= listMost {
		return fmt.Sprintf("--limit %d", list.Total)
	}
	return "--cursor " + list.NextCursor
}

func memoryAdoptCommand(app *App) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "adopt ID|--all",
		Short: "Give hand-made notes an id and a place of their own; links follow",
		Args:  between(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usagef("foldwatch memory adopt --help", "give either ids or --all")
			}
			in := wire.Adopt{All: all}
			for _, a := range args {
				id, err := memoryID(a)
				if err != nil {
					return err
				}
				in.IDs = append(in.IDs, id)
			}
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				r, err := c.Adopt(cmd.Context(), slug, in)
				if err != nil {
					return err
				}
				return app.Emit(r, func(p terminal.Printer) {
					for _, n := range r.Moved {
						p.Printf("%s  fold/%s → fold/%s\n", n.NewID, n.From, n.To)
					}
					if len(r.Moved) == 0 {
						app.Messages(false).Printf("no note to adopt\n")
					}
				})
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "every note")
	return c
}
