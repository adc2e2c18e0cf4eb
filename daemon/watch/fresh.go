package watch

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"time"
)

// A verdict says which of some directories are not to be watched.
type verdict struct {
	places  []place
	ignored map[string]bool // by name
}

// later has a source directory asked about before it is watched.
func (l *loop) later(p place) { l.fresh[p.dir] = p }

// ask starts to ask about the directories that came up, unless that goes on
// already. One question is about many, since each is a run of git.
func (l *loop) ask(ctx context.Context) {
	if l.asking || len(l.fresh) == 0 && !l.unlisted || ctx.Err() != nil {
		return
	}
	places := make([]place, 0, len(l.fresh))
	for _, p := range l.fresh {
		places = append(places, p)
	}
	var parents []place
	known := map[string]bool{}
	if l.unlisted && l.n != nil {
		for dir, p := range l.dirs.watched {
			if known[dir] = true; p.kind == source && !l.isExtra(dir) {
				parents = append(parents, p)
			}
		}
	}
	clear(l.fresh)
	l.asking, l.unlisted = true, false
	go func() {
		places = append(places, l.subdirs(ctx, parents, known)...)
		v := verdict{places: places}
		names := make([]string, len(places))
		for i, p := range places {
			names[i] = p.name
		}
		if len(names) > 0 && l.opt.Ignored != nil {
			var err error
			if v.ignored, err = l.opt.Ignored(ctx, names); err != nil && ctx.Err() == nil {
				l.opt.Log.WarnContext(ctx, "Cannot ask which directories are ignored, watching them", "err", err)
			}
		}
		l.verdicts <- v
	}()
}

// subdirs returns the directories in parents that are neither known nor pruned:
// a list of directories with files in them leaves out those without.
func (l *loop) subdirs(ctx context.Context, parents []place, known map[string]bool) []place {
	var out []place
	for _, up := range parents {
		if ctx.Err() != nil {
			return nil
		}
		f, err := os.Open(up.dir)
		if err != nil {
			continue
		}
		entries, _ := f.ReadDir(-1) // what could be read of it
		_ = f.Close()
		for _, e := range entries {
			p := place{dir: filepath.Join(up.dir, e.Name()), kind: source, name: path.Join(up.name, e.Name())}
			if e.IsDir() && !known[p.dir] && !l.pruned(p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// judged watches the directories that are not ignored, with what is in them, and
// lets go of those that are.
func (l *loop) judged(v verdict) {
	l.asking = false
	if l.n == nil {
		return // all is set anew once there is a notifier
	}
	now := time.Now()
	for _, p := range v.places {
		if v.ignored[p.name] {
			l.dirs.drop(p.dir, func(d string) { _ = l.n.Remove(d) })
			continue
		}
		if _, ok := l.dirs.watched[p.dir]; !ok {
			l.watchTree(p, func(name string) { l.settle.add(now, name) })
		}
	}
	l.report()
	l.schedulePoll(now)
}

// relist sets the watches that a new list of directories asks for, and has those
// asked about that it does not name any more.
func (l *loop) relist(ctx context.Context) {
	l.mu.Lock()
	anew := l.anew
	l.anew = false
	l.mu.Unlock()
	if !anew || l.n == nil {
		return
	}
	before := maps.Clone(l.dirs.watched)
	listed := l.watchAll(ctx)
	if listed == nil {
		return // what is watched stays so
	}
	now := time.Now()
	for dir, p := range l.dirs.watched {
		if _, ok := before[dir]; !ok && p.kind == source {
			l.settle.add(now, cmp.Or(p.name, ".")) // files may have changed since it was looked at
		}
	}
	for _, places := range []map[string]place{l.dirs.watched, l.dirs.failed} {
		for dir, p := range places {
			switch {
			case p.kind != source || p.name == "" || l.isExtra(dir) || listed[p.name]:
			case l.pruned(p):
				l.dirs.drop(dir, func(d string) { _ = l.n.Remove(d) })
			default:
				l.later(p)
			}
		}
	}
	l.report()
	l.schedulePoll(now)
}

// isExtra reports whether dir lies in a tree that is watched whatever is
// ignored.
func (l *loop) isExtra(dir string) bool {
	for _, t := range l.opt.Extra {
		if inside(dir, filepath.Clean(t.Dir)) {
			return true
		}
	}
	return false
}
