package tip

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
func (fo *Follower) DefaultBranch(ctx context.Context) (name, tip string, err error) {
	return fo.branch.Default(ctx)
}

// RememberAhead is RememberCommits for the commits that the remote's default branch
// has and ours has not. What it writes is what RememberCommits would, once the
// branch is pulled: a function of the commit alone.
func (fo *Follower) RememberAhead(ctx context.Context, ahead upstream.Branch) (r progress.Report, err error) {
	if fo.Store == nil || fo.NoCommits || ahead.Tip == "" {
		return r, nil
	}
	branch, tip, err := fo.branch.Default(ctx)
	if err != nil || tip == "" {
		return r, err
	}
	note, err := fo.State.Note(ctx, fo.Key, noteAheadAt)
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
	if note, err = fo.State.Note(ctx, fo.Key, noteCommitsAt); err != nil {
		return r, err
	}
	// What was on the branch when it was first seen stays out, as it does there.
	not := []string{tip, parseCommitCursor(note).since}
	list, err := ahead.Repo.Changes(ctx, ahead.Tip, append(not, at), 0, fo.MostCommits)
	if usergit.UnknownCommit(err) { // history was rewritten, and git has cleaned up since
		at = ""
		list, err = ahead.Repo.Changes(ctx, ahead.Tip, []string{tip}, 0, fo.MostCommits)
	}
	if err != nil {
		return r, err
	}
	again, err := fo.twins(ctx, ahead.Repo, at, ahead.Tip, list)
	if err != nil {
		return r, err
	}
	gone, err := fo.State.Gone(ctx, fo.Slug)
	if err != nil {
		return r, err
	}
	if r, err = fo.putCommits(ctx, list, again, gone, progress.NewTally(nil, progress.StageCommits, len(list))); err != nil {
		return r, err
	}
	return r, fo.State.SetNote(ctx, fo.Key, noteAheadAt, ahead.Tip+" "+branch)
}
