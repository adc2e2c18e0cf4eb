package watch

import (
	"github.com/fsnotify/fsnotify"
)

// A notifier reports what happens in the directories it was given. The system's
// is fsnotify; tests bring one that breaks on command.
type notifier interface {
	Add(dir string) error // absolute
	Remove(dir string) error
	Events() <-chan fsnotify.Event // closed when it died
	Errors() <-chan error
	Close() error
}

type system struct{ w *fsnotify.Watcher }

func newSystem() (notifier, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return system{w}, nil
}

// Add sets the watch with a buffer of 256 KiB, which only Windows has: its
// default of 64 KiB overflows on a branch switch.
func (s system) Add(dir string) error {
	return s.w.AddWith(dir, fsnotify.WithBufferSize(256<<10))
}

func (s system) Remove(dir string) error       { return s.w.Remove(dir) }
func (s system) Events() <-chan fsnotify.Event { return s.w.Events }
func (s system) Errors() <-chan error          { return s.w.Errors }
func (s system) Close() error                  { return s.w.Close() }
