package usergit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// outsideError refuses a repository that would lead us out of itself (F40).
func outsideError(what, hint string) error {
	return fold.WithHint(fmt.Errorf("%s: %w", what, fold.ErrForbidden), hint)
}

// check refuses what git would accept but a stranger may have arranged: other
// owners, a .git file that leads into another checkout, objects borrowed from
// elsewhere.
func (l *Repo) check(ctx context.Context) error {
	if err := l.checkPointers(); err != nil {
		return err
	}
	for _, p := range []string{l.WorkTree, l.GitDir, l.CommonDir} {
		if p == "" || ownedByUs(p) {
			continue
		}
		if !trusted(ctx, l.WorkTree, l.CommonDir, p) {
			return foreignError(p)
		}
	}
	return l.checkAlternates()
}

// checkPointers requires that a linked work tree and its git directory name
// each other, and that a .git file does not borrow another checkout's .git.
func (l *Repo) checkPointers() error {
	if l.Linked {
		if filepath.Dir(l.GitDir) != filepath.Join(l.CommonDir, "worktrees") {
			return outsideError("its commondir leads outside", "clone it anew")
		}
		back, err := backPointer(l.GitDir)
		if err != nil {
			return err
		}
		own, err := resolve(filepath.Join(l.WorkTree, ".git"))
		if err != nil || back != own {
			return outsideError("its .git file names a work tree that lies elsewhere", "run in the main work tree: git worktree repair")
		}
		return nil
	}
	if l.WorkTree == "" {
		return nil
	}
	dotGit := filepath.Join(l.WorkTree, ".git")
	fi, err := os.Lstat(dotGit)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return outsideError("its work tree lies elsewhere (core.worktree)", "unset core.worktree, or name the work tree's own folder")
		}
		return err
	}
	if fi.IsDir() {
		return nil
	}
	if filepath.Base(l.GitDir) == ".git" && filepath.Dir(l.GitDir) != l.WorkTree {
		return outsideError("its .git leads into another checkout", "name that checkout instead, or clone it anew")
	}
	return nil
}

// backPointer returns the .git file that a linked work tree's git directory
// says it belongs to.
func backPointer(gitDir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(gitDir, "gitdir"))
	if err != nil {
		return "", err
	}
	p := filepath.FromSlash(strings.TrimRight(string(b), "\r\n"))
	if !filepath.IsAbs(p) { // worktree.useRelativePaths
		p = filepath.Join(gitDir, p)
	}
	return resolve(p)
}

// checkAlternates refuses objects that are borrowed from outside.
func (l *Repo) checkAlternates() error {
	objects := filepath.Join(l.CommonDir, "objects")
	b, err := os.ReadFile(filepath.Join(objects, "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		p := strings.TrimRight(line, "\r\n")
		if p == "" || p[0] == '#' {
			continue
		}
		if !filepath.IsAbs(p) {
			p = filepath.Join(objects, p)
		}
		if r, err := filepath.EvalSymlinks(p); err == nil && within(l.CommonDir, r) {
			continue
		}
		return outsideError("it borrows objects from outside (objects/info/alternates)",
			"make it stand alone: git repack -a -d, then delete "+quoteArg(filepath.Join(objects, "info", "alternates")))
	}
	return nil
}

// trusted reports whether the user's own configuration, not the repository's,
// lists one of the paths as safe.
func trusted(ctx context.Context, paths ...string) bool {
	for _, scope := range []string{"--global", "--system"} {
		out, err := Call{Dir: string(filepath.Separator), Args: []string{"config", "-z", scope, "--get-all", "safe.directory"}}.Output(ctx)
		if err != nil {
			continue
		}
		for v := range strings.SplitSeq(string(out), "\x00") {
			if v == "*" {
				return true
			}
			for _, p := range paths {
				if v != "" && p != "" && filepath.Clean(filepath.FromSlash(v)) == p {
					return true
				}
			}
		}
	}
	return false
}

// foreignError refuses a repository of another user and names git's own way to
// trust one: the setting is read by git and by us.
func foreignError(dir string) error {
	return fold.WithHint(
		fmt.Errorf("%s belongs to another user: %w", dir, fold.ErrForbidden),
		"clone it as yourself, or, if you trust its owner, run: git config --global --add safe.directory "+quoteArg(dir))
}

func quoteArg(s string) string {
	if strings.ContainsAny(s, " \t'\"$`\\&;()*?[]<>|~#") && !strings.Contains(s, "'") {
		return "'" + s + "'"
	}
	return s
}
