package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
	// Stdin and Output are those of the user's terminal; see [PathCommit].
	Stdin  io.Reader
	Output io.Writer
}

// MayPublish returns why nothing can be committed to paths at present: an
// operation of the user is open, no branch is checked out, or what lies there is
// the user's own, changed and not committed. Each error is ErrConflict, or
// ErrInvalid where the paths are to blame.
func (l *Layout) MayPublish(ctx context.Context, p *Publication) error {
	if err := l.MayCommit(ctx); err != nil {
		return fmt.Errorf("publish: %w", err)
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

// unchanged refuses to write over what the user changed and did not commit.
func (l *Layout) unchanged(ctx context.Context, root *os.Root, p *Publication) error {
	dirs := map[string]bool{}
	for f := range p.Files {
		dirs[path.Dir(f)] = true
	}
	var theirs []string
	for dir := range dirs {
		changed, err := l.Changed(ctx, dir)
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		for _, c := range changed {
			want, ours := p.Files[c.Path]
			if !ours {
				continue
			}
			// One that an earlier attempt left is taken as it is.
			if have, err := root.ReadFile(c.Path); !c.New || err != nil || !bytes.Equal(have, want) {
				theirs = append(theirs, c.Path)
			}
		}
	}
	if len(theirs) > 0 {
		slices.Sort(theirs)
		theirs = slices.Compact(theirs)
		return fold.WithHint(fmt.Errorf("publish: %s has changes of yours that are not committed: %w", strings.Join(theirs[:min(3, len(theirs))], ", "), fold.ErrConflict),
			"commit them, or take them back with git restore")
	}
	return nil
}

// PublishFiles writes the files and commits them as [Layout.CommitPaths] does. It returns
// the commit. Where git or a hook refuses, all is put back as it was. See
// [Layout.MayPublish] for what is refused before.
func (l *Layout) PublishFiles(ctx context.Context, p *Publication) (oid string, err error) {
	if err := l.MayPublish(ctx, p); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(l.WorkTree)
	if err != nil {
		return "", fmt.Errorf("publish: %w", err)
	}
	defer root.Close()
	paths := sortedKeys(p.Files)
	files := &publishedFiles{root: root, was: map[string][]byte{}, new: p.Files}
	if err = files.write(paths); err == nil {
		oid, err = l.CommitPaths(ctx, &PathCommit{Paths: paths, Message: p.Message, Stdin: p.Stdin, Output: p.Output})
	}
	if err != nil {
		return "", fmt.Errorf("publish: %w", errors.Join(err, files.restore()))
	}
	return oid, nil
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
