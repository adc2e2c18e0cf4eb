package main

import (
	_ "embed"
	"fmt"
	"strings"
)

// A source is a body of text that the embedding is learned from, at a version
// that will be the same tomorrow.
type source struct {
	kind    string // go, npm
	name    string // module path or package name
	version string
	licence string // SPDX
	sum     string // h1: of the module, or sha512- of the package: what the registry serves must match it
	dir     string // where it lies on this machine; set by fetch
}

// toolchain is the module that the Go standard library comes in. It is taken
// from there and not from the compiler in use, whose release may differ.
const toolchain = "golang.org/toolchain"

//go:embed sources.tsv
var sourceList string

// sources returns the committed list, in its order.
func sources() ([]source, error) { return parseSources(sourceList) }

// parseSources reads lines of kind, name, version, licence and sum, parted by
// tabs. Empty lines and those that begin with # say nothing.
func parseSources(text string) ([]source, error) {
	var out []source
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 5 {
			return nil, fmt.Errorf("sources.tsv:%d: %d columns, want 5", i+1, len(f))
		}
		s := source{kind: f[0], name: f[1], version: f[2], licence: f[3], sum: f[4]}
		switch {
		case s.kind != "go" && s.kind != "npm":
			return nil, fmt.Errorf("sources.tsv:%d: unknown kind %q", i+1, s.kind)
		case seen[s.kind+" "+s.name]:
			return nil, fmt.Errorf("sources.tsv:%d: %s is listed twice", i+1, s.name)
		}
		seen[s.kind+" "+s.name] = true
		out = append(out, s)
	}
	return out, nil
}

// short is the name that paths inside the source get in front: the last part of its
// name that is no version.
func (s source) short() string {
	parts := strings.Split(s.name, "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		last = parts[len(parts)-2]
	}
	if s.name == toolchain {
		return ""
	}
	return last
}
