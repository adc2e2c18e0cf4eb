package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/chunker"
)

// versionReply is what `version --json` prints.
type versionReply struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Parsers  string `json:"parsers"` // tree-sitter, or text where built without cgo
}

func versionCommand(e *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  between(0, 0),
		RunE: func(*cobra.Command, []string) error {
			v := versionReply{Version: version, Commit: commit, Go: runtime.Version(), Platform: platform(), Parsers: chunker.Engine()}
			return e.emit(v, func(p printer) {
				p.printf("foldwatch %s (%s) %s %s, parsers: %s\n", v.Version, v.Commit, v.Go, v.Platform, v.Parsers)
			})
		},
	}
}
