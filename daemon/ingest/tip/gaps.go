package tip

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// gaps are what a look for files without a memory file went by: the same look
// would find the same.
type gaps struct {
	oid    string // of the tree that was looked through
	rules  string
	toFold bool // memory files are wanted; without, there are no gaps
	// Versions of the manifests, in this opening.
	source, inFold int64
}

// gapsNote is where the last look is kept over a restart.
const gapsNote = "gaps"

func (fo *Follower) gapsOf(oid string, toFold bool) *gaps {
	return &gaps{oid: oid, rules: fo.rulesSum(), toFold: toFold, source: fo.index.FilesVersion(false), inFold: fo.index.FilesVersion(true)}
}

// rulesSum is the same for the same rules.
func (fo *Follower) rulesSum() string {
	sum := sha256.Sum256([]byte(fo.Selection.Rules().Text()))
	return hex.EncodeToString(sum[:8])
}

// lookedForGaps reports whether the tree was looked through already, and nothing
// that decides about it moved since.
func (fo *Follower) lookedForGaps(ctx context.Context, oid string) (bool, error) {
	if fo.gaps == nil {
		return fo.keptGaps(ctx, oid)
	}
	if fo.gaps.oid != oid || fo.gaps.rules != fo.rulesSum() {
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
		return oid + " " + fo.rulesSum()
	}
	return fmt.Sprintf("%s %s %s %d", oid, fo.rulesSum(), fo.index.Generation, seq)
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
