package main

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

// versionReply is what `version --json` prints.
type versionReply struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Parsers  string `json:"parsers"` // tree-sitter, or text where built without cgo
}

func versionCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  between(0, 0),
		RunE: func(*cobra.Command, []string) error {
			v := versionReply{Version: version, Commit: commit, Go: runtime.Version(), Platform: platform(), Parsers: chunker.Engine()}
			return app.Emit(v, func(p terminal.Printer) {
				p.Printf("foldwatch %s (%s) %s %s, parsers: %s\n", v.Version, v.Commit, v.Go, v.Platform, v.Parsers)
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

// untagged is the version that go gives to a commit without a tag: its time, and
// the begin of its digest.
var untagged = later(`[-.]([0-9]{4})([0-9]{2})([0-9]{2})[0-9]{6}-[0-9a-f]{12}$`)

// buildDate is the day of the commit that a program was made of, so that pages of
// equal programs are equal: what the linker was told, else what go knows. It is
// empty where that is nothing.
func buildDate(date string, read func() (*debug.BuildInfo, bool)) string {
	info, ok := read()
	if date != "" || !ok {
		return date
	}
	for _, s := range info.Settings {
		if at, err := time.Parse(time.RFC3339, s.Value); err == nil && s.Key == "vcs.time" {
			return at.UTC().Format(time.DateOnly)
		}
	}
	if d := untagged().FindStringSubmatch(info.Main.Version); d != nil {
		return d[1] + "-" + d[2] + "-" + d[3]
	}
	return ""
}

// What this program calls itself. Built without the linker's flags it is what go
// install asked for, or says that it is nothing that was released.
var version, commit = identity(setVersion, setCommit, debug.ReadBuildInfo)

// Set by the linker: -X main.setVersion=… -X main.setCommit=… -X main.setDate=….
var setVersion, setCommit, setDate string

// fullVersion tells two builds apart, as far as the daemon and the program
// that talks to it must be.
func fullVersion() string {
	if commit == "" || commit == "unknown" {
		return version
	}
	return version + "+" + commit
}

// platform names what this program was built for.
func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }
