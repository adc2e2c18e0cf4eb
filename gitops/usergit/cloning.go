package usergit

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// How long a repository without any reference and index is taken for one that is
// just being cloned: since something in it changed last. One with a remote may wait
// for the answer of that, or for somebody who types a password.
const (
	cloneRest = 2 * time.Second
	cloneAsks = 15 * time.Second
	cloneLook = 50 * time.Millisecond
)

// AwaitClone waits while the repository looks like one that git is just cloning, if
// nobody but git has been in it: until the branch that it checks out is there, or
// nothing happens in it any more. What a clone brings is there only then. It returns ctx.Err() if ctx ends
// before. A repository in the reftable format is not waited for.
func (l *Repo) AwaitClone(ctx context.Context) error {
	for l.cloning(time.Now()) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(cloneLook):
		}
	}
	return nil
}

// cloning reports whether a clone seems to be under way at now.
func (l *Repo) cloning(now time.Time) bool {
	if l.Linked { // the repository was there before
		return false
	}
	for _, name := range []string{ownDir, "index", "reftable"} {
		if _, err := os.Lstat(filepath.Join(l.CommonDir, name)); err == nil {
			return false
		}
	}
	if l.headIsBorn() {
		return false
	}
	var newest time.Time
	note := func(name string) {
		if fi, err := os.Lstat(filepath.Join(l.CommonDir, name)); err == nil && fi.ModTime().After(newest) {
			newest = fi.ModTime()
		}
	}
	for _, name := range []string{".", "HEAD", "config", "objects", "refs", "packed-refs"} {
		note(name)
	}
	packs, err := os.ReadDir(filepath.Join(l.CommonDir, "objects", "pack"))
	if err != nil {
		return false
	}
	for _, e := range packs {
		if strings.HasPrefix(e.Name(), "tmp_") {
			note(filepath.Join("objects", "pack", e.Name()))
		}
	}
	// The references of the remote come a moment before the branch that is checked out.
	// Where that does not follow, there is none.
	_, err = os.Lstat(filepath.Join(l.CommonDir, "packed-refs"))
	named := err == nil || hasFiles(filepath.Join(l.CommonDir, "refs"))
	rest := cloneRest
	if b, err := os.ReadFile(filepath.Join(l.CommonDir, "config")); !named && (err == nil && strings.Contains(string(b), "[remote ") || len(packs) > 0) {
		rest = cloneAsks
	}
	// A time to come is a wrong clock's, and says nothing.
	return !newest.After(now.Add(time.Second)) && now.Sub(newest) < rest
}

// headIsBorn reports whether HEAD names a commit, or a branch that has one.
func (l *Repo) headIsBorn() bool {
	oid, err := l.HeadOid()
	return err == nil && strings.Trim(oid, "0") != ""
}

// hasFiles reports whether there is a file below dir.
func hasFiles(dir string) bool {
	found := false
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}
