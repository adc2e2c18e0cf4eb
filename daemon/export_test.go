package daemon

import (
	"context"
	"io"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Dump writes the logical state of a project's index, for tests that compare
// two of them.
func (d *Daemon) Dump(ctx context.Context, slug string, w io.Writer) error {
	_, st, err := d.open(ctx, fold.LocalScope(), slug)
	if err != nil {
		return err
	}
	return st.index.Dump(ctx, w)
}

// IndexDir is where the derived stores of the checkout at path lie.
func (d *Daemon) IndexDir(path string) string {
	for _, co := range d.sorted() {
		if co.rec.Path == path {
			return co.indexDir()
		}
	}
	return ""
}
