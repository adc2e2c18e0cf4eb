package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/daemon/provider"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex/embed"
	"github.com/foldwatch/foldwatch/vecindex/weights"
)

func modelCommand(app *App) *cobra.Command {
	c := parent("model", "Choose what turns text into vectors", modelListCommand(app), modelPullCommand(app), modelUseCommand(app))
	c.SuggestFor = []string{"models"}
	return c
}

// A listedModel is one line of the list.
type listedModel struct {
	Name      string  `json:"name"`
	Kind      string  `json:"kind"`
	Dim       int     `json:"dimension,omitempty"`
	Bytes     int64   `json:"bytes,omitempty"`
	Licence   string  `json:"licence,omitempty"`
	MSPerText float64 `json:"ms_per_text,omitempty"` // measured on this machine; 0 if not yet, or over HTTP
	State     string  `json:"state"`
	Note      string  `json:"note,omitempty"`
}

func modelListCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls", "show"},
		Short:   "List models, with size, licence and milliseconds per text",
		Args:    between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := app.config.Settings()
			if err != nil {
				return err
			}
			models := listModels(st, app.slug)
			if models[0].MSPerText, err = pace(cmd.Context(), embed.Builtin(), 20*time.Millisecond); err != nil {
				return err
			}
			return app.Emit(map[string]any{"models": models, "folder": st.Dirs.Models()}, func(p terminal.Printer) {
				var t terminal.Table
				t.Row("MODEL", "KIND", "DIM", "SIZE", "LICENCE", "MS/TEXT", "STATE")
				for _, m := range models {
					dim, bytes, pace := "", "", ""
					if m.Dim > 0 {
						dim = fmt.Sprint(m.Dim)
					}
					if m.Bytes > 0 {
						if bytes = terminal.Size(m.Bytes); m.State == toFetch {
							bytes = "~" + bytes
						}
					}
					switch {
					case m.MSPerText >= 10:
						pace = fmt.Sprintf("%.0f", m.MSPerText)
					case m.MSPerText > 0:
						pace = fmt.Sprintf("%.2g", m.MSPerText)
					case m.Bytes > 0:
						pace = "not measured yet"
					}
					t.Row(m.Name, m.Kind, dim, bytes, m.Licence, pace, strings.TrimSuffix(m.State+"; "+m.Note, "; "))
				}
				t.Print(p)
				app.Messages(false).Printf("MS/TEXT is for about 120 tokens, measured on this machine when a model is fetched.\n" +
					"foldwatch model pull NAME fetches a model, foldwatch model use NAME chooses it.\n")
			})
		},
	}
}

// listModels returns the models that can be chosen: what is in the binary, what lies
// on this machine, what can be fetched, and what providers have.
func listModels(st local.Settings, slug string) []listedModel {
	cfg := st.Config
	if slug != "" {
		cfg = cfg.For(slug)
	}
	used := cfg.Embedding
	state := func(chosen bool, otherwise string) string {
		if chosen {
			return "in use"
		}
		return otherwise
	}
	id := embed.Builtin().Identity()
	out := []listedModel{{
		Name: "builtin", Kind: "in the program", Dim: id.Dim,
		State: state(used.Provider == "" || used.Provider == "builtin", "ready"),
	}}
	seen := map[string]bool{}
	for _, m := range weights.List() {
		l := listedModel{Name: m.Name, Kind: m.Kind, Dim: m.Dim, Bytes: m.Bytes, Licence: m.Licence, Note: m.Note}
		l.State = state(used.Provider == "local" && used.Model == m.Name, toFetch)
		if dir := filepath.Join(st.Dirs.Models(), m.Name); isFolder(dir) {
			l.State, l.Bytes = state(l.State == "in use", "on this machine"), folderSize(dir)
			if rec, err := weights.ReadRecord(dir); err == nil { // one that was copied there has none
				l.MSPerText = rec.MSPerText
			}
		}
		seen[m.Name] = true
		out = append(out, l)
	}
	entries, err := os.ReadDir(st.Dirs.Models())
	for _, d := range entries {
		if err == nil && d.IsDir() && !seen[d.Name()] && !strings.HasPrefix(d.Name(), ".") {
			dir := filepath.Join(st.Dirs.Models(), d.Name())
			out = append(out, listedModel{Name: d.Name(), Kind: "folder", Bytes: folderSize(dir), State: state(used.Provider == "local" && used.Model == d.Name(), "on this machine")})
		}
	}
	if used.Provider == "local" && filepath.IsAbs(used.Model) {
		out = append(out, listedModel{Name: used.Model, Kind: "folder", Bytes: folderSize(used.Model), State: "in use"})
	}
	names := []string{"ollama", "openai", "openrouter", "gemini", "voyage"}
	for name := range cfg.Providers {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names[5:])
	for _, name := range names {
		p, ok := cfg.Provider(name)
		if !ok || embed.DefaultURL(p.Kind) == "" {
			continue
		}
		where := hostOf(p)
		for _, o := range embed.KnownModels(p.Kind) {
			chosen := used.Provider == name && (used.Model == o.Model || used.Model == "" && cmpModel(p, o.Model))
			out = append(out, listedModel{Name: name + "/" + o.Model, Kind: "at " + where, Dim: o.Dim, State: state(chosen, "asked over HTTP"), Note: o.Note})
		}
	}
	return out
}

// toFetch is the state of a model that is listed and not on this machine.
const toFetch = "to be fetched"

func cmpModel(p conf.Provider, model string) bool {
	if p.Model != "" {
		return p.Model == model
	}
	return embed.DefaultModel(p.Kind) == model
}

// hostOf says where texts for a provider go.
func hostOf(p conf.Provider) string {
	at := p.URL
	if at == "" {
		at = embed.DefaultURL(p.Kind)
	}
	if provider.IsLocal(at) {
		return "this machine"
	}
	_, rest, _ := strings.Cut(at, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

func folderSize(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil // what cannot be read has no size
	})
	return n
}

func modelPullCommand(app *App) *cobra.Command {
	var from string
	var update bool
	c := &cobra.Command{
		Use:     "pull NAME",
		Aliases: []string{"add", "get", "install", "download"},
		Short:   "Fetch a model of the list from its host, checked",
		Long: "Fetches a model from its host and compares each file with the SHA-256 that the\n" +
			"host's index gives for it (small files: with git's own checksum). The checksums are\n" +
			"recorded; a later pull must give the same. Nothing about you or your code is sent.",
		Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, ok := weights.Named(args[0])
			if !ok {
				return fold.WithHint(fmt.Errorf("no model is called %q: %w", args[0], fold.ErrNotFound), "foldwatch model list")
			}
			st, err := app.config.Settings()
			if err != nil {
				return err
			}
			if from == "" {
				from = weights.Host
			}
			app.Messages(false).Printf("fetching %s, about %s, licence %s, from %s/%s\n", m.Name, terminal.Size(m.Bytes), m.Licence, from, m.Repo)
			opt := weights.PullOptions{Model: m, From: from, Dir: st.Dirs.Models(), Update: update}
			last := int64(-1) // percent that were told
			if terminal.IsTerminal(app.Stderr) && !app.Quiet {
				opt.Progress = func(done, total int64) {
					if percent := done * 100 / max(total, 1); percent != last {
						last = percent
						fmt.Fprintf(app.Stderr, "\r%3d %% of %s", percent, terminal.Size(total))
					}
				}
			}
			rec, err := weights.Pull(cmd.Context(), opt)
			if last >= 0 {
				fmt.Fprintln(app.Stderr) // what comes next has a line of its own
			}
			if err != nil {
				return err
			}
			dir := filepath.Join(st.Dirs.Models(), m.Name)
			model, err := embed.OpenLocal(cmd.Context(), dir)
			if err != nil {
				return fmt.Errorf("fetched, but of no use: %w", err)
			}
			if rec.MSPerText, err = pace(cmd.Context(), model, time.Second); err != nil {
				return err
			}
			if err := weights.WriteRecord(dir, rec); err != nil {
				return err
			}
			return app.Emit(rec, func(p terminal.Printer) {
				p.Printf("%s  %s, commit %.12s, %.3g ms per text here\n", m.Name, dir, rec.Revision, rec.MSPerText)
				for _, name := range slices.Sorted(maps.Keys(rec.Files)) {
					p.Printf("  %s  %s\n", rec.Files[name], name)
				}
				app.Messages(false).Printf("to use it: foldwatch model use %s\n", m.Name)
			})
		},
	}
	c.Flags().StringVar(&from, "from", "", "URL of a mirror (default: "+weights.Host+")")
	c.Flags().BoolVar(&update, "update", false, "take what the host has now, whatever was recorded")
	return c
}

// pace measures how long the model takes for a text of about 120 tokens, in
// milliseconds, for about as long as it may.
func pace(ctx context.Context, m embed.Embedder, most time.Duration) (float64, error) {
	text := strings.Repeat("func (p *Pool) open(n int) error { return p.check(n) } // limits connections\n", 4)
	start, n := time.Now(), 0
	for n == 0 || n < 200 && time.Since(start) < most {
		if _, err := m.Embed(ctx, []string{text}, embed.Document); err != nil {
			return 0, err
		}
		n++
	}
	return float64(time.Since(start).Microseconds()) / 1000 / float64(n), nil
}

func modelUseCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:     "use NAME|DIR|PROVIDER[/MODEL]|builtin",
		Aliases: []string{"set", "select"},
		Short:   "Choose the model that makes vectors",
		Long: "NAME is a model that was fetched, DIR any folder with a model, PROVIDER one of\n" +
			"ollama, openai, openrouter, gemini, voyage or your own. With -p the choice is for\n" +
			"that project, else for all. The vectors that answer now go on until the new ones\n" +
			"are complete. A provider on another machine is asked for nothing before you say\n" +
			"foldwatch provider allow PROVIDER.",
		Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := app.config.Settings()
			if err != nil {
				return err
			}
			provider, model, err := chosenModel(cmd.Context(), app, st, args[0])
			if err != nil {
				return err
			}
			at := []string{"embedding"}
			slug, _, _ := strings.Cut(app.slug, "@")
			if slug != "" {
				at = []string{"projects", slug, "embedding"}
			}
			changes := []change{{append(slices.Clone(at), "provider"), provider}, {append(slices.Clone(at), "model"), nil}, {append(slices.Clone(at), "dimension"), nil}}
			if model != "" {
				changes[1].value = model
			}
			cfg, err := editConfig(app, changes...)
			if err != nil {
				return err
			}
			if now := cfg.For(slug).Embedding; now.Provider != provider || now.Model != model && model != "" {
				app.Messages(true).Printf("foldwatch: the environment, or the project's own section, says %s %s: that goes before\n", now.Provider, now.Model)
			}
			return reloadModels(cmd.Context(), app, fmt.Sprintf("chosen: %s", strings.TrimSuffix(provider+" "+model, " ")))
		},
	}
}

// chosenModel finds out what the user means, and makes sure that a model of this machine
// can be used.
func chosenModel(ctx context.Context, app *App, st local.Settings, arg string) (provider, model string, err error) {
	if arg == "builtin" {
		return arg, "", nil
	}
	if name := filepath.Join(st.Dirs.Models(), arg); filepath.IsLocal(arg) && isFolder(name) {
		_, err := embed.OpenLocal(ctx, name)
		return "local", arg, err
	}
	if _, listed := weights.Named(arg); listed {
		return "", "", fold.WithHint(fmt.Errorf("model %s is not on this machine: %w", arg, fold.ErrNotFound), "foldwatch model pull "+arg)
	}
	name, rest, _ := strings.Cut(arg, "/")
	if p, ok := st.Config.Provider(name); ok && !isFolder(arg) {
		if embed.DefaultURL(p.Kind) == "" {
			return "", "", fold.WithHint(fmt.Errorf("provider %s has no embeddings: %w", name, fold.ErrInvalid), "foldwatch model list")
		}
		return name, rest, nil
	}
	dir, err := app.absolute(arg)
	if err != nil {
		return "", "", err
	}
	if !isFolder(dir) {
		return "", "", fold.WithHint(fmt.Errorf("%q is no model, no provider and no folder: %w", arg, fold.ErrNotFound), "foldwatch model list")
	}
	_, err = embed.OpenLocal(ctx, dir)
	return "local", dir, err
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// A change is one key of the user file with its new value; nil takes it out.
type change struct {
	path  []string
	value any
}

// editConfig changes keys of the user file, every other byte stays, and returns the
// configuration as it is then. A file that would not load is not written.
func editConfig(app *App, changes ...change) (conf.Config, error) {
	st, err := app.config.Settings()
	if err != nil {
		return conf.Config{}, err
	}
	name := st.Dirs.ConfigFile()
	b, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return conf.Config{}, fmt.Errorf("read config: %w", err)
	}
	for _, c := range changes {
		if b, err = conf.SetKey(b, c.path, c.value); err != nil {
			return conf.Config{}, err
		}
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return conf.Config{}, err
	}
	if err := disk.WriteFile(name, b, 0o600); err != nil {
		return conf.Config{}, err
	}
	app.config.Forget()
	st, err = app.config.Settings()
	return st.Config, err
}

// reloadModels has a daemon that runs take over the user file, and says what came of
// it.
func reloadModels(ctx context.Context, app *App, done string) error {
	var list wire.EmbedderList
	c, err := app.daemon.Running(ctx)
	if err == nil && c != nil {
		list, err = c.ReloadModels(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s; the daemon has not taken it over: %w", done, err)
	}
	return app.Emit(map[string]any{"done": done, "projects": list.Items}, func(p terminal.Printer) {
		p.Printf("%s\n", done)
		for _, pr := range list.Items {
			switch {
			case pr.Notice != "":
				p.Printf("  %s  %s\n", pr.Slug, pr.Notice)
			case pr.Embedder != nil && pr.Embedder.Next != "":
				p.Printf("  %s  vectors of %s are being made; those of %s answer until then\n", pr.Slug, pr.Embedder.Next, pr.Embedder.Model)
			}
		}
	})
}
