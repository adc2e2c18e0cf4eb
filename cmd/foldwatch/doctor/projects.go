package doctor

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
func checkFolder(ctx context.Context, x *exam) Result {
	wd, err := x.host.WorkDir()
	if err != nil {
		return Warning("", "%v", err)
	}
	if !local.InRepository(wd) {
		return Pass("%s is in no git repository", wd)
	}
	if x.client != nil {
		if pr, err := local.Answer(ctx, x.host.Daemon.Timeout, func(ctx context.Context) (wire.Project, error) { return x.client.ProjectOfPath(ctx, wd) }); err == nil {
			return Pass("%s is in project %s", wd, pr.Slug)
		}
	}
	if _, err := usergit.Locate(ctx, wd); errors.Is(err, fold.ErrForbidden) {
		return Fault(fold.Hint(err), "%v", err) // to register it would fail so too
	}
	foldDir := filepath.Join(wd, "fold")
	entries, err := os.ReadDir(foldDir)
	if err == nil && len(entries) > 0 && !local.Exists(filepath.Join(foldDir, "project.toml")) {
		return Warning("foldwatch add . --fold-dir memory", "%s is not a fold of ours", foldDir)
	}
	if x.client == nil {
		return Pass("%s; no daemon to say whether it is registered", wd)
	}
	return Warning("foldwatch up", "%s is not registered", wd)
}

// checkProjects tells what each project's own status complains of.
func checkProjects(_ context.Context, x *exam) []Result {
	var found []Result
	for _, pr := range x.daemon.Projects {
		found = append(found, projectFindings(pr)...)
	}
	return OrPass(found, "none is registered")
}

func projectFindings(pr wire.ProjectStatus) []Result {
	var found []Result
	at := " -p " + terminal.Quote(pr.Slug)
	switch pr.State {
	case stateStarting: // nothing is counted yet
		return []Result{Skip("%s: its index is still opening; to see how it is: foldwatch status%s", pr.Slug, at)}
	case "ready", "indexing":
	default:
		mend := pr.Hint
		if mend == "" {
			mend = "foldwatch status" + at
		}
		found = append(found, Fault(mend, "%s is %s: %s", pr.Slug, pr.State, pr.Reason))
	}
	if pr.Files.Failed > 0 {
		found = append(found, Fault("foldwatch problems"+at, "%s: %s failed", pr.Slug, terminal.Plural(pr.Files.Failed, "file")))
	}
	for _, f := range pr.Problems {
		if f.State != "quarantined" {
			continue
		}
		mend := f.Hint
		if mend == "" {
			mend = "mend the file; all of them: foldwatch problems" + at
		}
		found = append(found, Fault(mend, "%s: %s: %s", pr.Slug, f.Path, f.Reason))
	}
	left := ""
	for _, n := range pr.Notices {
		switch {
		case ownCheck(n):
		case strings.HasPrefix(n, LeftOut):
			left = "; " + n // as the checkout wants it
		default:
			found = append(found, Warning(mendIn(n, "foldwatch status"+at), "%s: %s", pr.Slug, n))
		}
	}
	yet := ""
	if pr.State == "indexing" {
		yet = " yet: it is being indexed"
	}
	return OrPass(found, "%s: %s, %s%s%s", pr.Slug, terminal.Plural(pr.Files.Indexed, "file"), terminal.Plural(pr.Memories, "memory"), yet, left)
}

// LeftOut begins what the daemon says of files that the checkout leaves out of the
// index: vendored ones, and those that it says.
const LeftOut = "files not indexed: "

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
func checkHistory(ctx context.Context, x *exam) []Result {
	trees := x.mainCheckouts(ctx)
	var found []Result
	last := ""
	for _, t := range trees {
		l, err := usergit.Locate(ctx, t.path)
		if err != nil {
			found = append(found, Fault(cmp.Or(fold.Hint(err), "foldwatch status -p "+terminal.Quote(t.slug)), "%s: %v", t.slug, err))
			continue
		}
		if !local.Exists(l.Journal()) {
			continue // nothing was written yet
		}
		if _, err := x.git(ctx, l.StateDir(), "--git-dir="+l.Journal(), "fsck", "--connectivity-only", "--no-dangling", "--no-progress"); err != nil {
			if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
				found = append(found, Fault("foldwatch remove "+terminal.Quote(t.path)+", move "+terminal.Quote(l.StateDir())+" away, foldwatch up "+terminal.Quote(t.path)+" (memories stay in "+t.foldDir()+"/)",
					"%s: the history of memories is damaged: %v", t.slug, err))
				continue
			}
			found = append(found, Skip("%s: the history takes longer than %s to be read", t.slug, x.host.GitTimeout))
		}
		if t.status == nil {
			continue
		}
		if c := t.status.LastCommit; c != nil {
			last = ", last commit " + terminal.Ago(c.Time, x.host.Now())
		}
		for _, n := range t.status.Notices {
			path, _, is := strings.Cut(n, notCommitted)
			told := slices.ContainsFunc(t.status.Problems, func(f wire.FileProblem) bool { return f.Path == path })
			if is && !told {
				found = append(found, Fault("foldwatch problems -p "+terminal.Quote(t.slug), "%s: %s", t.slug, n))
			}
		}
	}
	return OrPass(found, "whole%s", last)
}

// checkSync looks when memories last went to the remote.
func checkSync(_ context.Context, x *exam) []Result {
	var found []Result
	text := "off"
	seen := map[string]bool{}
	for _, pr := range x.daemon.Projects {
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
			found = append(found, Fault(mend, "%s: sync is paused: %s", pr.Slug, r.Reason))
		case r.UnpushedSince != nil && x.host.Now().Sub(*r.UnpushedSince) > overdueAfter:
			found = append(found, Fault(mend, "%s: %s not pushed since %s", pr.Slug, terminal.Plural(r.Unpushed, "memory"), r.UnpushedSince.Local().Format(time.DateTime)))
		case r.Reason != "":
			found = append(found, Warning(mend, "%s: %s", pr.Slug, r.Reason))
		}
		for _, h := range r.Held {
			found = append(found, Warning("mend it where it was made", "%s: %s came and is not taken in: %s", pr.Slug, h.Path, h.Reason))
		}
		text = pr.Slug + ": last push never"
		if r.LastPush != nil {
			text = pr.Slug + ": last push " + terminal.Ago(*r.LastPush, x.host.Now())
		}
	}
	return OrPass(found, "%s", text)
}
