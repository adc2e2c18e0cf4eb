package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/daemon/provider"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

func providerCommand(app *App) *cobra.Command {
	c := parent("provider", "Say which models elsewhere may get texts, and see what they got",
		providerAllowCommand(app), providerDenyCommand(app), providerLogCommand(app))
	c.SuggestFor = []string{"allow", "deny", "audit"}
	return c
}

func providerAllowCommand(app *App) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "allow PROVIDER",
		Short: "Let a project send its texts to a provider",
		Long: "Prints what would leave this machine, and asks. Nothing is sent to another machine\n" +
			"for a project before that. foldwatch provider deny takes it back.",
		Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := app.config.Settings()
			if err != nil {
				return err
			}
			name := args[0]
			p, ok := st.Config.Provider(name)
			if !ok {
				return fold.WithHint(fmt.Errorf("no provider is called %q: %w", name, fold.ErrNotFound), "foldwatch model list")
			}
			return app.inProject(cmd.Context(), func(_ local.Client, slug string) error {
				slug, _, _ = strings.Cut(slug, "@")
				cfg := st.Config.For(slug)
				if at := addressOf(p); at != "" && provider.IsLocal(at) {
					app.Messages(false).Printf("%s runs on this machine: nothing leaves it, and nothing need be allowed\n", name)
				} else {
					app.Messages(true).Printf("%s", leaving(cfg, name, p, slug))
				}
				if !slices.Contains(cfg.Allowed, name) {
					if !yes && !app.Ask(fmt.Sprintf("Allow %s for project %s?", name, slug)) {
						return fold.WithHint(errors.Join(errors.New("nothing was allowed"), fold.ErrForbidden), fmt.Sprintf("foldwatch provider allow %s -p %s --yes", name, slug))
					}
					if _, err := editConfig(app, change{[]string{"projects", slug, "providers"}, append(slices.Clone(cfg.Allowed), name)}); err != nil {
						return err
					}
				}
				return reloadModels(cmd.Context(), app, fmt.Sprintf("allowed: %s for project %s", name, slug))
			})
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

func addressOf(p conf.Provider) string {
	if p.URL != "" {
		return p.URL
	}
	return embed.DefaultURL(p.Kind)
}

// leaving says what would leave this machine.
func leaving(cfg conf.Config, name string, p conf.Provider, slug string) string {
	where, how := name, ""
	if at := addressOf(p); at != "" {
		where = hostOf(p)
		if !strings.HasPrefix(at, "https://") {
			how = ", UNENCRYPTED"
		}
	}
	model := cfg.Embedding.Model
	if cfg.Embedding.Provider != name || model == "" {
		model = p.Model
	}
	if model == "" {
		model = embed.DefaultModel(p.Kind)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s would get from project %s%s:\n", where, slug, how)
	fmt.Fprintf(&b, "  - the text of every indexed source file, in chunks, and its path\n")
	fmt.Fprintf(&b, "  - titles, descriptions and text of all memories\n")
	fmt.Fprintf(&b, "  - the text of searches\n")
	fmt.Fprintf(&b, "to make vectors of them (model %s) while it is chosen: foldwatch model use %s\n", model, name)
	fmt.Fprintf(&b, "It would not get: ignored files, .env and key files, any text with a credential in it.\n")
	if p.DailyTexts > 0 || p.DailyTokens > 0 {
		fmt.Fprintf(&b, "At most %d texts and %d tokens a day (0: no limit).\n", p.DailyTexts, p.DailyTokens)
	}
	fmt.Fprintf(&b, "Each request is recorded on this machine: when, where to, how many texts and bytes.\n")
	return b.String()
}

func providerDenyCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "deny PROVIDER",
		Short: "Send nothing to a provider any more",
		Long:  "Takes back foldwatch provider allow: for all projects, or with -p for one.",
		Args:  between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := app.config.Settings()
			if err != nil {
				return err
			}
			name := args[0]
			slugs := st.Config.ProjectSlugs()
			if app.slug != "" {
				slug, _, _ := strings.Cut(app.slug, "@")
				slugs = []string{slug}
			}
			var changes []change
			var from []string
			for _, slug := range slugs {
				allowed := st.Config.For(slug).Allowed
				i := slices.Index(allowed, name)
				if i < 0 {
					continue
				}
				from = append(from, slug)
				c := change{path: []string{"projects", slug, "providers"}}
				if rest := slices.Delete(slices.Clone(allowed), i, i+1); len(rest) > 0 {
					c.value = rest
				}
				changes = append(changes, c)
			}
			if len(changes) == 0 {
				return reloadModels(cmd.Context(), app, fmt.Sprintf("%s was not allowed anything", name))
			}
			if _, err := editConfig(app, changes...); err != nil {
				return err
			}
			return reloadModels(cmd.Context(), app, fmt.Sprintf("denied: %s for %s", name, strings.Join(from, ", ")))
		},
	}
}
