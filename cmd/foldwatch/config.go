package main

import (
	"errors"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/spf13/cobra"
)

func configCommand(app *App) *cobra.Command {
	c := parent("config", "Show the configuration", configShowCommand(app))
	c.SuggestFor = []string{"settings"}
	return c
}

func configShowCommand(app *App) *cobra.Command {
	var origin bool
	c := &cobra.Command{
		Use:   "show",
		Short: "Print every key with its value",
		Args:  between(0, 0),
		RunE: func(*cobra.Command, []string) error {
			st, slips := app.config.Settings()
			if slips != nil && st.Origins == nil {
				return slips
			}
			type key struct {
				Key   string `json:"key"`
				Value string `json:"value"`
				From  string `json:"from,omitempty"`
			}
			keys := make([]key, len(st.Origins))
			for i, o := range st.Origins {
				keys[i] = key{Key: o.Key, Value: o.Value}
				if origin {
					keys[i].From = o.From
				}
			}
			err := app.Emit(map[string]any{"file": st.Dirs.ConfigFile(), "keys": keys}, func(p terminal.Printer) {
				var t terminal.Table
				for _, k := range keys {
					if origin {
						t.Row(k.Key, "= "+k.Value, k.From)
						continue
					}
					t.Row(k.Key, "= "+k.Value)
				}
				t.Print(p)
				app.Messages(false).Printf("user file: %s\n", st.Dirs.ConfigFile())
			})
			return errors.Join(err, slips) // the keys have what they have without what is wrong
		},
	}
	c.Flags().BoolVar(&origin, "origin", false, "also print who set each key")
	return c
}
