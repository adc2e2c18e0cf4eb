package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/eval/corpus"
	"github.com/foldwatch/foldwatch/daemon/provider"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// evalFlags are those of `eval`.
type evalFlags struct {
	sets    string // folder of evaluation sets
	only    []string
	repos   []string
	out     string
	clones  string
	scratch string
	noPast  bool
	byFile  bool
	whole   bool
}

func evalCommand(app *App) *cobra.Command {
	var fl evalFlags
	c := &cobra.Command{
		Use:   "eval",
		Short: "Measure how well search finds",
		Long: "Asks questions that the checkout itself holds: the messages of its newest commits, for the\n" +
			"files they changed, and the first sentences of doc comments, for the function below. They\n" +
			"are asked of a scratch copy of the tree before those commits and without those comments,\n" +
			"in a daemon of its own; the checkout and its index are only read.\n\n" +
			"With --sets, asks the questions of a folder of evaluation sets: gets their corpora,\n" +
			"indexes them in a scratch folder, and prints nDCG@10, MRR@10 and recall@5, 10 and 20 with\n" +
			"95 % intervals, for each channel and for all together. Sets a and b are asked of the code\n" +
			"of a repository, set c of its documentation, as search --path does it; --whole asks both\n" +
			"together. Past commits are those that come with the sets, else those of --clones.",
		Example: "foldwatch eval\nfoldwatch eval --sets ../eval --out runs\nfoldwatch eval --sets ../eval --set b,c --repo traefik --json",
		Args:    between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if fl.sets == "" {
				return evalCheckout(cmd.Context(), app, fl)
			}
			return evalSets(cmd.Context(), app, fl)
		},
	}
	f := c.Flags()
	f.StringVar(&fl.sets, "sets", "", "ask the questions of the evaluation sets in DIR")
	f.StringSliceVar(&fl.only, "set", nil, "only these sets: a, b, c, d")
	f.StringSliceVar(&fl.repos, "repo", nil, "only the corpora of these names")
	f.StringVar(&fl.out, "out", "", "write what was answered into DIR, a run file for each set and way of search")
	f.StringVar(&fl.clones, "clones", "", "take corpora from the git repositories in DIR, called NAME or OWNER+NAME")
	f.StringVar(&fl.scratch, "scratch", "", "keep checkouts and indexes in DIR, for the next time")
	f.BoolVar(&fl.noPast, "no-history", false, "without the past commits of the corpora")
	f.BoolVar(&fl.whole, "whole", false, "ask code and documentation together, not only what a set is about")
	f.BoolVar(&fl.byFile, "by-file", false, "count a place by its file alone")
	return c
}

// A way is one choice of channels, and what it is called.
type way struct {
	name     string
	channels recall.Channels
	sets     string // that it is asked of; "" means all
}

// ways are those of `eval --sets`. The last is what everybody gets.
func ways(history bool) []way {
	ws := []way{{name: "words", channels: recall.Channels{recall.Words}}, {name: "vectors", channels: recall.Channels{recall.Vectors}}}
	if history {
		ws = append(ws,
			way{name: "commits", channels: recall.Channels{recall.Commits}, sets: "a"},
			way{name: "no-history", channels: recall.Channels{recall.Words, recall.Vectors}, sets: "a"})
	}
	return append(ws, way{name: "blend"})
}

// evalReply is what `eval --json` prints.
type evalReply struct {
	Version string       `json:"version"`
	Ways    []wayReply   `json:"ways"`
	Skipped []evalSkip   `json:"skipped,omitempty"`
	Corpora []evalCorpus `json:"corpora"`
}

// wayReply are the figures of one way of search. Gains are over words alone.
type wayReply struct {
	Way  string           `json:"way"`
	Sets []eval.SetReport `json:"sets"`
}

type evalSkip struct {
	Repo string `json:"repo"`
	Sets string `json:"sets"`
	Why  string `json:"why"`
}

type evalCorpus struct {
	Project  string `json:"project"`
	Commits  int    `json:"commits,omitempty"`
	Memories int    `json:"memories,omitempty"`
	Note     string `json:"note,omitempty"`

	Embedder *wire.Embedder `json:"embedder,omitempty"` // whose vectors are asked
}

func evalSets(ctx context.Context, app *App, fl evalFlags) (err error) {
	sets, err := corpus.ReadSets(fl.sets)
	if err != nil {
		return err
	}
	only := strings.Join(fl.only, "")
	if strings.Trim(only, "abcd") != "" {
		return usagef("foldwatch eval --sets DIR --set a,b", "--set %s: the sets are a, b, c and d", strings.Join(fl.only, ","))
	}
	if len(sets.Queries(only, fl.repos...)) == 0 {
		return fmt.Errorf("no question is asked of %s: %w", strings.Join(append(fl.repos, fl.only...), ", "), fold.ErrNotFound)
	}
	st, err := app.config.Settings()
	if err != nil {
		return err
	}
	say := app.Messages(false)
	corpora, missing, err := sets.Prepare(ctx, filepath.Join(st.Dirs.Cache, "eval"), corpus.Choice{
		Sets: only, Repos: fl.repos, History: !fl.noPast, Clones: fl.clones, Whole: fl.whole,
		Progress: func(what string) { say.Printf("%s\n", what) },
	})
	if err != nil {
		return err
	}
	r := evalReply{Version: fullVersion()}
	questions := sets.Queries(only, fl.repos...)
	for _, m := range missing {
		r.Skipped = append(r.Skipped, evalSkip{m.Repo, m.Sets, m.Why})
		say.Printf("SKIP: %s, set %s: %s\n", m.Repo, m.Sets, m.Why)
		questions = slices.DeleteFunc(questions, func(q eval.Query) bool { return q.Repo == m.Repo && strings.Contains(m.Sets, q.Set) })
	}
	if len(questions) == 0 {
		return fmt.Errorf("none of the corpora can be had here: %w", fold.ErrUnavailable)
	}
	s, err := openCorpora(ctx, app, evalConfig(app, st, ""), fl.scratch, corpora)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	past := false
	for _, c := range corpora {
		past = past || len(c.Past) > 0
		r.Corpora = append(r.Corpora, evalCorpus{Project: c.Slug, Commits: len(c.Past), Memories: len(c.Memories), Note: c.Note})
	}
	if r.Ways, err = askAll(ctx, app, s, questions, ways(past), fl); err != nil {
		return err
	}
	return app.Emit(r, func(p terminal.Printer) { printEval(p, r) })
}

// evalCheckout measures search on the checkout of the project.
func evalCheckout(ctx context.Context, app *App, fl evalFlags) (err error) {
	for name, set := range map[string]bool{"set": len(fl.only) > 0, "repo": len(fl.repos) > 0, "clones": fl.clones != "", "scratch": fl.scratch != "", "whole": fl.whole} {
		if set {
			return usagef("foldwatch eval --sets DIR", "--%s needs --sets", name)
		}
	}
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
	s, err := openCorpora(ctx, app, evalConfig(app, st, slug), "", []corpus.Corpus{c})
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
	if r.Ways, err = askAll(ctx, app, s, questions, ways(len(c.Past) > 0), fl); err != nil {
		return err
	}
	return app.Emit(r, func(p terminal.Printer) {
		printEval(p, r)
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

// evalConfig is the configuration of a scratch copy of the project called slug, or of
// corpora. Nothing of a copy is sent to another machine: there nobody agreed to it,
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

// openCorpora indexes the corpora.
func openCorpora(ctx context.Context, app *App, cfg conf.Config, scratch string, corpora []corpus.Corpus) (*corpus.Searcher, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	b := app.NewBar(app.now)
	defer b.Clear()
	return corpus.Open(ctx, corpus.Options{
		Dir: scratch, Worker: []string{exe, "chunk-worker"}, Config: &cfg,
		Progress: func(slug string, p wire.Progress) {
			p.Stage = slug + ": " + p.Stage
			b.Show(p)
		},
	}, corpora...)
}

// askAll asks all questions in all ways.
func askAll(ctx context.Context, app *App, s *corpus.Searcher, questions []eval.Query, ways []way, fl evalFlags) ([]wayReply, error) {
	var out []wayReply
	var words eval.Run
	for _, w := range ways {
		qs := questions
		if w.sets != "" {
			qs = slices.DeleteFunc(slices.Clone(qs), func(q eval.Query) bool { return !strings.Contains(w.sets, q.Set) })
		}
		if len(qs) == 0 {
			continue
		}
		b := app.NewBar(app.now)
		run, err := s.Run(ctx, qs, w.channels, func(done int) {
			b.Show(wire.Progress{Stage: "asking by " + w.name, Done: done, Total: len(qs)})
		})
		b.Clear()
		if err != nil {
			return nil, err
		}
		if words == nil {
			words = run
		}
		opt := eval.ReportOptions{ByFile: fl.byFile}
		if len(out) > 0 {
			opt.Base = words
		}
		out = append(out, wayReply{w.name, eval.Report(qs, run, opt)})
		if fl.out != "" {
			if err := writeRuns(fl.out, w.name, run, qs); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// writeRuns writes a run file for each set, for the sets' own scorer.
func writeRuns(dir, way string, run eval.Run, questions []eval.Query) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for len(questions) > 0 {
		set := questions[0].Set
		n := slices.IndexFunc(questions, func(q eval.Query) bool { return q.Set != set })
		if n < 0 {
			n = len(questions)
		}
		f, err := os.Create(filepath.Join(dir, set+"-"+way+".jsonl"))
		if err != nil {
			return err
		}
		if err := errors.Join(run.Write(f, questions[:n]), f.Close()); err != nil {
			return err
		}
		questions = questions[n:]
	}
	return nil
}

// printEval prints a line for each set, way of search and corpus.
func printEval(p terminal.Printer, r evalReply) {
	var sets []string
	for _, w := range r.Ways {
		for _, s := range w.Sets {
			if !slices.Contains(sets, s.Set) {
				sets = append(sets, s.Set)
			}
		}
	}
	slices.Sort(sets)
	for i, set := range sets {
		if i > 0 {
			p.Printf("\n")
		}
		p.Printf("set %s%*s  %-21s %-21s %-10s %-10s %-10s  %s\n", set, 22, "questions", "nDCG@10", "MRR@10", "R@5", "R@10", "R@20", "nDCG@10 over words")
		for _, w := range r.Ways {
			for _, s := range w.Sets {
				if s.Set != set {
					continue
				}
				for _, repo := range s.Repos {
					figuresLine(p, w.Way+" "+repo.Repo, repo.Queries, repo.Figures, repo.Gain)
				}
				if len(s.Repos) > 1 {
					figuresLine(p, w.Way+" MACRO", s.Queries, s.Macro, s.Gain)
				}
				for _, c := range s.Categories {
					figuresLine(p, fmt.Sprintf("%s category %d", w.Way, c.Category), c.Queries, c.Figures, nil)
				}
				if s.Sessions != nil {
					figuresLine(p, w.Way+" sessions", s.Queries, *s.Sessions, nil)
				}
			}
		}
	}
}

func figuresLine(p terminal.Printer, name string, n int, f eval.Figures, gain *eval.Figures) {
	more := ""
	if gain != nil {
		more = "  " + signed(gain.NDCG10)
	}
	p.Printf("  %-22s %4d  %-21s %-21s %s %s %s%s\n", name, n, interval(f.NDCG10), interval(f.MRR10),
		around(f.Recall5), around(f.Recall10), around(f.Recall20), more)
}

func interval(in eval.Interval) string {
	return fmt.Sprintf("%.3f [%.3f, %.3f]", in.Mean, in.Low, in.High)
}

// around is an interval in few columns: the mean, and how far the farther bound is.
func around(in eval.Interval) string {
	return fmt.Sprintf("%.3f ±%.2f", in.Mean, max(in.High-in.Mean, in.Mean-in.Low))
}

func signed(in eval.Interval) string {
	return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", in.Mean, in.Low, in.High)
}
