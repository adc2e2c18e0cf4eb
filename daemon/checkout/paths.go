package checkout

import (
	"context"
	"errors"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// PathOf returns where the file of the memory that s means lies or lay.
func (st *Stores) PathOf(ctx context.Context, s string) (string, error) {
	id, err := st.Recall.Resolve(ctx, s)
	if errors.Is(err, fold.ErrNotFound) {
		id, err = st.deletedCalled(ctx, s, err)
	}
	if err != nil {
		return "", err
	}
	row, err := st.Index.Memory(ctx, id)
	if err == nil && row.Path != "" {
		return row.Path, nil
	}
	if err != nil && !errors.Is(err, fold.ErrNotFound) {
		return "", err
	}
	return id.Path(), nil // also that of a memory which is gone
}

// LostPath is pathOf of a memory that is to be restored: where one that is lost lay.
func (st *Stores) LostPath(ctx context.Context, in wire.Restore) (string, error) {
	if in.At == "" {
		for _, l := range st.Store.Lost() {
			if in.ID != "" && (strings.EqualFold(string(l.ID), in.ID) || l.Path == in.ID) {
				return l.Path, nil
			}
		}
	}
	return st.PathOf(ctx, in.ID)
}

// deletedCalled returns the one memory that is deleted and whose id begins with s, or
// notFound. It returns an ErrInvalid that names them if there are several.
func (st *Stores) deletedCalled(ctx context.Context, s string, notFound error) (fold.ID, error) {
	store := st.Store
	ids, err := store.History().Called(ctx, strings.ToLower(strings.TrimSpace(s)))
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", notFound
	case len(ids) == 1:
		return ids[0], nil
	}
	return "", recall.Ambiguous(s, ids, func(id fold.ID) string {
		b, _, err := store.History().LastBlob(ctx, id.Path())
		if err != nil {
			return ""
		}
		m, err := fold.Decode("", id.Path(), b)
		if err != nil {
			return ""
		}
		return m.Title
	})
}
