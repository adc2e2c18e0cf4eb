package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// promote makes memories of the conflict callouts in files that were just read
// (git.md, merge of one memory), and takes them out of these. It comes before
// the index has the files: what a crash or a full disk keeps it from is done
// when they are read again. What it writes comes back as a change of its own,
// in which there is nothing left to promote.
func (in *Ingester) promote(ctx context.Context, found []*foldChange) error {
	if in.Store == nil {
		return nil
	}
	for _, fc := range found {
		if fc.m == nil || !fold.HasCallout(fc.m.Body) {
			continue
		}
		err := in.promoteOne(ctx, fc.m, fc.bytes)
		if errors.Is(err, fold.ErrForbidden) {
			return nil // fold/ is read only here: it stays where it can be read
		}
		if err != nil {
			return fmt.Errorf("keep the other version of memory %s: %w", fc.m.ID, err)
		}
	}
	return nil
}

func (in *Ingester) promoteOne(ctx context.Context, m *fold.Memory, b []byte) error {
	rest, made, err := fold.Promote(b, m)
	if err != nil || len(made) == 0 {
		return err
	}
	for _, p := range made {
		w := gitops.Write{ID: p.ID, Path: p.Path, New: fold.Encode(p, nil), Reason: fmt.Sprintf("fold: Keep %q", p.Title)}
		// One that exists was promoted before, and perhaps edited since.
		if _, err := in.Store.Put(ctx, w); err != nil && !errors.Is(err, fold.ErrConflict) {
			return err
		}
	}
	_, err = in.Store.Put(ctx, gitops.Write{ID: m.ID, Path: m.Path, Base: b, New: rest, Reason: fmt.Sprintf("fold: Tell the versions of %q apart", m.Title)})
	if errors.Is(err, fold.ErrConflict) {
		return nil // it changed meanwhile, and will be read again
	}
	return err
}
