package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// An entry is one version of the changelog.
type entry struct {
	version string
	date    time.Time
	note    string
}

// changes returns what the tags say, newest first, and in front of them this
// version if it has no tag.
func (r *release) changes(ctx context.Context) ([]entry, error) {
	cmd := exec.CommandContext(ctx, "git", "-C", r.tree, "for-each-ref", "--merged=HEAD", "--sort=-creatordate",
		"--format=%(refname:lstrip=2)%09%(creatordate:unix)%09%(contents:subject)", "refs/tags/v[0-9]*")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git for-each-ref: %w", err)
	}
	var all []entry
	for line := range strings.Lines(string(out)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		sec, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("date of %s: %w", f[0], err)
		}
		all = append(all, entry{strings.TrimPrefix(f[0], "v"), time.Unix(sec, 0).UTC(), f[2]})
	}
	if len(all) == 0 || all[0].version != r.version {
		all = append([]entry{{r.version, r.date, "Between two releases: commit " + r.commit + "."}}, all...)
	}
	return all, nil
}

// changelog writes the changes in the form that nfpm makes those of each kind
// of package of, and returns where.
func (r *release) changelog() (string, error) {
	var b bytes.Buffer
	for _, e := range r.previous {
		fmt.Fprintf(&b, "- semver: %q\n  date: %s\n  packager: %q\n  deb:\n    urgency: low\n    distributions: [unstable]\n  changes:\n    - note: %q\n",
			e.version, e.date.Format(time.RFC3339), maintainer, e.note)
	}
	path := filepath.Join(r.work, "changelog.yaml")
	return path, os.WriteFile(path, b.Bytes(), 0o600)
}
