package usergit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Head is what HEAD of a checkout names.
type Head struct {
	Branch   string // short name; "" if detached
	Oid      string // commit, full hex; "" if unborn
	Unborn   bool   // the branch has no commit yet
	Detached bool
}

// Git returns a call that runs in the work tree, or on the git directory
// where there is none.
func (l *Repo) Git(args ...string) Call {
	if l.WorkTree == "" {
		return Call{Dir: l.GitDir, GitDir: l.GitDir, Args: args}
	}
	return Call{Dir: l.WorkTree, Args: args}
}

// Head returns what HEAD names now.
func (l *Repo) Head(ctx context.Context) (Head, error) {
	var h Head
	ref, err := l.Git("symbolic-ref", "-q", "HEAD").Line(ctx)
	switch {
	case err == nil:
		h.Branch = strings.TrimPrefix(ref, "refs/heads/")
	case ExitCode(err) == 1:
		h.Detached = true
	default:
		return h, fmt.Errorf("read HEAD: %w", err)
	}
	h.Oid, err = l.commit(ctx, "HEAD")
	if errors.Is(err, fold.ErrNotFound) && !h.Detached {
		h.Unborn, err = true, nil
	}
	return h, err
}

// commit returns the full name of the commit that rev names, or ErrNotFound.
func (l *Repo) commit(ctx context.Context, rev string) (string, error) {
	oid, err := l.Git("rev-parse", "--verify", "-q", "--end-of-options", rev+"^{commit}").Line(ctx)
	if err != nil {
		if code := ExitCode(err); code == 1 || code == 128 {
			return "", fmt.Errorf("commit %q: %w", rev, fold.ErrNotFound)
		}
		return "", err
	}
	return oid, nil
}

// DefaultBranch returns the local branch that memory files describe, and its
// tip: the one origin/HEAD names, else init.defaultBranch, main, master, else
// the current branch. Name and oid are empty if nothing has been committed,
// and name is empty on a detached HEAD without any of these branches.
func (l *Repo) DefaultBranch(ctx context.Context) (name, oid string, err error) {
	found, err := l.defaultBranch(ctx)
	return found.name, found.oid, err
}

// A tip is a branch and the commit it names.
type tip struct {
	name, oid string
	when      time.Time // commit time of oid; zero if it was not asked for
	ofHead    bool      // HEAD had to be asked
}

// originHead is what the user's git takes for the default branch of origin.
const originHead = "refs/remotes/origin/HEAD"

// defaultBranch is DefaultBranch. Most repositories need two processes.
func (l *Repo) defaultBranch(ctx context.Context) (tip, error) {
	configured, err := l.Git("config", "--get", "init.defaultBranch").Line(ctx)
	if err != nil {
		configured = ""
	}
	try := slices.DeleteFunc([]string{configured, "main", "master"}, func(b string) bool { return b == "" })
	known, origin := l.tips(ctx, try)
	if origin != "" {
		try = slices.Insert(try, 0, origin)
	}
	for _, b := range try {
		if t, ok := known[b]; ok && t.oid != "" {
			return t, nil
		} else if ok {
			continue // git was asked: there is none
		}
		oid, err := l.commit(ctx, "refs/heads/"+b)
		if err == nil {
			return tip{name: b, oid: oid}, nil
		}
		if !errors.Is(err, fold.ErrNotFound) {
			return tip{}, fmt.Errorf("find the default branch: %w", err)
		}
	}
	h, err := l.Head(ctx)
	if err != nil || h.Unborn {
		return tip{ofHead: true}, err
	}
	return tip{name: h.Branch, oid: h.Oid, ofHead: true}, nil
}

// tips asks git once for local branches, and for what origin/HEAD names: "" if it is
// not there. Those that are not there have no oid; those that git must be asked for
// in another way are left out.
func (l *Repo) tips(ctx context.Context, branches []string) (known map[string]tip, origin string) {
	args := []string{"for-each-ref", "--format=%(refname)%00%(symref)%00%(objecttype)%00%(objectname)%00%(committerdate:unix)", originHead}
	for _, b := range branches {
		args = append(args, "refs/heads/"+b)
	}
	out, err := l.Git(args...).Output(ctx)
	listed := false // origin/HEAD was
	if err == nil {
		known = map[string]tip{}
		for _, b := range branches {
			known[b] = tip{name: b}
		}
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimRight(line, "\r\n"), "\x00")
		if err != nil || len(f) != 5 {
			continue
		}
		if f[0] == originHead {
			listed, origin = true, strings.TrimPrefix(f[1], "refs/remotes/origin/")
			continue
		}
		name := strings.TrimPrefix(f[0], "refs/heads/")
		if _, asked := known[name]; !asked {
			continue
		}
		when, terr := readTime(f[4])
		if f[2] != "commit" || terr != nil {
			delete(known, name)
			continue
		}
		known[name] = tip{name: name, oid: f[3], when: when}
	}
	if !listed && l.mayHave(originHead) { // it names a branch that was pruned: git lists it no longer
		if ref, err := l.Git("symbolic-ref", "-q", originHead).Line(ctx); err == nil {
			origin = strings.TrimPrefix(ref, "refs/remotes/origin/")
		}
	}
	return known, origin
}

// mayHave reports whether a symbolic reference may be there: those lie in files of
// their own, or in tables.
func (l *Repo) mayHave(ref string) bool {
	if _, err := os.Lstat(filepath.Join(l.CommonDir, filepath.FromSlash(ref))); err == nil {
		return true
	}
	return l.inTables()
}

// TracksFold reports whether HEAD's commit holds a folder called dir, and
// which local and remote-tracking branches do (short names, HEAD's own branch
// among them). The folder may be someone else's: the caller looks inside.
func (l *Repo) TracksFold(ctx context.Context, dir string) (head bool, branches []string, err error) {
	out, err := l.Git("for-each-ref", "--format=%(objectname)%(HEAD)%(refname)", "refs/heads", "refs/remotes").Output(ctx)
	if err != nil {
		return false, nil, fmt.Errorf("list branches: %w", err)
	}
	refs := map[string][]string{} // by commit: most branches share few
	var order []string
	named := false
	add := func(oid, name string) {
		if _, ok := refs[oid]; !ok {
			order = append(order, oid)
		}
		refs[oid] = append(refs[oid], name)
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		at := strings.IndexAny(line, " *") // a star is where HEAD is
		if at < 0 {
			continue
		}
		oid, ref := line[:at], line[at+1:]
		if line[at] == '*' {
			add(oid, "")
			named = true
		}
		if !strings.HasSuffix(ref, "/HEAD") {
			ref = strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/remotes/")
			add(oid, ref)
		}
	}
	if !named { // detached, or nothing was committed on the branch
		if oid, err := l.commit(ctx, "HEAD"); err == nil {
			add(oid, "")
		} else if !errors.Is(err, fold.ErrNotFound) {
			return false, nil, err
		}
	}
	if len(order) == 0 {
		return false, nil, nil
	}
	var in strings.Builder
	for _, oid := range order {
		in.WriteString(oid + ":" + dir + "\n")
	}
	c := l.Git("cat-file", "--batch-check=%(objecttype)")
	c.stdin = strings.NewReader(in.String())
	types, err := c.Line(ctx)
	if err != nil {
		return false, nil, fmt.Errorf("look for %s in branches: %w", dir, err)
	}
	for i, t := range strings.Split(types, "\n") {
		if t != "tree" || i >= len(order) {
			continue
		}
		for _, name := range refs[order[i]] {
			if name == "" {
				head = true
			} else {
				branches = append(branches, name)
			}
		}
	}
	return head, branches, nil
}

// busyFiles are what git leaves in a work tree's git directory while an
// operation of the user is open.
var busyFiles = []struct{ name, what string }{
	{"rebase-merge", "a rebase is in progress"},
	{"rebase-apply", "a rebase or am is in progress"},
	{"MERGE_HEAD", "a merge is in progress"},
	{"CHERRY_PICK_HEAD", "a cherry-pick is in progress"},
	{"REVERT_HEAD", "a revert is in progress"},
	{"BISECT_LOG", "a bisect is in progress"},
	{"sequencer", "a cherry-pick or revert is in progress"},
	{"index.lock", "git holds the index (index.lock)"},
	{"HEAD.lock", "git holds HEAD (HEAD.lock)"},
}

// HeadOid returns the commit that HEAD names, "" before the first, without starting
// git, unless references are kept in tables.
func (l *Repo) HeadOid() (string, error) {
	if l.inTables() {
		oid, err := l.commit(context.Background(), "HEAD")
		if errors.Is(err, fold.ErrNotFound) {
			return "", nil
		}
		return oid, err
	}
	head, err := readSmall(filepath.Join(l.GitDir, "HEAD"))
	if err != nil {
		return "", fmt.Errorf("read HEAD: %w", err)
	}
	ref, symbolic := strings.CutPrefix(head, "ref: ")
	if !symbolic {
		return head, nil
	}
	return l.looseOrPacked(ref)
}

// refOid returns the commit that a reference names, "" if it is not there, without
// starting git, unless references are kept in tables.
func (l *Repo) refOid(ctx context.Context, ref string) (string, error) {
	if !l.inTables() {
		return l.looseOrPacked(ref)
	}
	oid, err := l.commit(ctx, ref)
	if errors.Is(err, fold.ErrNotFound) {
		return "", nil
	}
	return oid, err
}

// looseOrPacked returns what a reference holds, "" if it is not there.
func (l *Repo) looseOrPacked(ref string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(ref)) {
		return "", nil
	}
	path := filepath.Join(l.CommonDir, filepath.FromSlash(ref))
	value, err := readSmall(path)
	if err == nil {
		return value, nil
	}
	if fi, serr := os.Stat(path); !errors.Is(err, fs.ErrNotExist) && (serr != nil || !fi.IsDir()) {
		return "", fmt.Errorf("read %s: %w", ref, err)
	}
	packed, err := os.ReadFile(filepath.Join(l.CommonDir, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	at := bytes.Index(packed, []byte(" "+ref+"\n"))
	if at < 0 {
		return "", nil
	}
	return string(packed[bytes.LastIndexByte(packed[:at], '\n')+1 : at]), nil
}

// readSmall returns the line of a file that has one.
func readSmall(path string) (string, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !fi.Mode().IsRegular() || fi.Size() > 4096 {
		return "", fmt.Errorf("%s is not a small file: %w", filepath.Base(path), fold.ErrInvalid)
	}
	b, err := os.ReadFile(path)
	return strings.TrimSpace(string(b)), err
}

// Busy returns which operation of the user is open in this work tree, as a
// sentence for status, or "" (F28).
func (l *Repo) Busy() string {
	for _, f := range busyFiles {
		switch _, err := os.Lstat(filepath.Join(l.GitDir, f.name)); {
		case err == nil:
			return f.what
		case !errors.Is(err, fs.ErrNotExist): // then an operation may be open
			return "the git directory cannot be read: " + err.Error()
		}
	}
	return ""
}

// inTables reports whether references are kept in tables.
func (l *Repo) inTables() bool {
	return slices.ContainsFunc(l.tables(), func(p string) bool { return stampAt(p).there })
}

// tables are the files that move with every reference of a repository that keeps
// them in tables. A linked work tree has its HEAD in tables of its own, and a file
// of that name that never changes.
func (l *Repo) tables() []string {
	files := []string{filepath.Join(l.CommonDir, "reftable", "tables.list")}
	if l.GitDir != l.CommonDir {
		files = append(files, filepath.Join(l.GitDir, "reftable", "tables.list"))
	}
	return files
}
