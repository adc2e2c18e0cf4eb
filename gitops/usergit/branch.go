package usergit

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Branch knows the default branch of a checkout and its tip, and asks git again
// only when a file moved that says which that is. Safe for concurrent use.
type Branch struct {
	l *Repo

	mu        sync.Mutex // guards the fields below
	name, oid string
	ofHead    bool                    // none of the branches asked for was there
	when      time.Time               // commit time of oid; zero if it is not known
	stamps    map[string]contentStamp // by path; nil before the first answer
}

// NewBranch returns what remembers the default branch of l.
func (l *Repo) NewBranch() *Branch { return &Branch{l: l} }

// Default is [Repo.DefaultBranch].
func (b *Branch) Default(ctx context.Context) (name, oid string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.stamps != nil && b.unchanged(now) {
		return b.name, b.oid, nil
	}
	before := b.stampAll(b.files(b.name), now)
	found, err := b.l.defaultBranch(ctx)
	if err != nil {
		b.stamps = nil
		return "", "", err
	}
	b.name, b.oid, b.when, b.ofHead = found.name, found.oid, found.when, found.ofHead
	// The name decides which files count: only now are they known.
	b.stamps = b.stampAll(b.files(b.name), now)
	for p, is := range b.stamps {
		if was, looked := before[p]; !looked || is != was {
			b.stamps = nil // it moved while git was asked, or may have
			break
		}
	}
	return b.name, b.oid, nil
}

// CommitTime is [Repo.CommitTime] of a commit given by its full name. Where it is
// the tip that was found last it starts no process.
func (b *Branch) CommitTime(ctx context.Context, oid string) (time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if oid == b.oid && !b.when.IsZero() {
		return b.when, nil
	}
	return b.l.CommitTime(ctx, oid)
}

func (b *Branch) unchanged(now time.Time) bool {
	for p, l := range b.stamps {
		if !l.unchanged(p, now) {
			return false
		}
	}
	return true
}

func (b *Branch) stampAll(files []string, now time.Time) map[string]contentStamp {
	out := make(map[string]contentStamp, len(files))
	for _, p := range files {
		out[p] = stampContent(p, now)
	}
	return out
}

// files are those that say which branch is the default one, and where it is: all
// that [Repo.DefaultBranch] may ask for.
func (b *Branch) files(name string) []string {
	files := append(append(configFiles(), b.l.tables()...),
		filepath.Join(b.l.CommonDir, "config"), filepath.Join(b.l.GitDir, "config.worktree"),
		filepath.Join(b.l.CommonDir, "packed-refs"), filepath.Join(b.l.CommonDir, "refs", "remotes", "origin", "HEAD"))
	for _, branch := range []string{name, "main", "master"} {
		if branch != "" {
			files = append(files, filepath.Join(b.l.CommonDir, "refs", "heads", filepath.FromSlash(branch)))
		}
	}
	// What HEAD names counts only where none of these is there: another branch is
	// checked out more often than the default one becomes another.
	if b.ofHead {
		files = append(files, filepath.Join(b.l.GitDir, "HEAD"))
		if ref, ok := b.l.headRef(); ok {
			files = append(files, ref)
		}
	}
	return files
}

// A HeadStamp tells whether HEAD of a checkout, or the branch it names, is still
// where it was when it was looked at.
type HeadStamp struct{ stamps []contentStamp }

// HeadStamp looks at HEAD and at the branch it names.
func (l *Repo) HeadStamp() HeadStamp {
	files := append(l.tables(), filepath.Join(l.GitDir, "HEAD"), filepath.Join(l.CommonDir, "packed-refs"))
	if ref, ok := l.headRef(); ok {
		files = append(files, ref)
	}
	now := time.Now()
	var s HeadStamp
	for _, p := range files {
		s.stamps = append(s.stamps, stampContent(p, now))
	}
	return s
}

// Same reports whether nothing moved between two looks. What was as young as the
// first look is compared by its content, until it has come of age.
func (s HeadStamp) Same(o HeadStamp) bool {
	return slices.EqualFunc(s.stamps, o.stamps, contentStamp.same)
}

// OnBranch reports whether HEAD names the branch called name. Git is asked only
// where references are kept in tables.
func (l *Repo) OnBranch(ctx context.Context, name string) (bool, error) {
	if l.inTables() {
		h, err := l.Head(ctx)
		return err == nil && !h.Detached && h.Branch == name, err
	}
	ref, ok := l.headRef()
	return ok && ref == filepath.Join(l.CommonDir, "refs", "heads", filepath.FromSlash(name)), nil
}

// headRef returns the file of the branch that HEAD names.
func (l *Repo) headRef() (path string, ok bool) {
	head, err := os.ReadFile(filepath.Join(l.GitDir, "HEAD"))
	if err != nil || len(head) > 4096 {
		return "", false
	}
	ref, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: ")
	if !ok || !filepath.IsLocal(filepath.FromSlash(ref)) {
		return "", false
	}
	return filepath.Join(l.CommonDir, filepath.FromSlash(ref)), true
}
