package tip

import (
	"context"
	"errors"
	"io/fs"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// onDisk returns the memory file of id, nil if there is none.
func (fo *Follower) onDisk(id fold.ID) (*fold.Memory, []byte, error) {
	b, err := fo.Store.Read(id.Path())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fold.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	m, err := fold.Decode(fo.Slug, id.Path(), b)
	return m, b, err
}

func (fo *Follower) put(ctx context.Context, w gitops.Write) error {
	if _, err := fo.Store.Put(ctx, w); err != nil {
		return err
	}
	_, err := fo.Indexer.Fold(ctx, []string{w.Path}, nil)
	return err
}

// remove deletes the memory file of a source that went, whose bytes are b.
func (fo *Follower) remove(ctx context.Context, p string, b []byte) error {
	id := fold.FileID(fo.Slug, p)
	if err := fo.put(ctx, gitops.Write{ID: id, Path: id.Path(), Base: b, Described: []byte{}}); err != nil {
		return err
	}
	return fo.notByHand(ctx, p)
}

// notByHand takes back that the description of the file at p was deleted by
// hand: that is seen in the file alone, and holds no longer than the source.
func (fo *Follower) notByHand(ctx context.Context, p string) error {
	return fo.State.SetGone(ctx, fo.Slug, fold.FileID(fo.Slug, p), false)
}

// merge3 is the three-way merge of a file that is never deleted.
func (fo *Follower) merge3(path string, base, ours, theirs []byte) ([]byte, error) {
	res, err := fold.Merge3(base, ours, theirs, fold.MergeOptions{Project: fo.Slug, Path: path, Now: fo.Now()})
	return res.Bytes, err
}

// titleOf names memories in a Related block by what the index calls them.
func (fo *Follower) titleOf(ctx context.Context) func(fold.ID) string {
	return func(id fold.ID) string {
		names, err := fo.index.Titles(ctx, []fold.ID{id})
		if err != nil {
			return ""
		}
		return names[id]
	}
}

func ignoreQuarantined(err error) error {
	if errors.Is(err, fold.ErrQuarantined) {
		return nil
	}
	return err
}
