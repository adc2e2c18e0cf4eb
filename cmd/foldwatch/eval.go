package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/eval/corpus"
	"github.com/foldwatch/foldwatch/daemon/provider"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// evalFlags are those of `eval`.
type evalFlags struct {
	out    string
	noPast bool
	byFile bool
}

func evalCommand(app *App) *cobra.Command {
	var fl evalFlags
	c := &cobra.Command{
		Use:   "eval",
		Short: "Measure how well search finds",
		Long: "Asks questions that the checkout itself holds: the messages of its newest commits, for the\n" +
			"files they changed, and the first sentences of doc comments, for the function below. They\n" +
			"are asked of a scratch copy of the tree before those commits and without those comments,\n" +
			"in a daemon of its own; the checkout and its index are only read. It prints nDCG@10, MRR@10\n" +
			"and recall@5, 10 and 20 with 95 % intervals, for each channel and for all together.",
		Example: "foldwatch eval\nfoldwatch eval --out runs --json",
		Args:    between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return evalCheckout(cmd.Context(), app, fl)
		},
	}
	f := c.Flags()
	f.StringVar(&fl.out, "out", "", "write what was answered into DIR, a run file for each set and way of search")
	f.BoolVar(&fl.noPast, "no-history", false, "without past commits")
	f.BoolVar(&fl.byFile, "by-file", false, "count a place by its file alone")
	return c
}

// evalReply is what `eval --json` prints.
type evalReply struct {
	Version string           `json:"version"`
	Ways    []eval.WayReport `json:"ways"`
	Corpora []evalCorpus     `json:"corpora"`
}

type evalCorpus struct {
	Project  string `json:"project"`
	Commits  int    `json:"commits,omitempty"`
	Memories int    `json:"memories,omitempty"`
	Note     string `json:"note,omitempty"`

	Embedder *wire.Embedder `json:"embedder,omitempty"` // whose vectors are asked
}

// evalCheckout measures search on the checkout of the project.
func evalCheckout(ctx context.Context, app *App, fl evalFlags) (err error) {
	path, slug, err := checkoutPath(ctx, app)
	if err != nil {
		return err
	}
	st, err := app.config.Settings()
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.MkdirTemp("", "foldwatch-eval-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	app.Messages(false).Printf("looking for questions in %s\n", path)
	c, questions, err := corpus.Mine(ctx, path, dir, []string{exe, "chunk-worker"})
	if err != nil {
		return err
	}
	if fl.noPast {
		c.Past = nil
	}
	s, err := openCorpus(ctx, app, evalConfig(app, st, slug), c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r := evalReply{Version: fullVersion(), Corpora: []evalCorpus{{Project: path, Commits: len(c.Past)}}}
	status, err := s.Daemon.ProjectStatus(ctx, fold.LocalScope(), c.Slug)
	if err != nil {
		return err
	}
	r.Corpora[0].Embedder = status.Embedder
	b := app.NewBar(app.now)
	r.Ways, err = s.AskAll(ctx, questions, corpus.Ways(len(c.Past) > 0), corpus.AskOptions{ByFile: fl.byFile, Out: fl.out, Progress: func(way string, done, total int) {
		b.Show(wire.Progress{Stage: "asking by " + way, Done: done, Total: total})
	}})
	b.Clear()
	if err != nil {
		return err
	}
	return app.Emit(r, func(p terminal.Printer) {
		eval.Table(p.Printf, r.Ways)
		app.Messages(false).Printf("\nset a: commit message -> files it changed; set b: first sentence of a doc comment -> function\n")
		m := status.Embedder
		if m == nil {
			return
		}
		app.Messages(false).Printf("vectors of %s %s weigh %.2g for files, %.2g for functions in the blend\n", m.Provider, m.Model, m.Weight, m.ChunkWeight)
		if m.Next != "" {
			app.Messages(true).Printf("foldwatch: %s did not give its vectors: %s\n", m.Next, strings.Join(status.Notices, "; "))
		}
	})
}

// evalConfig is the configuration of a scratch copy of the project called slug.
// Nothing of a copy is sent to another machine: there nobody agreed to it,
// and it would be neither counted nor recorded where the user looks.
func evalConfig(app *App, st local.Settings, slug string) conf.Config {
	cfg := st.Config.For(slug).WithoutProjects()
	m := &cfg.Embedding
	switch m.Provider {
	case "", "builtin":
		return cfg
	case "local":
		if !filepath.IsAbs(m.Model) {
			m.Model = filepath.Join(st.Dirs.Models(), filepath.FromSlash(m.Model))
		}
		return cfg
	}
	p, ok := cfg.Provider(m.Provider)
	name := cmp.Or(m.Model, p.Model)
	if ok && provider.IsLocal(addressOf(p)) && !strings.HasSuffix(name, "cloud") { // Ollama's names for models elsewhere
		return cfg
	}
	app.Messages(true).Printf("foldwatch: the copy is not sent to %s: vectors are the builtin ones; what those of %s are worth is in: foldwatch status\n", m.Provider, m.Provider)
	m.Provider, m.Model, m.Dimension = "builtin", "", 0
	return cfg
}

// checkoutPath returns where the project lies that was named, else the working
// directory, and its slug if that is known.
func checkoutPath(ctx context.Context, app *App) (path, slug string, err error) {
	if app.slug == "" {
		if path, err = app.workDir(); err != nil {
			return "", "", err
		}
		if c, err := app.daemon.Running(ctx); err == nil && c != nil {
			if p, err := c.ProjectOfPath(ctx, path); err == nil {
				slug = p.Slug
			}
		}
		return path, slug, nil
	}
	c, err := app.daemon.Connect(ctx)
	if err != nil {
		return "", "", err
	}
	list, err := c.Projects(ctx)
	if err != nil {
		return "", "", err
	}
	for _, p := range list.Items {
		if p.Slug == app.slug && len(p.Checkouts) > 0 {
			return p.Checkouts[0].Path, p.Slug, nil
		}
	}
	return "", "", fold.WithHint(fmt.Errorf("project %q: %w", app.slug, fold.ErrNotFound), "foldwatch projects")
}

// openCorpus indexes the corpus.
func openCorpus(ctx context.Context, app *App, cfg conf.Config, c corpus.Corpus) (*corpus.Searcher, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	b := app.NewBar(app.now)
	defer b.Clear()
	return corpus.Open(ctx, corpus.Options{
		Worker: []string{exe, "chunk-worker"}, Config: &cfg,
		Progress: func(slug string, p wire.Progress) {
			p.Stage = slug + ": " + p.Stage
			b.Show(p)
		},
	}, c)
}
