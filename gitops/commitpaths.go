package gitops

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A PathCommit is a commit of exactly these paths of a work tree onto the current
// branch, made by the user's own git: with their identity, settings, signing and
// hooks. It is for a command that the user typed, never for the daemon.
type PathCommit struct {
	Paths   []string // with forward slashes; one that is not in the work tree is deleted
	Message string
	// Stdin is what git and the hooks read, and Output takes what they print:
	// those of the user's terminal. Nil is none.
	Stdin  io.Reader
	Output io.Writer
}

// repositoryEnv are the variables by which a caller's shell or hook names
// another repository than that of the work tree, or what paths mean.
var repositoryEnv = map[string]bool{
	"GIT_DIR": true, "GIT_WORK_TREE": true, "GIT_INDEX_FILE": true, "GIT_COMMON_DIR": true, "GIT_OBJECT_DIRECTORY": true,
	"GIT_ALTERNATE_OBJECT_DIRECTORIES": true, "GIT_NAMESPACE": true, "GIT_PREFIX": true,
	"GIT_LITERAL_PATHSPECS": true, "GIT_GLOB_PATHSPECS": true, "GIT_NOGLOB_PATHSPECS": true, "GIT_ICASE_PATHSPECS": true,
}

// userCommand is git as the user would type it in the work tree. What ends ctx
// interrupts it, as Ctrl-C does, so that it takes its locks away.
func (l *Layout) userCommand(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = l.WorkTree
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !repositoryEnv[name] {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	return cmd
}

// readByUserGit returns what the user's git prints, which takes no lock.
func (l *Layout) readByUserGit(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	cmd := l.userCommand(ctx, args...)
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0")
	var out bytes.Buffer
	errText := &headBuffer{max: 4 << 10}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, errText
	if err := cmd.Run(); err != nil {
		return nil, exitError(args[0], err, errText.String())
	}
	return out.Bytes(), nil
}

// literal is a pathspec that means this path and no pattern. It is said for each,
// since an option for all would also be that of the hooks.
func literal(p string) string { return ":(top,literal)" + p }

// MayCommit returns why nothing can be committed onto the current branch now: an
// operation of the user is open, git holds a lock, a merge left entries of the
// index to resolve, or no branch is checked out. Each is ErrConflict with the way
// out, or ErrInvalid where there is no work tree.
func (l *Layout) MayCommit(ctx context.Context) error {
	if l.WorkTree == "" {
		return fmt.Errorf("a bare repository has no work tree: %w", fold.ErrInvalid)
	}
	if what := l.Busy(); what != "" {
		hint := "finish it, or give it up (git status says how); then again"
		if strings.Contains(what, ".lock") {
			hint = "wait until git has ended; if no git runs there, delete that file in " + quoteArg(l.GitDir)
		}
		return fold.WithHint(fmt.Errorf("%s: %w", what, fold.ErrConflict), hint)
	}
	head, err := l.Head(ctx)
	if err != nil {
		return err
	}
	if head.Detached {
		return fold.WithHint(fmt.Errorf("HEAD is on no branch: %w", fold.ErrConflict), "git switch BRANCH, or git switch -c NEW")
	}
	out, err := l.git("ls-files", "--unmerged", "-z").output(ctx)
	if err != nil {
		return fmt.Errorf("look for unmerged files: %w", err)
	}
	if first, _, found := strings.Cut(string(out), "\x00"); found {
		_, name, _ := strings.Cut(first, "\t")
		return fold.WithHint(fmt.Errorf("%s is not merged yet: %w", name, fold.ErrConflict), "resolve it and git add it; then again")
	}
	return nil
}

// CommitPaths commits c.Paths, and nothing else: what else the user staged stays
// staged. It returns the new commit. Where git, a hook or the signing refuses, what
// was added to the index for it is taken out again. See [Layout.MayCommit] for what
// is refused before.
func (l *Layout) CommitPaths(ctx context.Context, c *PathCommit) (oid string, err error) {
	if err := l.MayCommit(ctx); err != nil {
		return "", err
	}
	added, err := l.notInIndex(ctx, c.Paths)
	if err != nil {
		return "", err
	}
	was, err := l.Head(ctx)
	if err != nil {
		return "", err
	}
	specs := make([]string, len(c.Paths))
	for i, p := range c.Paths {
		specs[i] = literal(p)
	}
	list, err := temporary(strings.Join(specs, "\x00"))
	if err != nil {
		return "", err
	}
	defer os.Remove(list)
	message, err := temporary(c.Message)
	if err != nil {
		return "", err
	}
	defer os.Remove(message)
	if len(added) > 0 {
		// Git commits by name only what the index has heard of.
		for i, p := range added {
			added[i] = literal(p)
		}
		names, err := temporary(strings.Join(added, "\x00"))
		if err != nil {
			return "", err
		}
		defer os.Remove(names)
		err = l.byUserGit(ctx, c, "add", "--intent-to-add", "--pathspec-from-file="+names, "--pathspec-file-nul")
		if err != nil {
			return "", errors.Join(err, l.unstage(ctx, added))
		}
	}
	err = l.byUserGit(ctx, c, "commit", "--quiet", "--only", "--file="+message, "--pathspec-from-file="+list, "--pathspec-file-nul")
	// The caller's context may have ended: what was begun is ended all the same.
	is, herr := l.Head(context.WithoutCancel(ctx))
	if herr == nil && is.Oid != was.Oid && is.Oid != "" {
		return is.Oid, nil // also where git was interrupted after it
	}
	if err != nil {
		err = fold.WithHint(err, "nothing was committed; what git or a hook said stands above")
		return "", errors.Join(err, l.unstage(ctx, added))
	}
	return is.Oid, herr
}

// byUserGit runs git in the user's terminal.
func (l *Layout) byUserGit(ctx context.Context, c *PathCommit, args ...string) error {
	cmd := l.userCommand(ctx, args...)
	// One that is a file is passed as it is: a hook or a signing program that asks
	// for something finds the terminal.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Output, c.Output
	if err := cmd.Run(); err != nil {
		return exitError(args[0], err, "")
	}
	return nil
}

// temporary writes text to a file that the caller removes.
func temporary(text string) (name string, err error) {
	f, err := os.CreateTemp("", "foldwatch-commit-")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// notInIndex returns those of paths that are in the work tree and not in the index.
// It refuses what is no plain file, or lies behind a link.
func (l *Layout) notInIndex(ctx context.Context, paths []string) ([]string, error) {
	root, err := os.OpenRoot(l.WorkTree)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := plainPaths(root, paths); err != nil {
		return nil, err
	}
	var there []string
	for _, p := range paths {
		if _, err := root.Lstat(p); err == nil {
			there = append(there, p)
		}
	}
	c := l.git("cat-file", "--batch-check=%(objectname)")
	c.stdin = strings.NewReader(":0:" + strings.Join(there, "\n:0:") + "\n")
	var out []string
	err = c.stream(ctx, func(r *bufio.Reader) error {
		for _, p := range there {
			line, err := r.ReadString('\n')
			if err != nil {
				return err
			}
			if strings.HasSuffix(line, " missing\n") {
				out = append(out, p)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	return out, nil
}

// unstage takes paths out of the index that were put there by their names alone.
func (l *Layout) unstage(ctx context.Context, specs []string) error {
	if len(specs) == 0 {
		return nil
	}
	var names strings.Builder
	for _, s := range specs {
		names.WriteString(strings.TrimPrefix(s, literal("")) + "\x00")
	}
	_, err := l.readByUserGit(context.WithoutCancel(ctx), strings.NewReader(names.String()), "update-index", "-z", "--force-remove", "--stdin")
	return err
}

// A ChangedPath is a file of the work tree that is not as HEAD has it, whatever the
// index says of it.
type ChangedPath struct {
	Path string // with forward slashes
	New  bool   // HEAD has no such file
	Gone bool   // the work tree has none; with neither, both have one
}

// Changed returns what commits of the folder dir would change, by path: what git
// ignores is left out.
func (l *Layout) Changed(ctx context.Context, dir string) ([]ChangedPath, error) {
	out, err := l.readByUserGit(ctx, nil, "status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all", "--", literal(dir))
	if err != nil {
		return nil, fmt.Errorf("compare %s with HEAD: %w", dir, err)
	}
	const none = "000000" // the mode of what is not there
	files := map[string]ChangedPath{}
	var unsure []string // staged, and changed again: perhaps back
	for entry := range strings.SplitSeq(string(out), "\x00") {
		kind, rest, _ := strings.Cut(entry, " ")
		if kind == "?" {
			if was, staged := files[rest]; staged && was.Gone { // deleted in the index only
				files[rest] = ChangedPath{Path: rest}
				unsure = append(unsure, rest)
			} else {
				files[rest] = ChangedPath{Path: rest, New: true}
			}
			continue
		}
		// Both states, submodule, modes and blobs of HEAD, index and work tree, and the path.
		f := strings.SplitN(rest, " ", 8)
		if kind != "1" || len(f) < 8 || f[1][0] == 'S' {
			continue
		}
		c := ChangedPath{Path: f[7], New: f[2] == none, Gone: f[4] == none}
		if c.New && c.Gone {
			continue // it was only ever in the index
		}
		files[c.Path] = c
		if !c.New && !c.Gone && !strings.Contains(f[0], ".") {
			unsure = append(unsure, c.Path)
		}
	}
	for _, p := range unsure {
		same, err := l.asInHead(ctx, p)
		if err != nil {
			return nil, err
		}
		if same {
			delete(files, p)
		}
	}
	changed := slices.Collect(maps.Values(files))
	slices.SortFunc(changed, func(a, b ChangedPath) int { return strings.Compare(a.Path, b.Path) })
	return changed, nil
}

// asInHead reports whether the work tree holds at path what HEAD has there, after
// what git makes of line ends.
func (l *Layout) asInHead(ctx context.Context, p string) (bool, error) {
	is, err := l.readByUserGit(ctx, nil, "hash-object", "--", p)
	if err != nil {
		return false, err
	}
	was, err := l.readByUserGit(ctx, nil, "rev-parse", "--verify", "--quiet", "HEAD:"+p)
	return bytes.Equal(is, was), err
}

// HeadFile returns the bytes that HEAD has at path, or ErrNotFound.
func (l *Layout) HeadFile(ctx context.Context, p string) ([]byte, error) {
	b, err := l.git("cat-file", "blob", "HEAD:"+p).output(ctx)
	if exitCode(err) == 128 {
		return nil, fmt.Errorf("%s in HEAD: %w", p, fold.ErrNotFound)
	}
	return b, err
}

// CountInHead returns how many markdown files HEAD has below the folder dir.
func (l *Layout) CountInHead(ctx context.Context, dir string) (n int, err error) {
	if head, err := l.Head(ctx); err != nil || head.Unborn {
		return 0, err
	}
	err = l.git("ls-tree", "-r", "-z", "--name-only", "HEAD", "--", literal(dir)).stream(ctx, func(r *bufio.Reader) error {
		return zReader{r}.each(func(p string) error {
			if strings.HasSuffix(p, ".md") {
				n++
			}
			return nil
		})
	})
	if err != nil {
		return 0, fmt.Errorf("list %s in HEAD: %w", dir, err)
	}
	return n, nil
}

// plainPaths refuses paths that lead through a link, or onto what is no file.
func plainPaths(root *os.Root, paths []string) error {
	seen := map[string]bool{}
	for _, f := range paths {
		for dir := path.Dir(f); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			if fi, err := root.Lstat(dir); err == nil && !fi.IsDir() {
				return fmt.Errorf("%s is no folder: %w", dir, fold.ErrInvalid)
			}
		}
		if fi, err := root.Lstat(f); err == nil && !fi.Mode().IsRegular() {
			return fmt.Errorf("%s is no plain file: %w", f, fold.ErrInvalid)
		}
	}
	return nil
}
