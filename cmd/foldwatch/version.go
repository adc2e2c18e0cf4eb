package main

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"

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

// identity is the version and commit of a program: what the linker was told, else
// the version by which go fetched the module.
func identity(version, commit string, read func() (*debug.BuildInfo, bool)) (string, string) {
	if info, ok := read(); ok && version == "" && info.Main.Version != "(devel)" {
		version = strings.TrimPrefix(info.Main.Version, "v")
	}
	return cmp.Or(version, "0.1.0-dev"), cmp.Or(commit, "unknown")
}
