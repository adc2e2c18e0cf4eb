package watch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Directories without a watch are swept this often.
const (
	pollEvery     = 30 * time.Second
	pollEveryBig  = 60 * time.Second
	bigCheckout   = 50_000 // files
	maxPolledDirs = 1000   // more are not named in a batch
)

type kind int

const (
	source  kind = iota // below Root or an extra tree
	gitDir              // a git directory: only some names count
	gitRef              // refs, reftable and all below
	gitInfo             // its info: only what decides which files there are
)

// A place is a directory that is, or should be, watched.
type place struct {
	dir  string // absolute, as the system writes it
	kind kind
	name string // of a source: its reported name; "" for Root
	cost int    // of the watch, see watchBudget
}

// A dirSet has the directories with and without a watch, by absolute path.
type dirSet struct {
	watched map[string]place
	below   map[string]map[string]bool // directory → watched directories in it
	failed  map[string]place           // without a watch
	reason  string                     // why the last one failed
	spent   int                        // of watchBudget
}

func newDirSet() dirSet {
	return dirSet{watched: map[string]place{}, below: map[string]map[string]bool{}, failed: map[string]place{}}
}

func (d *dirSet) put(p place) {
	d.watched[p.dir] = p
	d.spent += p.cost
	delete(d.failed, p.dir)
	up := filepath.Dir(p.dir)
	if d.below[up] == nil {
		d.below[up] = map[string]bool{}
	}
	d.below[up][p.dir] = true
}

// drop removes dir and all below it, and calls gone for each that had a watch.
func (d *dirSet) drop(dir string, gone func(string)) {
	for sub := range d.below[dir] {
		d.drop(sub, gone)
	}
	delete(d.below, dir)
	delete(d.failed, dir)
	if _, ok := d.watched[dir]; !ok {
		return
	}
	d.spent -= d.watched[dir].cost
	delete(d.watched, dir)
	if up := d.below[filepath.Dir(dir)]; up != nil {
		delete(up, dir)
	}
	gone(dir)
}

// polled returns the names of the source directories without a watch, sorted; nil if they
// are too many, or if another kind of directory has none.
func (d *dirSet) polled() []string {
	if len(d.failed) == 0 || len(d.failed) > maxPolledDirs {
		return nil
	}
	var names []string
	for _, p := range d.failed {
		if p.kind != source {
			return nil
		}
		names = append(names, p.name)
	}
	slices.Sort(names)
	return names
}

// clean returns the reported name of a directory: "" for the root.
func clean(dir string) string {
	if dir = path.Clean("/" + filepath.ToSlash(dir)); dir == "/" {
		return ""
	}
	return dir[1:]
}

// watchAll sets all missing watches: fold/ and git first, since there may be too few for
// the source. It returns the names of the listed directories, nil if there is no list.
func (l *loop) watchAll(ctx context.Context) map[string]bool {
	defer func() { l.schedulePoll(time.Now()) }()
	defer l.report()
	if l.n == nil {
		return nil
	}
	for _, t := range l.opt.Extra {
		l.watchTree(place{dir: filepath.Clean(t.Dir), kind: source, name: clean(t.Prefix)}, nil)
	}
	for _, g := range l.opt.Git {
		g = filepath.Clean(g)
		l.watch(place{dir: g, kind: gitDir})
		l.watch(place{dir: filepath.Join(g, "info"), kind: gitInfo})
		for _, sub := range []string{"refs", "reftable"} {
			l.watchTree(place{dir: filepath.Join(g, sub), kind: gitRef}, nil)
		}
	}
	root := place{dir: filepath.Clean(l.opt.Root), kind: source}
	if l.opt.Dirs == nil {
		l.watchTree(root, nil)
		return nil
	}
	l.watch(root)
	names, err := l.opt.Dirs(ctx)
	if err != nil {
		if ctx.Err() == nil {
			l.opt.Log.WarnContext(ctx, "Cannot list the directories to watch", "err", err)
			l.dirs.failed[root.dir], l.dirs.reason = root, "the directories cannot be listed: "+err.Error()
			l.listErr = true
		}
		return nil
	}
	listed := make(map[string]bool, len(names))
	for _, name := range names {
		if name = clean(name); name != "" {
			listed[name] = true
			l.watch(place{dir: filepath.Join(l.opt.Root, filepath.FromSlash(name)), kind: source, name: name})
		}
	}
	l.unlisted = l.opt.Ignored != nil
	return listed
}

// watch sets the watch of one directory, or notes that it must be polled. It reports
// whether the directory exists.
func (l *loop) watch(p place) bool {
	if _, ok := l.dirs.watched[p.dir]; ok {
		return true
	}
	stat := os.Lstat
	if p.dir == filepath.Clean(l.opt.Root) {
		stat = os.Stat // the user may have registered a link
	}
	if fi, err := stat(p.dir); err != nil || !fi.IsDir() {
		delete(l.dirs.failed, p.dir)
		if p.dir == filepath.Clean(l.opt.Root) {
			l.dirs.failed[p.dir], l.dirs.reason = p, "the root of the checkout is gone"
		}
		return false
	}
	if watchBudget > 0 {
		if p.cost = watchCost(p.dir); l.dirs.spent+p.cost > watchBudget {
			l.dirs.failed[p.dir], l.dirs.reason = p, "the checkout has more files than can be watched on this system"
			return true
		}
	}
	switch err := l.n.Add(p.dir); {
	case err == nil:
		l.dirs.put(p)
	case errors.Is(err, fs.ErrNotExist):
		return false
	case errors.Is(err, fs.ErrPermission):
		// Nothing below it can be read either.
		l.opt.Log.Debug("A directory may not be watched", "err", err)
	default:
		l.dirs.failed[p.dir], l.dirs.reason = p, reasonOf(err)
	}
	return true
}

// watchTree watches a directory and all below it. Found, if not nil, is called for each
// file that exists already.
func (l *loop) watchTree(p place, found func(name string)) {
	if p.kind == source && p.name != "" && l.pruned(p) {
		return
	}
	if !l.watch(p) { // before it is read, so that no file is missed
		return
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return
	}
	inTree := p.kind == source && !l.isExtra(p.dir)
	if inTree && p.name != "" && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".git" }) {
		l.dirs.drop(p.dir, func(d string) { _ = l.n.Remove(d) }) // a repository of its own
		return
	}
	for _, e := range entries {
		sub := place{dir: filepath.Join(p.dir, e.Name()), kind: p.kind, name: path.Join(p.name, e.Name())}
		switch {
		case !e.IsDir():
			if found != nil {
				found(sub.name)
			}
		case inTree && l.opt.Ignored != nil:
			if _, ok := l.dirs.watched[sub.dir]; !ok && !l.pruned(sub) {
				l.later(sub)
			}
		default:
			l.watchTree(sub, found)
		}
	}
}

func (l *loop) pruned(p place) bool {
	switch filepath.Base(p.dir) {
	case ".git", "...": // fsnotify takes the latter for "and all below"
		return true
	}
	return l.opt.Prune != nil && !l.isExtra(p.dir) && l.opt.Prune(p.name)
}

func inside(dir, tree string) bool {
	return dir == tree || strings.HasPrefix(dir, tree+string(filepath.Separator))
}

// event handles one event of the system.
func (l *loop) event(ev fsnotify.Event) {
	if ev.Name == "" || ev.Op == fsnotify.Chmod {
		return // a changed mode or time is not a changed content
	}
	now := time.Now()
	dir := filepath.Clean(ev.Name)
	if self, ok := l.dirs.watched[dir]; ok && ev.Has(fsnotify.Remove|fsnotify.Rename) {
		// Watches follow a directory that is moved, and would report it under
		// its old name.
		l.dirs.drop(dir, func(d string) { _ = l.n.Remove(d) })
		if dir == filepath.Clean(l.opt.Root) {
			l.watch(self)
			l.settle.lost(now, "lost watch")
			l.schedulePoll(now)
		}
		if _, known := l.dirs.watched[filepath.Dir(dir)]; !known && self.kind == source && self.name != "" {
			l.settle.add(now, self.name)
		}
		l.report()
	}
	up, ok := l.dirs.watched[filepath.Dir(dir)]
	if !ok {
		return
	}
	base := filepath.Base(dir)
	switch up.kind {
	case gitDir:
		if gitName(base, ev.Op) {
			l.settle.addGit(now)
		}
		if base == "refs" && ev.Has(fsnotify.Create) {
			l.watchTree(place{dir: dir, kind: gitRef}, nil)
		}
		return
	case gitRef:
		if !strings.HasSuffix(base, ".lock") {
			l.settle.addGit(now)
			if ev.Has(fsnotify.Create) {
				l.cameUp(now, place{dir: dir, kind: gitRef})
			}
		}
		return
	}
	if up.kind == gitInfo {
		if base == "exclude" || base == "sparse-checkout" {
			l.settle.add(now, ".git/info/"+base)
		}
		return
	}
	p := place{dir: dir, kind: source, name: path.Join(up.name, base)}
	if base == ".git" {
		if ev.Has(fsnotify.Create) && up.name != "" && !l.isExtra(up.dir) { // a repository of its own from now on
			l.dirs.drop(up.dir, func(d string) { _ = l.n.Remove(d) })
			l.settle.add(now, up.name)
			if !slices.Contains(l.nested, up.name) {
				l.nested = append(l.nested, up.name)
			}
			l.nestedIn, l.nestedAt = nestedAfter, now.Add(nestedAfter)
			l.report()
		}
		return
	}
	if ev.Has(fsnotify.Create) && l.cameUp(now, p) {
		return
	}
	l.settle.add(now, p.name)
}

// cameUp watches a directory that was created or moved here, and reports the files in it:
// `mkdir -p a/b` and a file in it cause one event, for a. It reports whether p is a
// directory.
func (l *loop) cameUp(now time.Time, p place) bool {
	fi, err := os.Lstat(p.dir)
	if err != nil || !fi.IsDir() {
		return false
	}
	if p.kind == source && l.pruned(p) {
		return true
	}
	l.dirs.drop(p.dir, func(d string) { _ = l.n.Remove(d) })
	if p.kind == source && l.opt.Ignored != nil && !l.isExtra(p.dir) {
		l.later(p)
		return true
	}
	found := func(string) {}
	if p.kind == source {
		l.settle.add(now, p.name)
		found = func(name string) { l.settle.add(now, name) }
	}
	l.watchTree(p, found)
	l.report()
	l.schedulePoll(now)
	return true
}

// gitName reports whether a name in a git directory means that HEAD, a ref or the index
// changed. A lock file only counts when it is removed: then git has finished.
func gitName(base string, op fsnotify.Op) bool {
	switch base {
	case "HEAD", "index", "packed-refs", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply", "sequencer":
		return true
	case "index.lock", "HEAD.lock":
		return op.Has(fsnotify.Remove)
	}
	return false
}

// retryFailed tries to set the missing watches until one fails again; limits may have
// been raised, or other programs ended.
func (l *loop) retryFailed(ctx context.Context) {
	if l.n == nil {
		return
	}
	gone := filepath.Clean(l.opt.Root)
	if l.listErr {
		l.listErr = false
		delete(l.dirs.failed, gone)
		l.watchAll(ctx)
	}
	for _, p := range l.dirs.failed {
		_, wasRoot := l.dirs.failed[gone]
		l.watch(p)
		if wasRoot && l.dirs.watched[gone].dir != "" {
			l.settle.lost(time.Now(), "lost watch") // the root is back: all its watches are set anew
			break
		}
		if _, still := l.dirs.failed[p.dir]; still {
			break
		}
	}
	l.report()
}

// schedulePoll starts or stops the polling of directories without a watch.
func (l *loop) schedulePoll(now time.Time) {
	if l.n != nil && len(l.dirs.failed) == 0 && l.network == "" {
		l.pollAt = time.Time{}
		return
	}
	every := l.opt.Poll
	if every == 0 {
		every = pollEvery
		if l.opt.Files != nil && l.opt.Files() > bigCheckout {
			every = pollEveryBig
		}
	}
	if l.pollAt.IsZero() || !now.Before(l.pollAt) {
		l.pollAt = now.Add(every)
	}
}

// report updates State.
func (l *loop) report() {
	s := State{Watched: len(l.dirs.watched), Polled: len(l.dirs.failed)}
	switch {
	case l.n == nil:
		s.Polling, s.Reason = true, l.why
	case len(l.dirs.failed) > 0:
		s.Polling, s.Reason = true, l.dirs.reason
	case l.network != "":
		s.Polling, s.Reason = true, "the checkout lies on a network file system ("+l.network+")"
	}
	if strings.Contains(s.Reason, "max_user_") {
		s.Hint = "raise the limit: sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Restarts = l.state.Restarts
	l.state = s
}

// reasonOf describes why a watch could not be set.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "the limit of directories to watch is reached (fs.inotify.max_user_watches)"
	case errors.Is(err, syscall.EMFILE):
		return "the limit of watchers or open files is reached (fs.inotify.max_user_instances, ulimit -n)"
	}
	return err.Error()
}
