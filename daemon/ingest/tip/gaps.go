package tip

import (
	"context"
	"fmt"
)

// gapsNote is where the last look is kept over a restart.
const gapsNote = "gaps"

func (fo *Follower) gapsOf(oid string, toFold bool) *gaps {
	return &gaps{oid: oid, rules: fo.Selection.Rules().Sum(), toFold: toFold, source: fo.index.FilesVersion(false), inFold: fo.index.FilesVersion(true)}
}

// lookedForGaps reports whether the tree was looked through already, and nothing
// that decides about it moved since.
func (fo *Follower) lookedForGaps(ctx context.Context, oid string) (bool, error) {
	if fo.gaps == nil {
		return fo.keptGaps(ctx, oid)
	}
	if fo.gaps.oid != oid || fo.gaps.rules != fo.Selection.Rules().Sum() {
		return false, nil
	}
	return !fo.gaps.toFold || fo.gaps.source == fo.index.FilesVersion(false) && fo.gaps.inFold == fo.index.FilesVersion(true), nil
}

// keptGaps is lookedForGaps by what was kept when the daemon ran before. Any
// change of the index since then makes that void, unless no memory files are
// wanted.
func (fo *Follower) keptGaps(ctx context.Context, oid string) (bool, error) {
	kept, err := fo.State.Note(ctx, fo.Key, gapsNote)
	if err != nil || kept == "" {
		return false, err
	}
	seq, err := fo.index.Seq(ctx)
	if err != nil {
		return false, err
	}
	for _, toFold := range []bool{false, true} {
		if kept == fo.gapsText(oid, toFold, seq) {
			fo.gaps = fo.gapsOf(oid, toFold)
			return true, nil
		}
	}
	return false, nil
}

func (fo *Follower) gapsText(oid string, toFold bool, seq int64) string {
	if !toFold {
		return oid + " " + fo.Selection.Rules().Sum()
	}
	return fmt.Sprintf("%s %s %s %d", oid, fo.Selection.Rules().Sum(), fo.index.Generation, seq)
}

// KeepGaps keeps over a restart that the tree was looked through for files
// without a memory file, if it was and nothing moved since.
func (fo *Follower) KeepGaps(ctx context.Context) error {
	if fo.gaps == nil {
		return nil
	}
	if looked, err := fo.lookedForGaps(ctx, fo.gaps.oid); err != nil || !looked {
		return err
	}
	seq, err := fo.index.Seq(ctx)
	if err != nil {
		return err
	}
	text := fo.gapsText(fo.gaps.oid, fo.gaps.toFold, seq)
	kept, err := fo.State.Note(ctx, fo.Key, gapsNote)
	if err != nil || kept == text {
		return err
	}
	return fo.State.SetNote(ctx, fo.Key, gapsNote, text)
}

// ruledNote names the rules that memory files were last brought in step with.
const ruledNote = "memory files by rules"

// rulesPending reports whether memory files are still to be brought in step with
// what is left out now. That waits while another branch than the described one is
// checked out: its rules are not those of what is described.
func (fo *Follower) rulesPending(ctx context.Context) (bool, error) {
	sum := fo.Selection.Rules().Sum()
	if fo.ruled == sum {
		return false, nil
	}
	was, err := fo.State.Note(ctx, fo.Key, ruledNote)
	if err != nil {
		return false, err
	}
	if was == sum {
		fo.ruled = sum
		return false, nil
	}
	if fo.Reader.Root == nil || fo.Describe == "worktree" {
		return true, nil
	}
	name, oid, err := fo.branch.Default(ctx)
	if err != nil || oid == "" || name == "" {
		return err == nil, err
	}
	return fo.Repo.OnBranch(ctx, name)
}
