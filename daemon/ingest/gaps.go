package ingest

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

func (in *Ingester) gapsOf(oid string, toFold bool) *gaps {
	return &gaps{oid: oid, rules: in.rulesSum(), toFold: toFold, source: in.Index.FilesVersion(false), inFold: in.Index.FilesVersion(true)}
}

// rulesSum is the same for the same rules.
func (in *Ingester) rulesSum() string {
	sum := sha256.Sum256([]byte(in.Rules().Text()))
	return hex.EncodeToString(sum[:8])
}

// lookedForGaps reports whether the tree was looked through already, and nothing
// that decides about it moved since.
func (in *Ingester) lookedForGaps(ctx context.Context, oid string) (bool, error) {
	if in.gaps == nil {
		return in.keptGaps(ctx, oid)
	}
	if in.gaps.oid != oid || in.gaps.rules != in.rulesSum() {
		return false, nil
	}
	return !in.gaps.toFold || in.gaps.source == in.Index.FilesVersion(false) && in.gaps.inFold == in.Index.FilesVersion(true), nil
}

// keptGaps is lookedForGaps by what was kept when the daemon ran before. Any
// change of the index since then makes that void, unless no memory files are
// wanted.
func (in *Ingester) keptGaps(ctx context.Context, oid string) (bool, error) {
	kept, err := in.State.Note(ctx, in.Key, gapsNote)
	if err != nil || kept == "" {
		return false, err
	}
	seq, err := in.Index.Seq(ctx)
	if err != nil {
		return false, err
	}
	for _, toFold := range []bool{false, true} {
		if kept == in.gapsText(oid, toFold, seq) {
			in.gaps = in.gapsOf(oid, toFold)
			return true, nil
		}
	}
	return false, nil
}

func (in *Ingester) gapsText(oid string, toFold bool, seq int64) string {
	if !toFold {
		return oid + " " + in.rulesSum()
	}
	return fmt.Sprintf("%s %s %s %d", oid, in.rulesSum(), in.Index.Generation, seq)
}

// KeepGaps keeps over a restart that the tree was looked through for files
// without a memory file, if it was and nothing moved since.
func (in *Ingester) KeepGaps(ctx context.Context) error {
	if in.gaps == nil {
		return nil
	}
	if looked, err := in.lookedForGaps(ctx, in.gaps.oid); err != nil || !looked {
		return err
	}
	seq, err := in.Index.Seq(ctx)
	if err != nil {
		return err
	}
	text := in.gapsText(in.gaps.oid, in.gaps.toFold, seq)
	kept, err := in.State.Note(ctx, in.Key, gapsNote)
	if err != nil || kept == text {
		return err
	}
	return in.State.SetNote(ctx, in.Key, gapsNote, text)
}
