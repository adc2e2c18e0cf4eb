package usergit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// ownDir is the one folder below the common git directory that we write (G1).
const ownDir = "foldwatch"

// RepoName is the sidecar repository in the state folder.
const RepoName = "repo.git"

// A Repo says where a checkout and its git directories lie. All paths are
// absolute, clean and free of symlinks. It holds no state: every method reads
// the repository anew and is safe for concurrent use.
type Repo struct {
	WorkTree  string // root of this work tree; "" inside a bare repository
	GitDir    string // of this work tree: HEAD and index lie here
	CommonDir string // shared by all work trees of the repository
	MainTree  string // root of the main work tree; "" if the repository is bare
	Bare      bool   // the repository has no main work tree
	Linked    bool   // made by git worktree add
	Submodule bool   // checkout of a submodule: a repository of its own

	ownFold bool // see InMode
}

// InMode returns the layout in tracked mode, or in sidecar mode. That decides where
// fold/ and our own folder lie: in sidecar mode the linked work trees share those of
// the main one, in tracked mode each has its own, as it has its own branch.
func (l *Repo) InMode(tracked bool) *Repo {
	in := *l
	in.ownFold = tracked
	return &in
}

// Key names the checkout in the state directory: 16 hex digits of the SHA-256
// of common git directory and work tree.
func (l *Repo) Key() string {
	sum := sha256.Sum256([]byte(l.CommonDir + "\x00" + l.WorkTree))
	return hex.EncodeToString(sum[:8])
}

// FoldPath returns the folder of memories called foldDir ("" means fold): that
// of the main work tree, shared by all linked ones, or a folder of our own in
// the git directory if the repository is bare; in tracked mode that of this work tree.
func (l *Repo) FoldPath(foldDir string) string {
	parent, name := l.FoldParent(foldDir)
	return filepath.Join(parent, filepath.FromSlash(name))
}

// FoldParent returns the directory fold/ lies in and its name there.
func (l *Repo) FoldParent(foldDir string) (parent, name string) {
	if foldDir == "" {
		foldDir = "fold"
	}
	switch {
	case l.ownFold && l.WorkTree != "":
		return l.WorkTree, foldDir
	case l.MainTree == "":
		return l.StateDir(), foldDir
	}
	return l.MainTree, foldDir
}

// Main returns the folder that addresses of the repository's remotes are relative to: the
// main work tree, or of a bare repository itself.
func (l *Repo) Main() string {
	if l.MainTree == "" {
		return filepath.Clean(l.CommonDir)
	}
	return l.MainTree
}

// StateDir returns our folder in the common git directory, which has wal and journal.
// A linked work tree in tracked mode has one of its own in there, so that no record
// needs to say which work tree it is of.
func (l *Repo) StateDir() string {
	if l.ownFold && l.Linked {
		return filepath.Join(l.CommonDir, ownDir, "worktrees", l.Key())
	}
	return filepath.Join(l.CommonDir, ownDir)
}

// Lock takes the lock of a repository, by which one process at a time keeps its
// memories (G1), all its work trees included. It returns a *disk.LockedError that names
// the holder if another has it.
func (l *Repo) Lock() (*disk.LockFile, error) {
	dir := filepath.Join(l.CommonDir, ownDir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return disk.Lock(filepath.Join(dir, "lock"), "pid "+strconv.Itoa(os.Getpid()))
}

// Journal returns the bare repository in which the history of memories is kept.
func (l *Repo) Journal() string { return filepath.Join(l.StateDir(), RepoName) }

// Locate finds the checkout that contains path. It returns ErrNotFound if path
// is in no git repository, and ErrForbidden if the repository belongs to
// another user or reaches outside itself (F40); both carry a hint.
func Locate(ctx context.Context, path string) (_ *Repo, err error) {
	dir, err := existingDir(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("locate %s: %w", path, err)
		}
	}()
	// The last is refused where there is no work tree, after the others were answered.
	out, err := Call{Dir: dir, Args: []string{
		"rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir",
		"--is-bare-repository", "--is-inside-work-tree", "--show-toplevel",
	}}.Line(ctx)
	f := strings.Split(strings.ReplaceAll(out, "\r\n", "\n"), "\n")
	if f[0] == "--path-format=absolute" { // git before 2.31 repeats what it does not know
		return nil, fold.WithHint(fmt.Errorf("the git program is older than %s: %w", MinGit, fold.ErrUnavailable),
			"install git "+MinGit+" or newer and see that it is the first on the PATH")
	}
	switch {
	case err == nil && len(f) == 5:
	case ExitCode(err) == 128 && len(f) == 4:
		f = append(f, "")
	case err != nil:
		return nil, locateError(dir, err)
	default:
		return nil, fmt.Errorf("git rev-parse answered %d lines, want 5", len(f))
	}
	l := &Repo{Bare: f[2] == "true"}
	if l.GitDir, err = resolve(f[0]); err != nil {
		return nil, err
	}
	if l.CommonDir, err = resolve(f[1]); err != nil {
		return nil, err
	}
	l.Linked = l.GitDir != l.CommonDir
	if err := l.findWorkTree(ctx, dir, f[3] == "true", f[4]); err != nil {
		return nil, err
	}
	if err := l.check(ctx); err != nil {
		return nil, err
	}
	if err := l.findMainTree(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// existingDir returns path, or the folder it lies in if it is a file, absolute
// and without symlinks.
func existingDir(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("locate %s: %w", path, err)
	}
	dir, err := filepath.EvalSymlinks(abs)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("locate %s: no such folder: %w", path, fold.ErrNotFound)
		}
		return "", fmt.Errorf("locate %s: %w", path, err)
	}
	if fi, err := os.Stat(dir); err == nil && !fi.IsDir() {
		dir = filepath.Dir(dir)
	}
	return dir, nil
}

// locateError turns git's refusal into a kind and a way out.
func locateError(dir string, err error) error {
	var g *gitError
	if !errors.As(err, &g) {
		return err
	}
	switch {
	case strings.Contains(g.Stderr, "not a git repository"):
		return fold.WithHint(fmt.Errorf("no git repository here: %w", fold.ErrNotFound),
			"run: git init "+quoteArg(dir)+" (or name a folder inside a checkout)")
	case strings.Contains(g.Stderr, "dubious ownership"), strings.Contains(g.Stderr, "unsafe repository"):
		return foreignError(dir)
	}
	return err
}

// findWorkTree sets WorkTree. core.worktree may point anywhere: what it names
// counts only if path lies in it and its own .git leads back here. Inside and top
// are what git said of dir.
func (l *Repo) findWorkTree(ctx context.Context, dir string, inside bool, top string) error {
	if l.Bare && !l.Linked {
		return nil
	}
	if !inside {
		// Inside .git itself: the checkout around it is meant.
		if filepath.Base(l.GitDir) == ".git" {
			dir = filepath.Dir(l.GitDir)
		} else if back, err := backPointer(l.GitDir); err == nil && l.Linked {
			dir = filepath.Dir(back)
		} else {
			return outsideError("its work tree lies elsewhere (core.worktree)", "unset core.worktree, or name the work tree's own folder")
		}
	}
	var err error
	if !inside || top == "" {
		if top, err = (Call{Dir: dir, Args: []string{"rev-parse", "--path-format=absolute", "--show-toplevel"}}).Line(ctx); err != nil {
			return locateError(dir, err)
		}
	}
	if top, err = resolve(top); err != nil {
		return err
	}
	if !within(top, dir) {
		return outsideError("its work tree lies elsewhere (core.worktree)", "unset core.worktree, or name the work tree's own folder")
	}
	l.WorkTree = top
	return nil
}

// findMainTree sets MainTree, Bare and Submodule.
func (l *Repo) findMainTree(ctx context.Context) error {
	slash := filepath.ToSlash(l.CommonDir)
	l.Submodule = strings.Contains(slash, "/.git/modules/") ||
		strings.Contains(slash, "/modules/") && strings.Contains(slash, "/worktrees/")
	if !l.Linked {
		l.MainTree = l.WorkTree
		return nil
	}
	bare, err := Call{Dir: l.CommonDir, GitDir: l.CommonDir, Args: []string{"rev-parse", "--is-bare-repository"}}.Line(ctx)
	if err != nil {
		return err
	}
	if bare == "true" {
		l.Bare = true
		return nil
	}
	l.Bare = false
	if filepath.Base(l.CommonDir) == ".git" {
		l.MainTree = filepath.Dir(l.CommonDir)
		return nil
	}
	// A submodule's git directory names its work tree; a separate git
	// directory names nothing.
	tree, err := Call{Dir: l.CommonDir, GitDir: l.CommonDir, Args: []string{"config", "--local", "--path", "core.worktree"}}.Line(ctx)
	if err != nil || tree == "" {
		return fold.WithHint(fmt.Errorf("the main work tree of %s is not known: %w", l.CommonDir, fold.ErrInvalid),
			"name the main work tree instead of the linked one")
	}
	if !filepath.IsAbs(tree) {
		tree = filepath.Join(l.CommonDir, tree)
	}
	l.MainTree, err = resolve(tree)
	return err
}

// FoldOwner names what the store keeps a journal of: all of a repository, or one of its work
// trees.
func (l *Repo) FoldOwner() string {
	if l.ownFold && l.Linked {
		return l.StateDir()
	}
	return l.CommonDir
}
