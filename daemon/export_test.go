package daemon

import (
	"context"
	"io"
	"time"

	"github.com/foldwatch/foldwatch/daemon/jobs"
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

// RetryAt tells when files that failed are tried again by themselves; zero if
// none are.
func (d *Daemon) RetryAt(path string) time.Time {
	for _, co := range d.sorted() {
		if co.rec.Path == path {
			co.mu.Lock()
			defer co.mu.Unlock()
			return co.retries.at
		}
	}
	return time.Time{}
}

// RetrySoon makes the attempt at files that failed due now.
func (d *Daemon) RetrySoon(path string) {
	for _, co := range d.sorted() {
		if co.rec.Path == path {
			co.mu.Lock()
			co.retries.at = time.Now()
			co.mu.Unlock()
			jobs.Poke(co.writes)
		}
	}
}
