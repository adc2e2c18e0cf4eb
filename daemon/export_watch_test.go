package daemon

import (
	"github.com/foldwatch/foldwatch/daemon/watch"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// WatchState tells how the changes of the project's main checkout are noticed.
func (d *Daemon) WatchState(slug string) watch.State {
	cos, err := d.of(fold.LocalScope(), slug)
	if err != nil {
		return watch.State{}
	}
	v := cos[0].View()
	if v.Repo == nil || v.Watcher == nil {
		return watch.State{}
	}
	return v.Watcher.State()
}
