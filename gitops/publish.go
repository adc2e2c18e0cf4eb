package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Publication is files to be committed onto the current branch as the user
// would: by the user's own git, with their identity, settings and hooks. It is
// for a command that the user gave, never for the daemon.
type Publication struct {
	Files   map[string][]byte // path in the work tree, with forward slashes → bytes
	Message string
	// Stdin and Stderr are those of git and of the hooks. Nil is none.
	Stdin  io.Reader
	Stderr io.Writer

	untracked []string // of Files: there already, with these bytes
}

// repositoryEnv are the variables by which a caller's shell or hook names
// another repository than that of the work tree.
var repositoryEnv = map[string]bool{
	"GIT_DIR": true, "GIT_WORK_TREE": true, "GIT_INDEX_FILE": true, "GIT_COMMON_DIR": true, "GIT_OBJECT_DIRECTORY": true,
	"GIT_ALTERNATE_OBJECT_DIRECTORIES": true, "GIT_NAMESPACE": true, "GIT_PREFIX": true, "GIT_LITERAL_PATHSPECS": true,
}

// userGit runs git as the user would type it in the work tree.
func (l *Layout) userGit(ctx context.Context, p *Publication, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--literal-pathspecs"}, args...)...)
	cmd.Dir = l.WorkTree
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !repositoryEnv[name] {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	var out bytes.Buffer
	errText := &headBuffer{max: 4 << 10}
	cmd.Stdout, cmd.Stderr, cmd.Stdin = &out, errText, p.Stdin
	if p.Stderr != nil {
		cmd.Stderr = io.MultiWriter(errText, p.Stderr)
	}
	if err := cmd.Run(); err != nil {
		return nil, exitError(args[0], err, errText.String())
	}
	return out.Bytes(), nil
}

// MayPublish returns why nothing can be committed to paths at present: an
// operation of the user is open, no branch is checked out, or what lies there is
// the user's own, changed and not committed. Each error is ErrConflict, or
// ErrInvalid where the paths are to blame.
func (l *Layout) MayPublish(ctx context.Context, p *Publication) error {
	if l.WorkTree == "" {
		return fmt.Errorf("publish: a bare repository has no work tree: %w", fold.ErrInvalid)
	}
	if what := l.Busy(); what != "" {
		return fold.WithHint(fmt.Errorf("publish: %s: %w", what, fold.ErrConflict), "finish it, or give it up, and publish then")
	}
	head, err := l.Head(ctx)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if head.Detached {
		return fold.WithHint(fmt.Errorf("publish: HEAD is on no branch: %w", fold.ErrConflict), "git switch BRANCH")
	}
	paths := sortedKeys(p.Files)
	ignored, err := l.Ignored(ctx, paths)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	for _, f := range paths {
		if ignored[f] {
			return fold.WithHint(fmt.Errorf("publish: git ignores %s: %w", f, fold.ErrInvalid), "name a folder that git tracks with --to")
		}
	}
	root, err := os.OpenRoot(l.WorkTree)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	defer root.Close()
	if err := plainPaths(root, paths); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return l.unchanged(ctx, root, p)
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

// unchanged refuses to write over what the user changed and did not commit.
func (l *Layout) unchanged(ctx context.Context, root *os.Root, p *Publication) error {
	dirs := map[string]bool{}
	for f := range p.Files {
		dirs[path.Dir(f)] = true
	}
	out, err := l.userGit(ctx, p, append([]string{"status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--"}, sortedKeys(dirs)...)...)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	p.untracked = nil
	var theirs []string
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if len(entry) < 4 {
			continue
		}
		want, ours := p.Files[entry[3:]]
		if !ours {
			continue
		}
		if have, err := root.ReadFile(entry[3:]); entry[:2] == "??" && err == nil && bytes.Equal(have, want) {
			p.untracked = append(p.untracked, entry[3:])
			continue
		}
		theirs = append(theirs, entry[3:])
	}
	if len(theirs) > 0 {
		return fold.WithHint(fmt.Errorf("publish: %s has changes of yours that are not committed: %w", strings.Join(theirs[:min(3, len(theirs))], ", "), fold.ErrConflict),
			"commit them, or take them back with git restore")
	}
	return nil
}

// Publish writes the files and commits them, and nothing else: what the user
// staged stays staged. It returns the commit. Where git or a hook refuses, all
// is put back as it was. See [Layout.MayPublish] for what is refused before.
func (l *Layout) Publish(ctx context.Context, p *Publication) (oid string, err error) {
	if err := l.MayPublish(ctx, p); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(l.WorkTree)
	if err != nil {
		return "", fmt.Errorf("publish: %w", err)
	}
	defer root.Close()
	list, err := os.CreateTemp("", "foldwatch-publish-")
	if err != nil {
		return "", fmt.Errorf("publish: %w", err)
	}
	defer os.Remove(list.Name())
	paths := sortedKeys(p.Files)
	_, err = list.WriteString(strings.Join(paths, "\x00"))
	if err = errors.Join(err, list.Close()); err != nil {
		return "", fmt.Errorf("publish: %w", err)
	}
	files := &publishedFiles{root: root, was: map[string][]byte{}, new: p.Files}
	fromList := []string{"--pathspec-from-file=" + list.Name(), "--pathspec-file-nul"}
	defer func() {
		if err == nil {
			return
		}
		// The caller's context may have ended: what was begun is taken back all the same.
		back := context.WithoutCancel(ctx)
		if added := append(files.added(), p.untracked...); len(added) > 0 {
			_, rerr := l.userGit(back, &Publication{}, append([]string{"update-index", "--force-remove", "--"}, added...)...)
			err = errors.Join(err, rerr)
		}
		err = fmt.Errorf("publish: %w", errors.Join(err, files.restore()))
	}()
	if err := files.write(paths); err != nil {
		return "", err
	}
	if _, err := l.userGit(ctx, p, append([]string{"add", "--intent-to-add"}, fromList...)...); err != nil {
		return "", err
	}
	if _, err := l.userGit(ctx, p, append([]string{"commit", "--quiet", "--only", "-m", p.Message}, fromList...)...); err != nil {
		return "", fold.WithHint(err, "nothing was changed; what git or a hook said stands above")
	}
	out, rerr := l.userGit(ctx, p, "rev-parse", "HEAD")
	if rerr != nil {
		return "", nil // it is committed
	}
	return strings.TrimSpace(string(out)), nil
}

// publishedFiles are files of a work tree that are being replaced.
type publishedFiles struct {
	root *os.Root
	new  map[string][]byte
	was  map[string][]byte // of those written so far; nil where there was none
}

func (f *publishedFiles) write(paths []string) error {
	for _, p := range paths {
		was, err := f.root.ReadFile(p)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := f.root.MkdirAll(path.Dir(p), 0o777); err != nil {
			return err
		}
		f.was[p] = was
		if err := f.root.WriteFile(p, f.new[p], 0o666); err != nil {
			return err
		}
	}
	return nil
}

// added returns the files that were not there.
func (f *publishedFiles) added() []string {
	var out []string
	for p, was := range f.was {
		if was == nil {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// restore brings back what was there, except where somebody, a hook, say, has
// written since.
func (f *publishedFiles) restore() error {
	var errs []error
	for p, was := range f.was {
		have, err := f.root.ReadFile(p)
		switch {
		case err == nil && !bytes.Equal(have, f.new[p]) || errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && was == nil:
			err = f.root.Remove(p)
		case err == nil:
			err = f.root.WriteFile(p, was, 0o666)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
