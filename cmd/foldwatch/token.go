package main

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

func tokenCommand(app *App) *cobra.Command {
	c := parent("token", "Let other machines and programs in", tokenCreateCommand(app), tokenListCommand(app), tokenRevokeCommand(app))
	c.SuggestFor = []string{"tokens", "login"}
	return c
}

func tokenCreateCommand(app *App) *cobra.Command {
	in := wire.TokenCreate{Scope: "read"}
	c := &cobra.Command{
		Use:     "create --name NAME",
		Aliases: []string{"new", "add"},
		Short:   "Make a token, and show it this once",
		Long: "Makes a token for a program that calls foldwatch over TCP (listen in the user file), or that\n" +
			"shall be allowed less than you at the socket. It is shown once: foldwatch keeps only its hash.\n" +
			"Send it as the header Authorization: Bearer fwt_…, never in a URL.",
		Example: "foldwatch token create --name ci --scope read --project my-app --expires 30d",
		Args:    between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if in.Name == "" {
				return usage(errors.New("a token needs a name"), "foldwatch token create --name NAME")
			}
			if app.slug != "" {
				in.Projects = strings.Split(app.slug, ",")
			}
			cl, err := app.daemon.Connect(cmd.Context())
			if err != nil {
				return err
			}
			made, err := cl.CreateToken(cmd.Context(), in)
			if err != nil {
				return err
			}
			return app.Emit(made, func(p terminal.Printer) {
				p.Printf("%s\n", made.Secret)
				app.Messages(false).Printf("token %s (%s): %s, until %s; it is not shown again\n",
					made.ID, made.Name, tokenMay(made.Token), made.ExpiresAt.Local().Format(time.DateTime))
			})
		},
	}
	c.Flags().StringVar(&in.Name, "name", "", "what it is for; the author of what it writes")
	c.Flags().StringVar(&in.Scope, "scope", in.Scope, "read, write or admin")
	c.Flags().StringVar(&in.Expires, "expires", "90d", "after how long it ends: 90d, 12h")
	return c
}

func tokenListCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls", "show"},
		Short:   "List tokens: what they may, until when, when they were last used",
		Args:    between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := app.daemon.Connect(cmd.Context())
			if err != nil {
				return err
			}
			list, err := cl.Tokens(cmd.Context())
			if err != nil {
				return err
			}
			return app.Emit(list, func(p terminal.Printer) {
				if len(list.Items) == 0 {
					app.Messages(false).Printf("there are no tokens; to make one: foldwatch token create --name NAME\n")
					return
				}
				var t terminal.Table
				t.Row("ID", "NAME", "MAY", "STATE", "UNTIL", "LAST USED")
				for _, k := range list.Items {
					used := time.Time{}
					if k.LastUsed != nil {
						used = *k.LastUsed
					}
					t.Row(k.ID, k.Name, tokenMay(k), k.State, k.ExpiresAt.Local().Format(time.DateTime), terminal.Ago(used, app.now()))
				}
				t.Print(p)
			})
		},
	}
}

func tokenRevokeCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID",
		Aliases: []string{"rm", "delete", "remove"},
		Short:   "End a token at once, and those that were made by it",
		Args:    between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := app.daemon.Connect(cmd.Context())
			if err != nil {
				return err
			}
			if err := cl.RevokeToken(cmd.Context(), args[0]); err != nil {
				return err
			}
			return app.Emit(map[string]string{"revoked": args[0]}, func(p terminal.Printer) { p.Printf("revoked %s\n", args[0]) })
		},
	}
}

// tokenMay says what a token may: "read my-app", "admin, all projects".
func tokenMay(k wire.Token) string {
	if len(k.Projects) == 0 {
		return k.Scope + ", all projects"
	}
	return k.Scope + " " + strings.Join(k.Projects, ", ")
}
