package ingest

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/foldwatch/foldwatch/daemon/ingest/cut"
	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Descriptions that are kept in the index only are made anew whenever the content
// of a file changes, and a branch switch changes thousands to what they were
// before. So what was said of a content is cached, too: not at a first index, of
// which most files never change, but from the first change on.

// A resolved import is a question that [describe.Describe] asked of the tree, and the
// answer. A description that is remembered holds as long as all answers do.
type resolved struct {
	spec, path string
	ok         bool
}

// described is the memory of a source file as it lies in the work tree, for the
// index only.
//
// asked is what [Ingester.refreshImports] compares with the tree later.
func (in *Ingester) described(ctx context.Context, pr *cut.File) (_ *fold.Memory, asked []byte) {
	s := describe.NewSubject(in.Slug, pr.Path, pr.File.Blob, pr.Src, pr.Result, pr.When, in.Files())
	m, answers, ok := recall(pr.Told, &s)
	pr.Told = nil
	if !ok {
		var asked []resolved
		resolve := s.Resolve
		s.Resolve = func(spec string) (string, bool) {
			p, ok := resolve(spec)
			asked = append(asked, resolved{spec, p, ok})
			return p, ok
		}
		in.Count.Describes.Add(1)
		m = describe.Describe(s)
		if pr.Remember && !pr.Result.Provisional() {
			if err := in.Cache.PutChunksSoon(ctx, in.reader.DescriptionKey(pr), encodeDescription(&m, s.Tested, asked)); err != nil {
				in.Log.WarnContext(ctx, "Description not cached", "err", err)
			}
		}
		answers = asked
	}
	m.ID = pr.ID
	for i := range m.Links {
		m.Links[i].From = m.ID
	}
	return &m, encodeAsked(pr.Path, pr.Result.Language, answers)
}

// recall returns what [describe.Describe] returns of s, from what encodeDescription wrote
// of the same content. It reports false where the tree has changed so that it may
// be another, and for b nil or damaged.
func recall(b []byte, s *describe.Subject) (m fold.Memory, asked []resolved, ok bool) {
	if b == nil {
		return m, nil, false
	}
	d := descriptionDecoder{s: string(b)}
	if d.str() != s.Tested {
		return m, nil, false
	}
	for range d.count() {
		r := resolved{spec: d.str(), path: d.str(), ok: d.count() == 1}
		if d.err != nil {
			return m, nil, false
		}
		if p, is := s.Resolve(r.spec); p != r.path || is != r.ok {
			return m, nil, false
		}
		asked = append(asked, r)
	}
	m = fold.Memory{
		Title: d.str(), Type: d.str(), Source: fold.Source(d.str()), Author: d.str(), Context: d.str(), Language: d.str(),
		OriginalDate: d.str(), Body: d.str(), Aliases: d.strs(), Tags: d.strs(), Keywords: d.strs(),
		FilePath: s.Path, SourceBlob: s.Blob,
	}
	m.CreatedAt, m.UpdatedAt = s.Times()
	for range d.count() {
		m.Links = append(m.Links, fold.Link{To: fold.ID(d.str()), Type: fold.LinkType(d.str()), Weight: 1})
	}
	return m, asked, d.err == nil && d.s == ""
}

// encodeDescription returns m as recall reads it: all that [describe.Describe] sets but
// what it takes from the subject as it is.
func encodeDescription(m *fold.Memory, tested string, asked []resolved) []byte {
	b := make([]byte, 0, 512+len(m.Body)+len(m.Context))
	str := func(list ...string) {
		for _, s := range list {
			b = binary.AppendUvarint(b, uint64(len(s)))
			b = append(b, s...)
		}
	}
	num := func(n int) { b = binary.AppendUvarint(b, uint64(n)) }
	str(tested)
	num(len(asked))
	for _, r := range asked {
		str(r.spec, r.path)
		if r.ok {
			num(1)
		} else {
			num(0)
		}
	}
	str(m.Title, m.Type, string(m.Source), m.Author, m.Context, m.Language, m.OriginalDate, m.Body)
	for _, list := range [][]string{m.Aliases, m.Tags, m.Keywords} {
		if list == nil {
			num(0)
			continue
		}
		num(1 + len(list))
		str(list...)
	}
	num(len(m.Links))
	for _, l := range m.Links {
		str(string(l.To), string(l.Type))
	}
	return b
}

// encodeAsked is the record of what the description of the file at path asked; empty if
// that was nothing.
func encodeAsked(path, language string, asked []resolved) []byte {
	b := []byte{}
	if len(asked) == 0 {
		return b
	}
	str := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	str(path)
	str(language)
	b = binary.AppendUvarint(b, uint64(len(asked)))
	for _, r := range asked {
		str(r.spec)
		str(r.path)
	}
	return b
}

// A descriptionDecoder reads until something is wrong, and then returns nothing.
// What it reads are parts of one string.
type descriptionDecoder struct {
	s   string
	err error
}

func (d *descriptionDecoder) fail() {
	d.s, d.err = "", errors.New("damaged description")
}

func (d *descriptionDecoder) count() int {
	var v uint64
	for i := 0; i < len(d.s) && i < binary.MaxVarintLen64; i++ {
		v |= uint64(d.s[i]&0x7f) << (7 * i)
		if d.s[i] < 0x80 {
			if d.s = d.s[i+1:]; v > uint64(len(d.s))+1 {
				break // more than can follow
			}
			return int(v)
		}
	}
	d.fail()
	return 0
}

func (d *descriptionDecoder) str() string {
	n := d.count()
	if n > len(d.s) {
		d.fail()
		return ""
	}
	s := d.s[:n]
	d.s = d.s[n:]
	return s
}

func (d *descriptionDecoder) strs() []string {
	n := d.count()
	if n == 0 {
		return nil
	}
	list := make([]string, 0, n-1)
	for range n - 1 {
		list = append(list, d.str())
	}
	return list
}
