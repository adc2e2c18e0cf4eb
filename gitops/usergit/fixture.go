package usergit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A FixtureCommit is one commit that [Replay] makes.
type FixtureCommit struct {
	Message string
	Author  string // a name; "" is Replay's own
	Time    time.Time
	Files   []string // paths it changes, with forward slashes
}

// replayBranch is the branch that Replay leaves checked out.
const replayBranch = "main"

// Replay makes a git repository of dir, with the past commits, oldest first, in
// its history. Its tree is what lies in dir, whatever the past did: until the
// last commit that touches a file, the file holds a line of ours. Files that no
// commit touches come with the first, which has no message; paths that are not
// in dir are left out, and a commit that has no other path is not made.
//
// It is for scratch repositories, in which search is measured. It returns
// ErrConflict if dir is in a repository already.
func Replay(ctx context.Context, dir string, past []FixtureCommit) error {
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		return fmt.Errorf("replay into %s: there is a repository already: %w", dir, fold.ErrConflict)
	}
	files, err := treeFiles(dir)
	if err != nil {
		return fmt.Errorf("replay into %s: %w", dir, err)
	}
	if _, err := (Call{Dir: dir, Args: []string{"init", "-q", "--template=", "-b", replayBranch}}).Output(ctx); err != nil {
		return fmt.Errorf("replay into %s: %w", dir, err)
	}
	in, out := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := (&pastWriter{dir: dir, files: files, past: past, out: bufio.NewWriterSize(out, 64<<10)}).write()
		written <- errors.Join(err, out.CloseWithError(err))
	}()
	_, err = Call{Dir: dir, stdin: in, Args: []string{"fast-import", "--quiet"}}.Output(ctx)
	in.CloseWithError(io.ErrClosedPipe) // lets the writer go where git ended first
	werr := <-written
	if errors.Is(werr, io.ErrClosedPipe) {
		werr = nil
	}
	if err = errors.Join(werr, err); err != nil {
		return fmt.Errorf("replay into %s: %w", dir, err)
	}
	if _, err := (Call{Dir: dir, Args: []string{"reset", "-q"}}).Output(ctx); err != nil {
		return fmt.Errorf("replay into %s: %w", dir, err)
	}
	return nil
}

// treeFiles returns the regular files below dir, sorted.
func treeFiles(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		files = append(files, filepath.ToSlash(rel))
		return err
	})
	slices.Sort(files)
	return files, err
}

// A pastWriter writes a stream for git fast-import.
type pastWriter struct {
	dir   string
	files []string
	past  []FixtureCommit
	out   *bufio.Writer
}

func (w *pastWriter) write() error {
	known := make(map[string]bool, len(w.files))
	for _, f := range w.files {
		known[f] = true
	}
	last := map[string]int{} // the last commit that touches a file
	for i, p := range w.past {
		for _, f := range p.Files {
			last[f] = i
		}
	}
	first := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	if len(w.past) > 0 && !w.past[0].Time.IsZero() {
		first = w.past[0].Time.Add(-time.Hour)
	}
	var rest []string
	for _, f := range w.files {
		if _, ok := last[f]; !ok && !strings.HasPrefix(f, "fold/") {
			rest = append(rest, f)
		}
	}
	w.begin(FixtureCommit{Time: first})
	for _, f := range rest {
		if err := w.final(f); err != nil {
			return err
		}
	}
	for i, p := range w.past {
		p.Files = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(p.Files))), func(f string) bool { return !known[f] })
		if len(p.Files) == 0 {
			continue
		}
		w.begin(p)
		for _, f := range p.Files {
			if last[f] != i {
				w.modify(f, fmt.Appendf(nil, "replayed %d\n", i))
			} else if err := w.final(f); err != nil {
				return err
			}
		}
	}
	return w.out.Flush()
}

func (w *pastWriter) begin(p FixtureCommit) {
	name := strings.Map(func(c rune) rune {
		if strings.ContainsRune("<>\n\x00", c) {
			return -1
		}
		return c
	}, p.Author)
	if name == "" {
		name = "foldwatch"
	}
	fmt.Fprintf(w.out, "commit refs/heads/%s\ncommitter %s <replay@localhost> %d +0000\ndata %d\n%s\n", replayBranch, name, p.Time.Unix(), len(p.Message), p.Message)
}

// final gives the file f what it holds in the end.
func (w *pastWriter) final(f string) error {
	b, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(f)))
	if err != nil {
		return err
	}
	w.modify(f, b)
	return nil
}

func (w *pastWriter) modify(f string, b []byte) {
	fmt.Fprintf(w.out, "M 100644 inline %s\ndata %d\n", quotePath(f), len(b))
	_, _ = w.out.Write(b) // the writer keeps its first error for Flush
	_ = w.out.WriteByte('\n')
}

// quotePath returns a path as fast-import reads it.
func quotePath(p string) string {
	if !strings.ContainsAny(p, "\"\\\n") && !strings.HasPrefix(p, "\"") {
		return p
	}
	var b bytes.Buffer
	b.WriteByte('"')
	for i := range len(p) {
		switch c := p[i]; c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\n':
			b.WriteString(`\n`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
