package tip

import (
	"context"
	"errors"
	"fmt"

	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
)

// DescribeTip brings the memory files of source files up to
// the tip of the default branch, whatever is checked out (design.md 5). Only
// paths that changed since the cursor are rewritten or removed, and never what
// describes a blob this repository does not know: that is newer than ours.
func (fo *Follower) DescribeTip(ctx context.Context, opt DescribeOptions, tell progress.Func) (r progress.Report, err error) {
	if fo.Store == nil {
		return r, nil
	}
	if opt == (DescribeOptions{}) && fo.FromWorkTree() {
		if is, err := fo.FollowsWorkTree(ctx); err != nil || is {
			return r, errors.Join(err, fo.describeSaved(ctx))
		}
	}
	if _, err := fo.OwesDescriptions(); err != nil { // nothing is owed where nothing was described yet
		return r, err
	}
	cursor, err := fo.State.Cursor(ctx, fo.Key)
	if err != nil {
		return r, err
	}
	t, err := fo.tip(ctx, cursor, opt)
	if err != nil || t == nil {
		return r, err
	}
	toFold := fo.Selection.Rules().ToFold(len(t.blobs))
	fo.SetFromWorkTree(t.oid == "")
	if opt.Gaps || opt.Full {
		if r.Kept, err = fo.followRules(ctx, t); err != nil {
			return r, fmt.Errorf("leave files out: %w", err)
		}
	}
	if t.oid == "" {
		return r, fo.describeWorkTree(ctx, t, toFold, tell)
	}
	if cursor != "" && cursor != t.oid {
		if old, err := fo.treeAt(ctx, cursor); err != nil {
			cursor = "" // rewritten history: take existing files as they are
		} else if err := fo.follow(ctx, old, t); err != nil {
			fo.whole = [2]*tree{} // a list that was kept does not say that its commit is still there
			if _, gone := fo.treeAt(ctx, cursor); gone == nil {
				return r, fmt.Errorf("describe what changed: %w", err)
			}
			cursor = ""
		}
	}
	if toFold && (opt.Gaps || opt.Full || cursor != t.oid) {
		if err := fo.fillGaps(ctx, t, tell); err != nil {
			return r, fmt.Errorf("describe files: %w", err)
		}
	}
	if err := fo.State.SetCursor(ctx, fo.Key, t.oid); err != nil {
		return r, err
	}
	if opt.Gaps || opt.Full {
		fo.gaps = fo.gapsOf(t.oid, toFold)
	}
	return r, nil
}
