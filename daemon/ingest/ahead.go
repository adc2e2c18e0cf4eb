package ingest

import (
	"context"
	"strings"

	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/gitops/upstream"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// noteAheadAt is a note on a checkout: up to which commit of the remote's default
// branch, and of which branch, commits became memories.
const noteAheadAt = "commits ahead"

// DefaultBranch returns the name of the default branch and its tip here; both are
// "" if nothing was committed.
func (in *Ingester) DefaultBranch(ctx context.Context) (name, tip string, err error) {
	return in.branch.Default(ctx)
}

// RememberAhead is RememberCommits for the commits that the remote's default branch
// has and ours has not. What it writes is what RememberCommits would, once the
// branch is pulled: a function of the commit alone.
func (in *Ingester) RememberAhead(ctx context.Context, ahead upstream.Branch) (r progress.Report, err error) {
	if in.Store == nil || in.NoCommits || ahead.Tip == "" {
		return r, nil
	}
	branch, tip, err := in.branch.Default(ctx)
	if err != nil || tip == "" {
		return r, err
	}
	note, err := in.State.Note(ctx, in.Key, noteAheadAt)
	if err != nil {
		return r, err
	}
	at, of, _ := strings.Cut(note, " ")
	if of != branch {
		at = ""
	}
	if at == ahead.Tip {
		return r, nil
	}
	if note, err = in.State.Note(ctx, in.Key, noteCommitsAt); err != nil {
		return r, err
	}
	// What was on the branch when it was first seen stays out, as it does there.
	not := []string{tip, parseCommitCursor(note).since}
	list, err := ahead.Repo.Changes(ctx, ahead.Tip, append(not, at), 0, in.MostCommits)
	if usergit.UnknownCommit(err) { // history was rewritten, and git has cleaned up since
		at = ""
		list, err = ahead.Repo.Changes(ctx, ahead.Tip, []string{tip}, 0, in.MostCommits)
	}
	if err != nil {
		return r, err
	}
	again, err := in.twins(ctx, ahead.Repo, at, ahead.Tip, list)
	if err != nil {
		return r, err
	}
	gone, err := in.State.Gone(ctx, in.Slug)
	if err != nil {
		return r, err
	}
	if r, err = in.putCommits(ctx, list, again, gone, progress.NewTally(nil, progress.StageCommits, len(list))); err != nil {
		return r, err
	}
	return r, in.State.SetNote(ctx, in.Key, noteAheadAt, ahead.Tip+" "+branch)
}
