package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// checkFolder looks at the working directory: whether it is registered, and
// whether a fold/ in it is somebody else's.
func checkFolder(ctx context.Context, p *patient) finding {
	wd, err := p.e.workDir()
	if err != nil {
		return warn("", "%v", err)
	}
	if !inRepository(wd) {
		return ok("%s is in no git repository", wd)
	}
	if p.c != nil {
		if pr, err := local.Answer(ctx, p.e.daemon.Timeout, func(ctx context.Context) (wire.Project, error) { return p.c.ProjectOfPath(ctx, wd) }); err == nil {
			return ok("%s is in project %s", wd, pr.Slug)
		}
	}
	if _, err := usergit.Locate(ctx, wd); errors.Is(err, fold.ErrForbidden) {
		return fail(fold.Hint(err), "%v", err) // to register it would fail so too
	}
	foldDir := filepath.Join(wd, "fold")
	entries, err := os.ReadDir(foldDir)
	if err == nil && len(entries) > 0 && !exists(filepath.Join(foldDir, "project.toml")) {
		return warn("foldwatch add . --fold-dir memory", "%s is not a fold of ours", foldDir)
	}
	if p.c == nil {
		return ok("%s; no daemon to say whether it is registered", wd)
	}
	return warn("foldwatch up", "%s is not registered", wd)
}

// checkProjects tells what each project's own status complains of.
func checkProjects(_ context.Context, p *patient) []finding {
	if p.stat == nil {
		return []finding{skipped("no daemon")}
	}
	var found []finding
	for _, pr := range p.stat.Projects {
		found = append(found, projectFindings(pr)...)
	}
	return orOK(found, "none is registered")
}

func projectFindings(pr wire.ProjectStatus) []finding {
	var found []finding
	at := " -p " + terminal.Quote(pr.Slug)
	switch pr.State {
	case stateStarting: // nothing is counted yet
		return []finding{skipped("%s: its index is still opening; to see how it is: foldwatch status%s", pr.Slug, at)}
	case "ready", "indexing":
	default:
		mend := pr.Hint
		if mend == "" {
			mend = "foldwatch status" + at
		}
		found = append(found, fail(mend, "%s is %s: %s", pr.Slug, pr.State, pr.Reason))
	}
	if pr.Files.Failed > 0 {
		found = append(found, fail("foldwatch quarantine"+at, "%s: %s failed", pr.Slug, terminal.Plural(pr.Files.Failed, "file")))
	}
	for _, f := range pr.Problems {
		if f.State != "quarantined" {
			continue
		}
		mend := f.Hint
		if mend == "" {
			mend = "mend the file; all of them: foldwatch quarantine" + at
		}
		found = append(found, fail(mend, "%s: %s: %s", pr.Slug, f.Path, f.Reason))
	}
	left := ""
	for _, n := range pr.Notices {
		switch {
		case ownCheck(n):
		case strings.HasPrefix(n, leftOut):
			left = "; " + n // as the checkout wants it
		default:
			found = append(found, warn(mendIn(n, "foldwatch status"+at), "%s: %s", pr.Slug, n))
		}
	}
	yet := ""
	if pr.State == "indexing" {
		yet = " yet: it is being indexed"
	}
	return orOK(found, "%s: %s, %s%s%s", pr.Slug, terminal.Plural(pr.Files.Indexed, "file"), terminal.Plural(pr.Memories, "memory"), yet, left)
}

// leftOut begins what the daemon says of files that the checkout leaves out of the
// index: vendored ones, and those that it says.
const leftOut = "files not indexed: "

// mendIn returns the command that a notice ends with, else what else can be done.
func mendIn(notice, otherwise string) string {
	for _, before := range []string{": foldwatch ", "; foldwatch "} {
		if i := strings.LastIndex(notice, before); i >= 0 {
			return notice[i+2:]
		}
	}
	return otherwise
}

// notCommitted is in what the daemon says of a file that history does not take.
const notCommitted = " is not committed: "

// ownCheck reports whether a notice is about what a check of its own looks at.
func ownCheck(notice string) bool {
	return strings.HasSuffix(notice, "foldwatch merge-driver install") ||
		strings.HasSuffix(notice, "foldwatch untrack") || // that memories are on the branch
		strings.Contains(notice, notCommitted)
}

// checkHistory looks at the repository in which the history of memories is kept.
func checkHistory(ctx context.Context, p *patient) []finding {
	trees := p.mainTrees(ctx)
	if len(trees) == 0 {
		return p.noTrees()
	}
	var found []finding
	last := ""
	for _, t := range trees {
		l, err := usergit.Locate(ctx, t.path)
		if err != nil {
			found = append(found, fail(cmp.Or(fold.Hint(err), "foldwatch status -p "+terminal.Quote(t.slug)), "%s: %v", t.slug, err))
			continue
		}
		if !exists(l.Journal()) {
			continue // nothing was written yet
		}
		if _, err := p.git(ctx, l.StateDir(), "--git-dir="+l.Journal(), "fsck", "--connectivity-only", "--no-dangling", "--no-progress"); err != nil {
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
				found = append(found, fail("foldwatch remove "+terminal.Quote(t.path)+", move "+terminal.Quote(l.StateDir())+" away, foldwatch up "+terminal.Quote(t.path)+" (memories stay in "+t.foldDir()+"/)",
					"%s: the history of memories is damaged: %v", t.slug, err))
				continue
			}
			found = append(found, skipped("%s: the history takes longer than %s to be read", t.slug, p.e.timeouts.git))
		}
		if t.status == nil {
			continue
		}
		if c := t.status.LastCommit; c != nil {
			last = ", last commit " + terminal.Ago(c.Time, p.e.now())
		}
		for _, n := range t.status.Notices {
			path, _, is := strings.Cut(n, notCommitted)
			told := slices.ContainsFunc(t.status.Problems, func(f wire.FileProblem) bool { return f.Path == path })
			if is && !told {
				found = append(found, fail("foldwatch quarantine -p "+terminal.Quote(t.slug), "%s: %s", t.slug, n))
			}
		}
	}
	return orOK(found, "whole%s", last)
}

// checkSync looks when memories last went to the remote.
func checkSync(_ context.Context, p *patient) []finding {
	if p.stat == nil {
		return []finding{skipped("no daemon")}
	}
	var found []finding
	text := "off"
	seen := map[string]bool{}
	for _, pr := range p.stat.Projects {
		r := pr.Repository
		if r == nil || seen[pr.Slug] {
			continue
		}
		seen[pr.Slug] = true
		mend := r.Hint
		if mend == "" {
			mend = "foldwatch sync -p " + terminal.Quote(pr.Slug)
		}
		switch {
		case r.Stopped != "" || r.Sync == "paused" && pr.State != "paused":
			found = append(found, fail(mend, "%s: sync is paused: %s", pr.Slug, r.Reason))
		case r.UnpushedSince != nil && p.e.now().Sub(*r.UnpushedSince) > overdueAfter:
			found = append(found, fail(mend, "%s: %s not pushed since %s", pr.Slug, terminal.Plural(r.Unpushed, "memory"), r.UnpushedSince.Local().Format(time.DateTime)))
		case r.Reason != "":
			found = append(found, warn(mend, "%s: %s", pr.Slug, r.Reason))
		}
		for _, h := range r.Held {
			found = append(found, warn("mend it where it was made", "%s: %s came and is not taken in: %s", pr.Slug, h.Path, h.Reason))
		}
		text = pr.Slug + ": last push never"
		if r.LastPush != nil {
			text = pr.Slug + ": last push " + terminal.Ago(*r.LastPush, p.e.now())
		}
	}
	return orOK(found, "%s", text)
}
