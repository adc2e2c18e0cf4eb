package main

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

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

// olderVersion reports whether version a is older than b by the precedence of
// semver.org 2.0.0, section 11, in which what stands behind a plus does not count.
// It is false where one of them is no such version, or that does not tell.
func olderVersion(a, b string) bool {
	x, xs := semantic().FindStringSubmatch(a), semantic().FindStringSubmatch(b)
	if x == nil || xs == nil {
		return false
	}
	for i := 1; i <= 3; i++ {
		if c := compareNumbers(x[i], xs[i]); c != 0 {
			return c < 0
		}
	}
	if x[4] == "" || xs[4] == "" {
		return x[4] != "" && xs[4] == "" // what comes before a release
	}
	return slices.CompareFunc(strings.Split(x[4], "."), strings.Split(xs[4], "."), func(a, b string) int {
		_, errA := strconv.ParseUint(a, 10, 64)
		_, errB := strconv.ParseUint(b, 10, 64)
		switch {
		case errA == nil && errB == nil:
			return compareNumbers(a, b)
		case errA == nil:
			return -1 // numbers are below words
		case errB == nil:
			return 1
		}
		return strings.Compare(a, b)
	}) < 0
}

// semantic takes a version apart: three numbers, and what comes before a release.
var semantic = later(`^v?([0-9]+)\.([0-9]+)\.([0-9]+)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?$`)

// compareNumbers compares whole numbers of any length by their digits.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
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
