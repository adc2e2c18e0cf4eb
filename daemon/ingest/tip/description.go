package tip

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// describeAs describes one file of a tree. It returns nil for what is not
// described: empty and binary files.
func (fo *Follower) describeAs(ctx context.Context, t *tree, p string, src []byte, blob string, when time.Time) (*fold.Memory, error) {
	if len(src) == 0 || chunker.IsBinary(src) {
		return nil, nil
	}
	res, err := fo.Reader.ToDescribe(ctx, p, src)
	if err != nil {
		return nil, err
	}
	fo.nameFiles(ctx, t)
	return fo.describeCut(t, p, src, blob, res, when), nil
}

// describeCut is describeAs for a file that is cut already.
func (fo *Follower) describeCut(t *tree, p string, src []byte, blob string, res chunker.Result, when time.Time) *fold.Memory {
	s := describe.NewSubject(fo.Slug, p, blob, src, res, when, t.files)
	if t.some {
		s.Resolve = func(imp string) (string, bool) {
			to, ok := t.files.Resolve(p, res.Language, imp)
			if ok {
				t.names[fold.FileID(fo.Slug, to)] = to
			}
			return to, ok
		}
	}
	m := describe.Describe(s)
	m.ID = fold.FileID(fo.Slug, p)
	m.Path = m.ID.Path()
	for i := range m.Links {
		m.Links[i].From = m.ID
	}
	return &m
}

// encode returns the file of a description. Links are shown by the path of what
// they lead to, so that the text depends on the tree alone.
func (t *tree) encode(m *fold.Memory) []byte {
	return fold.Encode(m, func(id fold.ID) string { return t.names[id] })
}

// describeOne calls fn with the description of one file of a tree, unless it is
// none to describe.
func (fo *Follower) describeOne(ctx context.Context, t *tree, p string, fn func(now *fold.Memory) error) error {
	return fo.eachSource(ctx, t, []string{p}, func(p string, src []byte, blob string, when time.Time) error {
		now, err := fo.describeAs(ctx, t, p, src, blob, when)
		if err != nil || now == nil {
			return err
		}
		fo.Count.Described.Add(1)
		return fn(now)
	})
}

// lastDescription returns what was written of path for the blob that m
// describes, without what people made of it since: as it was kept, or, where
// another machine wrote it, made again. It is nil if the blob is not here any
// more.
func (fo *Follower) lastDescription(ctx context.Context, old *tree, p string, m *fold.Memory) ([]byte, error) {
	if m.SourceBlob == "" {
		return nil, nil
	}
	kept, err := fo.keptDescription(ctx, m)
	if err != nil || kept != nil {
		return kept, err
	}
	return fo.remadeDescription(ctx, old, p, m)
}

// keptDescription returns our own last description, nil if m is not made from
// it.
func (fo *Follower) keptDescription(ctx context.Context, m *fold.Memory) ([]byte, error) {
	b, err := fo.Store.LastDescribed(ctx, m.ID.Path())
	if errors.Is(err, fold.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	was, err := fold.Decode(fo.Slug, m.ID.Path(), b)
	if errors.Is(err, fold.ErrQuarantined) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if was.SourceBlob != m.SourceBlob {
		return nil, nil // of a blob before: another machine described this one
	}
	return b, nil
}

// remadeDescription describes the blob that m describes again, as a file of the
// tree old. The result is what was written only as far as the imports led to
// the same files in the tree it was made fo.
func (fo *Follower) remadeDescription(ctx context.Context, old *tree, p string, m *fold.Memory) ([]byte, error) {
	if old == nil {
		return nil, nil
	}
	fo.nameFiles(ctx, old)
	then := old.only(p, m.SourceBlob)
	var base []byte
	err := fo.eachSource(ctx, then, []string{p}, func(p string, src []byte, blob string, _ time.Time) error {
		was, err := fo.describeAs(ctx, then, p, src, blob, m.UpdatedAt)
		if err != nil || was == nil {
			return err
		}
		was.CreatedAt = m.CreatedAt
		base = then.encode(was)
		return nil
	})
	if errors.Is(err, fold.ErrNotFound) {
		return nil, nil
	}
	return base, err
}

// handWritten reports whether the memory of path holds anything we did not
// write.
func (fo *Follower) handWritten(ctx context.Context, old *tree, p string, m *fold.Memory) (bool, error) {
	if m.Pinned || m.Source != fold.SourceFile {
		return true, nil
	}
	base, err := fo.lastDescription(ctx, old, p, m)
	if err != nil || base == nil {
		return true, err // not known: keep it
	}
	was, err := fold.Decode(fo.Slug, m.ID.Path(), base)
	if err != nil {
		return true, err
	}
	return was.Body != m.Body || was.Context != m.Context || was.Title != m.Title ||
		fmt.Sprint(was.Tags, was.Keywords, was.Aliases) != fmt.Sprint(m.Tags, m.Keywords, m.Aliases) ||
		linkNames(was) != linkNames(m), nil
}

func linkNames(m *fold.Memory) string {
	var names []string
	for _, l := range m.Links {
		names = append(names, string(l.Type)+" "+string(l.To)+" "+l.Context)
	}
	sort.Strings(names)
	return fmt.Sprint(names)
}

// DescribeOne returns the memory file of a source file that is described in the
// index only, made anew from the tip's blob, or from the work tree where the
// tip does not have it.
func (fo *Follower) DescribeOne(ctx context.Context, id fold.ID) ([]byte, error) {
	row, err := fo.index.Memory(ctx, id)
	if err != nil {
		return nil, err
	}
	t, err := fo.tip(ctx, "", DescribeOptions{Gaps: true})
	if err != nil {
		return nil, err
	}
	if _, ok := t.blobs[row.FilePath]; !ok {
		t = &tree{blobs: map[string]string{row.FilePath: ""}}
	}
	var out []byte
	err = fo.eachSource(ctx, t, []string{row.FilePath}, func(p string, src []byte, blob string, when time.Time) error {
		m, err := fo.describeAs(ctx, t, p, src, blob, when)
		if err == nil && m != nil {
			out = t.encode(m)
		}
		return err
	})
	if err == nil && out == nil {
		err = fmt.Errorf("source file %s cannot be described: %w", row.FilePath, fold.ErrInvalid)
	}
	return out, err
}
