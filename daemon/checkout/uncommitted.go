package checkout

import (
	"maps"
	"slices"
	"time"
)

// A file that went may be the first of many: a slow `git clean` must not be taken for
// deletions one by one before the vanish guard can count it.
const (
	goneQuiet = 1500 * time.Millisecond
	goneMost  = 10 * time.Second
)

// Uncommitted is what of fold/ is to be committed, and when. It is a value without
// clock or lock: time is an argument. The zero value has nothing to commit.
type uncommitted struct {
	paths   map[string]bool
	all     bool      // a full scan is due
	first   time.Time // when the oldest change was noted, zero for none
	last    time.Time // when the newest was
	retry   time.Time // nothing is due before
	went    time.Time // when the newest file was seen to be gone; zero if none waits
	wentOld time.Time // when the oldest of those was
	lost    bool      // in tracked mode: a look for lost memories is due
	guarded string    // why nothing is committed: memories vanished; "" if none did
}

// add notes paths that changed. Without any it puts off what is noted already.
func (u *uncommitted) add(now time.Time, paths ...string) {
	if u.paths == nil {
		u.paths = map[string]bool{}
	}
	for _, p := range paths {
		u.paths[p] = true
	}
	if u.some() {
		u.touch(now)
	}
}

// addAll asks for a full scan.
func (u *uncommitted) addAll(now time.Time) {
	u.all = true
	u.touch(now)
}

func (u *uncommitted) touch(now time.Time) {
	u.last = now
	if u.first.IsZero() {
		u.first = now
	}
}

// sawGone holds the next commit back until no more files go.
func (u *uncommitted) sawGone(now time.Time) {
	u.went = now
	if u.wentOld.IsZero() {
		u.wentOld = now
	}
}

// some reports whether there is something to commit.
func (u *uncommitted) some() bool { return len(u.paths) > 0 || u.all }

// due returns when it shall be committed; false if there is nothing. Changes settle
// for quiet, and wait for longest at most.
func (u *uncommitted) due(quiet, longest time.Duration) (time.Time, bool) {
	if !u.some() {
		return time.Time{}, false
	}
	at := earlier(u.last.Add(quiet), u.first.Add(max(longest, quiet)))
	if !u.went.IsZero() {
		at = later(at, earlier(u.went.Add(goneQuiet), u.wentOld.Add(goneMost)))
	}
	return later(at, u.retry), true
}

// take takes all that is to be committed.
func (u *uncommitted) take() (paths []string, all bool) {
	paths, all = slices.Sorted(maps.Keys(u.paths)), u.all
	*u = uncommitted{guarded: u.guarded, lost: u.lost}
	return paths, all
}

// putBack has what could not be committed tried again after wait.
func (u *uncommitted) putBack(now time.Time, paths []string, all bool, wait time.Duration) {
	u.add(now, paths...)
	u.all = u.all || all
	u.first, u.retry = now, now.Add(wait)
}

// unsettled notes paths that were still being written when the others were committed.
func (u *uncommitted) unsettled(now time.Time, paths []string) {
	if len(paths) == 0 {
		return
	}
	others, last := u.some(), u.last
	u.add(now, paths...)
	if others { // which changed since, and are not put off
		u.last = last
	}
}

// lookAt has all of fold/ looked at again at that time.
func (u *uncommitted) lookAt(at time.Time) {
	u.all, u.retry = true, at
	if u.first.IsZero() {
		u.first, u.last = at, at
	}
}

// takeLost reports whether a look for lost memories is due, and that it is made.
func (u *uncommitted) takeLost() bool {
	due := u.lost
	u.lost = false
	return due
}

// lower lets commits go on at once.
func (u *uncommitted) lower() { u.guarded, u.retry = "", time.Time{} }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
