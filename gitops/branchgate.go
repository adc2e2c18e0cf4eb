package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// How long index, HEAD and logs must have rested before we commit onto a branch,
// and the user's own last commit (B3): `git commit --amend` would amend ours.
const (
	branchQuiet = 10 * time.Second
	amendQuiet  = 10 * time.Minute
	branchLook  = 5 * time.Second // between looks at what has no time of its end
)

// Waits reports whether there is something to wait for.
func (w Wait) Waits() bool { return w.Reason != "" }

// A Wait says why nothing is committed onto the branch now. The zero Wait is none.
type Wait struct {
	Reason string
	Hint   string        // a command, where the user has to do something
	After  time.Duration // when to look again
}

func (w Wait) none() bool { return w.Reason == "" }

func waitFor(format string, args ...any) Wait {
	return Wait{Reason: fmt.Sprintf(format, args...), After: branchLook}
}

func (w Wait) hint(format string, args ...any) Wait {
	w.Hint = fmt.Sprintf(format, args...)
	return w
}

// mainLayout is the work tree that fold/ lies in, which the branch belongs to.
func (l *Layout) mainLayout() *Layout {
	if !l.Linked {
		return l
	}
	return &Layout{WorkTree: l.MainTree, GitDir: l.CommonDir, CommonDir: l.CommonDir, MainTree: l.MainTree, Bare: l.Bare, Submodule: l.Submodule}
}

// A position is what HEAD of the checkout names, and what was looked at to know.
type position struct {
	branch string // short name
	ref    string // refs/heads/…
	oid    oid
	head   []byte // the bytes of the file HEAD
}

// position reads HEAD and the branch it names, without a process.
func (t *branchTarget) position() (p position, w Wait, err error) {
	p.head, err = readSmall(filepath.Join(t.l.GitDir, "HEAD"))
	if err != nil {
		return p, w, fmt.Errorf("read HEAD: %w", err)
	}
	ref, ok := strings.CutPrefix(strings.TrimSpace(string(p.head)), "ref: ")
	if !ok {
		return p, waitFor("HEAD is detached").hint("git switch %s", firstNonEmpty(t.allowed, "main")), nil
	}
	p.ref = ref
	p.branch, ok = strings.CutPrefix(ref, "refs/heads/")
	if !ok || !filepath.IsLocal(filepath.FromSlash(ref)) {
		return p, waitFor("HEAD names %s, which is no branch", oneLine(ref)), nil
	}
	value, err := t.refValue(ref)
	if err != nil {
		return p, w, err
	}
	if value == "" {
		return p, waitFor("nothing has been committed on %s yet", p.branch).hint("commit something of your own first"), nil
	}
	if p.oid, ok = parseOid(value, t.size); !ok {
		return p, waitFor("%s is no plain branch", p.branch), nil
	}
	return p, w, nil
}

func firstNonEmpty(s ...string) string {
	for _, v := range s {
		if v != "" {
			return v
		}
	}
	return ""
}

// readSmall reads a file of a few lines.
func readSmall(path string) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() || fi.Size() > 4096 {
		return nil, fmt.Errorf("%s is not a small file: %w", filepath.Base(path), fold.ErrInvalid)
	}
	return os.ReadFile(path)
}

// refValue returns what a reference holds, "" if it is not there.
func (t *branchTarget) refValue(ref string) (string, error) {
	b, err := readSmall(filepath.Join(t.l.CommonDir, filepath.FromSlash(ref)))
	if err == nil {
		return strings.TrimSpace(string(b)), nil
	}
	if fi, serr := os.Stat(filepath.Join(t.l.CommonDir, filepath.FromSlash(ref))); !errors.Is(err, fs.ErrNotExist) && (serr != nil || !fi.IsDir()) {
		return "", fmt.Errorf("read %s: %w", ref, err)
	}
	packed, err := os.ReadFile(filepath.Join(t.l.CommonDir, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	at := bytes.Index(packed, []byte(" "+ref+"\n"))
	if at < 0 {
		return "", nil
	}
	return string(packed[bytes.LastIndexByte(packed[:at], '\n')+1 : at]), nil
}

// can returns why this repository can never be committed to by us, and what to do
// instead.
func (t *branchTarget) can() Wait {
	const sidecar = "keep history beside the repository: foldwatch remove, then foldwatch add --commit-to sidecar"
	switch {
	case t.l.MainTree == "":
		return Wait{Reason: "the repository is bare: fold/ lies in its git directory", Hint: sidecar, After: time.Hour}
	case t.l.Submodule:
		return Wait{Reason: "a commit in a submodule changes the repository around it", Hint: sidecar, After: time.Hour}
	}
	for _, p := range t.l.tables() {
		if stampAt(p).there {
			return Wait{Reason: "references are kept in tables", Hint: sidecar, After: time.Hour}
		}
	}
	return Wait{}
}

// gate returns where HEAD stands, or why nothing may be committed there now (B1 to
// B3). It is asked before anything is prepared; what is cheap of it is asked again
// under the lock.
func (t *branchTarget) gate(ctx context.Context, now time.Time) (p position, w Wait, err error) {
	if p, w, err = t.stand(ctx, now); err != nil || !w.none() {
		return p, w, err
	}
	return p, t.quiet(p, now), nil
}

// stand is gate without the question whether git rests (B1).
func (t *branchTarget) stand(ctx context.Context, now time.Time) (p position, w Wait, err error) {
	if w = t.can(); !w.none() {
		return p, w, nil
	}
	if busy := t.l.Busy(); busy != "" {
		return p, waitFor("%s", busy), nil
	}
	if err := t.conf.read(ctx, now); err != nil {
		return p, w, err
	}
	if w := t.learn(); !w.none() {
		return p, w, nil
	}
	if t.allowed, err = t.defaultBranch(); err != nil {
		return p, w, err
	}
	if p, w, err = t.position(); err != nil || !w.none() {
		return p, w, err
	}
	if !t.allows(p.branch) {
		return p, waitFor("HEAD is on %s; memories are committed on %s", p.branch, t.allowedText()), nil
	}
	if name, email := t.conf.identity(); name == "" || email == "" {
		return p, waitFor("git does not know who you are").hint("git config --global user.name NAME; git config --global user.email ADDRESS"), nil
	}
	if other := t.elsewhere(p.ref); other != "" {
		return p, waitFor("%s is checked out in %s too", p.branch, other), nil
	}
	return p, w, nil
}

// allows reports whether memories are committed onto the branch: it is one of those
// that the user named, or the default one where the user named none.
func (t *branchTarget) allows(branch string) bool {
	if len(t.branches) == 0 {
		return branch == t.allowed
	}
	return slices.ContainsFunc(t.branches, func(pattern string) bool {
		ok, err := path.Match(pattern, branch)
		return ok && err == nil
	})
}

// allowedText names those branches.
func (t *branchTarget) allowedText() string {
	if len(t.branches) == 0 {
		return firstNonEmpty(t.allowed, "the default branch")
	}
	return strings.Join(t.branches, ", ")
}

// learn takes from the configuration what the rest needs.
func (t *branchTarget) learn() Wait {
	t.size = 20
	switch t.conf.get("extensions.objectformat") {
	case "", "sha1":
	case "sha256":
		t.size = 32
	default:
		return Wait{Reason: "the repository names objects in an unknown way", After: time.Hour}
	}
	if t.conf.get("extensions.compatobjectformat") != "" {
		return Wait{Reason: "the repository names objects in two ways", After: time.Hour}
	}
	return Wait{}
}

// defaultBranch is [Layout.DefaultBranch] without a process; "" if none of the
// branches that it asks for is there and HEAD names none.
func (t *branchTarget) defaultBranch() (string, error) {
	var try []string
	if b, err := readSmall(filepath.Join(t.l.CommonDir, "refs", "remotes", "origin", "HEAD")); err == nil {
		if name, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "ref: refs/remotes/origin/"); ok {
			try = append(try, name)
		}
	}
	for _, b := range append(try, t.conf.get("init.defaultbranch"), "main", "master") {
		if b == "" || !filepath.IsLocal(filepath.FromSlash(b)) {
			continue
		}
		if v, err := t.refValue("refs/heads/" + b); err != nil || v != "" {
			return b, err
		}
	}
	head, err := readSmall(filepath.Join(t.l.GitDir, "HEAD"))
	if err != nil {
		return "", fmt.Errorf("read HEAD: %w", err)
	}
	name, _ := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	if strings.ContainsAny(name, " :") || len(name) >= 40 && !strings.Contains(string(head), "ref: ") {
		return "", nil
	}
	return name, nil
}

// elsewhere returns another work tree that has the branch checked out, or "".
func (t *branchTarget) elsewhere(ref string) string {
	list, err := os.ReadDir(filepath.Join(t.l.CommonDir, "worktrees"))
	if err != nil {
		return ""
	}
	for _, e := range list {
		dir := filepath.Join(t.l.CommonDir, "worktrees", e.Name())
		head, err := readSmall(filepath.Join(dir, "HEAD"))
		if err == nil && strings.TrimSpace(string(head)) == "ref: "+ref {
			back, err := readSmall(filepath.Join(dir, "gitdir"))
			if err == nil {
				return filepath.Dir(strings.TrimSpace(string(back)))
			}
			return e.Name()
		}
	}
	return ""
}

// quietFiles are those that move when somebody works with git.
func (t *branchTarget) quietFiles(p position) []string {
	return []string{
		filepath.Join(t.l.GitDir, "index"), filepath.Join(t.l.GitDir, "HEAD"), filepath.Join(t.l.GitDir, "logs", "HEAD"),
		filepath.Join(t.l.CommonDir, filepath.FromSlash(p.ref)), filepath.Join(t.l.CommonDir, "logs", filepath.FromSlash(p.ref)),
		filepath.Join(t.l.CommonDir, "logs", "refs", "stash"), filepath.Join(t.l.GitDir, "ORIG_HEAD"),
	}
}

// quiet returns how long git has still to rest. What our own last commit left does
// not count.
func (t *branchTarget) quiet(p position, now time.Time) Wait {
	for _, f := range t.quietFiles(p) {
		s := stampAt(f)
		if !s.there || s == t.left[f] {
			continue
		}
		age := now.Sub(time.Unix(0, s.mtime))
		if age < 0 && age > -time.Minute {
			age = 0
		}
		if age >= 0 && age < branchQuiet {
			return Wait{Reason: "git was used a moment ago", After: branchQuiet - age}
		}
	}
	return Wait{}
}

// rested returns how long the user's own last commit, called id, has still to be left
// alone. One that we brought from the remote is nobody's to amend here.
func (t *branchTarget) rested(id oid, c userCommit, now time.Time) Wait {
	if id == t.pulled || ours(c) {
		return Wait{}
	}
	age := now.Sub(time.Unix(c.when, 0))
	if age < 0 { // the clock of whoever made it is ahead
		age = now.Sub(time.Unix(0, stampAt(filepath.Join(t.l.GitDir, "logs", "HEAD")).mtime))
	}
	if age >= 0 && age < amendQuiet {
		return Wait{Reason: "you committed a moment ago, and may want to amend that", After: amendQuiet - age}
	}
	return Wait{}
}

// ours reports whether a commit says that it is one of ours; whether it touches
// only fold/ is seen in its trees.
func ours(c userCommit) bool { return c.by == committerName && marked(c) }

// marked is ours of a commit that the user may have rebased since, or amended.
func marked(c userCommit) bool {
	return len(c.parents) == 1 && strings.Contains(c.message, "\n"+trailerCommit+": v1\n")
}
