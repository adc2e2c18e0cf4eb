package daemon

import (
	"github.com/foldwatch/foldwatch/daemon/watch"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// WatchState tells how the changes of the project's main checkout are noticed.
func (d *Daemon) WatchState(slug string) watch.State {
	cos, err := d.of(fold.LocalScope(), slug)
	if err != nil || cos[0].keeps() == nil {
		return watch.State{}
	}
	cos[0].mu.Lock()
	defer cos[0].mu.Unlock()
	if cos[0].watcher == nil {
		return watch.State{}
	}
	return cos[0].watcher.State()
}
