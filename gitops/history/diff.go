package history

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	fdiff "github.com/go-git/go-git/v5/plumbing/format/diff"
	"github.com/go-git/go-git/v5/utils/diff"

	"github.com/foldwatch/foldwatch/gitops/objdb"
)

// Caps of what one diff shows.
const (
	maxDiffFiles = 300
	diffTime     = time.Second // per file; beyond it the whole file is shown as replaced
)

// Diff returns what has changed since revision rev, as unified text; from what
// was before the newest if rev is "". From and to are the revisions compared;
// from is "" before the first. Beyond 300 files the rest is only counted.
func (r *Reader) Diff(ctx context.Context, rev string) (text, from, to string, err error) {
	tip, err := r.Resolve(ctx, "")
	if err != nil {
		return "", "", "", err
	}
	if rev == "" {
		return r.Show(ctx, tip.String())
	}
	at, err := r.Resolve(ctx, rev)
	if err != nil {
		return "", "", "", err
	}
	text, err = r.diffText(ctx, at, tip)
	return text, at.String(), tip.String(), err
}

// Show returns what revision rev itself changed, as [Reader.Diff] does.
func (r *Reader) Show(ctx context.Context, rev string) (text, from, to string, err error) {
	at, err := r.Resolve(ctx, rev)
	if err != nil {
		return "", "", "", err
	}
	c, err := r.obj.CommitOf(at)
	if err != nil {
		return "", "", "", err
	}
	before := objdb.FirstParent(c)
	if !before.IsZero() {
		from = before.String()
	}
	text, err = r.diffText(ctx, before, at)
	return text, from, at.String(), err
}

func (r *Reader) diffText(ctx context.Context, a, at plumbing.Hash) (string, error) {
	before, err := r.obj.TreeOf(a)
	if err != nil {
		return "", err
	}
	after, err := r.obj.TreeOf(at)
	if err != nil {
		return "", err
	}
	var p patch
	left := 0
	var files []patchFile
	err = r.obj.Diff(before, after, func(path string, was, is plumbing.Hash) {
		if len(files) == maxDiffFiles {
			left++
			return
		}
		files = append(files, patchFile{path: path, was: was, is: is})
	})
	if err != nil {
		return "", fmt.Errorf("diff %.12s: %w", at, err)
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if err := f.load(r.obj); err != nil {
			return "", fmt.Errorf("diff %.12s: %w", at, err)
		}
		p = append(p, f)
	}
	var b strings.Builder
	if err := fdiff.NewUnifiedEncoder(&b, fdiff.DefaultContextLines).Encode(p); err != nil {
		return "", fmt.Errorf("diff %.12s: %w", at, err)
	}
	if left > 0 {
		fmt.Fprintf(&b, "… and %d more files\n", left)
	}
	return b.String(), nil
}

// A patch is what one revision changes, in the form go-git prints.
type patch []patchFile

func (p patch) Message() string { return "" }

func (p patch) FilePatches() []fdiff.FilePatch {
	out := make([]fdiff.FilePatch, len(p))
	for i := range p {
		out[i] = p[i]
	}
	return out
}

// A patchFile is one file of a patch.
type patchFile struct {
	path    string
	was, is plumbing.Hash
	chunks  []fdiff.Chunk
}

func (f *patchFile) load(obj *objdb.Repo) error {
	var text [2]string
	for i, h := range []plumbing.Hash{f.was, f.is} {
		if h.IsZero() {
			continue
		}
		b, err := obj.Blob(h)
		if err != nil {
			return err
		}
		text[i] = string(b)
	}
	f.compare(text[0], text[1])
	return nil
}

// compare makes the chunks of what leads from one text to another.
func (f *patchFile) compare(was, is string) {
	for _, d := range diff.DoWithTimeout(was, is, diffTime) {
		op := fdiff.Equal
		if d.Type > 0 {
			op = fdiff.Add
		} else if d.Type < 0 {
			op = fdiff.Delete
		}
		f.chunks = append(f.chunks, patchChunk{d.Text, op})
	}
}

// A Change is what would become of one file.
type Change struct {
	Path    string // below fold/
	Was, Is []byte // nil: there is none
}

// DiffOf returns changes as unified text, as [Reader.Diff] does of those that were
// made. They need not be in a history.
func DiffOf(changes []Change) (string, error) {
	var p patch
	for _, c := range changes {
		f := patchFile{path: c.Path}
		if c.Was != nil {
			f.was = plumbing.ComputeHash(plumbing.BlobObject, c.Was)
		}
		if c.Is != nil {
			f.is = plumbing.ComputeHash(plumbing.BlobObject, c.Is)
		}
		f.compare(string(c.Was), string(c.Is))
		p = append(p, f)
	}
	var b strings.Builder
	err := fdiff.NewUnifiedEncoder(&b, fdiff.DefaultContextLines).Encode(p)
	return b.String(), err
}

func (f patchFile) IsBinary() bool        { return false }
func (f patchFile) Chunks() []fdiff.Chunk { return f.chunks }

func (f patchFile) Files() (from, to fdiff.File) {
	if !f.was.IsZero() {
		from = patchSide{f.path, f.was}
	}
	if !f.is.IsZero() {
		to = patchSide{f.path, f.is}
	}
	return from, to
}

type patchSide struct {
	path string
	hash plumbing.Hash
}

func (p patchSide) Hash() plumbing.Hash     { return p.hash }
func (p patchSide) Mode() filemode.FileMode { return filemode.Regular }
func (p patchSide) Path() string            { return p.path }

type patchChunk struct {
	text string
	op   fdiff.Operation
}

func (p patchChunk) Content() string       { return p.text }
func (p patchChunk) Type() fdiff.Operation { return p.op }
