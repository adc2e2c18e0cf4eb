// Package recall is the way out: search, get, list, context and links of one
// checkout's memories, for whichever surface asks.
package recall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/shown"
	"github.com/foldwatch/foldwatch/meta/state"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// Options are the parts a [Door] reads from.
type Options struct {
	Slug    string
	Index   *index.DB
	Text    *textindex.Index
	Vectors *vecindex.Index // and Embed: until [Door.Use] names others
	State   *state.DB
	Embed   embed.Embedder
	Fold    disk.Folder
	Lexicon *embed.Table // widens questions; nil does not

	// Source returns a source file as it lies in the checkout, nil if it is not
	// what was indexed.
	Source func(ctx context.Context, path string) ([]byte, error)
	// SourceParts reads parts of one, as [disk.ReadParts] does.
	SourceParts func(ctx context.Context, path string, parts [][2]int, fn func(i int, part []byte)) error
	// Allowed returns the rules by which the memory id may hold what looks like
	// a secret. Nil allows none.
	Allowed func(ctx context.Context, id fold.ID) (map[string]bool, error)
	// StrengthWeight and HalfLife are the project's settings at the time of the
	// call.
	StrengthWeight func() float64
	HalfLife       func() time.Duration
	TouchOnSearch  bool
	Compared       *atomic.Int64 // counts memories whose chunks were compared with others; nil does not
	Fusion         string        // weighted or rrf
	Now            func() time.Time
}

// A Door reads the memories of one checkout. It is safe for concurrent use.
type Door struct {
	Options
	meaning atomic.Pointer[Meaning]
	past    past
	leaned  leanings
}

// New returns the way out of one checkout.
func New(opt Options) *Door {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	d := &Door{Options: opt}
	d.Use(Meaning{Vectors: opt.Vectors, Embed: opt.Embed})
	return d
}

// Resolve returns the id that s means: an id in either case, or the beginning
// of exactly one of at least 4 digits. It returns ErrInvalid for what cannot be
// an id and ErrNotFound where none begins so.
func (d *Door) Resolve(ctx context.Context, s string) (fold.ID, error) {
	s = strings.TrimSpace(s)
	if id, err := fold.ParseID(s); err == nil {
		return id, nil
	}
	if len(s) < 4 || len(s) > 16 || strings.Trim(strings.ToLower(s), "0123456789abcdef") != "" {
		return "", fmt.Errorf("%.40q is no id: 16 hex digits, or the first 4 or more of one: %w", s, fold.ErrInvalid)
	}
	ids, err := d.Index.IDsByPrefix(ctx, strings.ToLower(s), mostMeant+1)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", fmt.Errorf("memory %s: %w", s, fold.ErrNotFound)
	case len(ids) > 1:
		return "", Ambiguous(s, ids, func(id fold.ID) string {
			row, err := d.Index.Memory(ctx, id)
			if err != nil {
				return ""
			}
			return row.Title
		})
	}
	return ids[0], nil
}

// mostMeant is of how many memories an ambiguous id names.
const mostMeant = 5

// Ambiguous says which memories s may mean: an error that is ErrInvalid.
func Ambiguous(s string, ids []fold.ID, title func(fold.ID) string) error {
	var list []string
	for _, id := range ids[:min(len(ids), mostMeant)] {
		if t := title(id); t != "" {
			list = append(list, fmt.Sprintf("%s (%s)", id, shown.Clip(shown.Line(t), 60)))
		} else {
			list = append(list, string(id))
		}
	}
	more := ""
	if len(ids) > mostMeant {
		more = ", and more"
	}
	return fmt.Errorf("more than one id begins with %s: %s%s: %w", s, strings.Join(list, ", "), more, fold.ErrInvalid)
}

// row returns the memory id: the file as it lies on disk where it has one, so
// that what was acknowledged is seen at once. It returns ErrSecret for one that
// holds a credential nobody allowed.
func (d *Door) row(ctx context.Context, id fold.ID) (index.Row, error) {
	row, err := d.Index.Memory(ctx, id)
	known := err == nil
	if err != nil && !errors.Is(err, fold.ErrNotFound) {
		return row, err
	}
	path := id.Path()
	if known && row.Path != "" {
		path = row.Path
	}
	b, _, rerr := d.Fold.Read(path, 1<<20)
	if errors.Is(rerr, fs.ErrNotExist) {
		if known && row.Described == "index" {
			return row, nil
		}
		return row, fmt.Errorf("memory %s: %w", id, fold.ErrNotFound)
	}
	if rerr != nil {
		return row, fmt.Errorf("memory %s: %w", id, rerr)
	}
	if hash := fold.ContentHash(b); known && hash == row.ContentHash {
		return row, nil
	}
	m, err := fold.Decode(d.Slug, path, b)
	if err != nil {
		return row, err
	}
	if m.Deleted {
		return index.Row{}, fmt.Errorf("memory %s: %w", id, fold.ErrNotFound)
	}
	if err := d.withheld(ctx, m.ID, b); err != nil {
		return index.Row{}, err
	}
	return index.Row{Memory: *m, Described: "fold", ContentHash: fold.ContentHash(b), Stale: row.Stale}, nil
}

// Get returns one memory with its links, and notes that it was used. Of one that was
// merged into another it returns that.
func (d *Door) Get(ctx context.Context, id fold.ID) (wire.Memory, error) {
	m, err := d.get(ctx, id)
	if errors.Is(err, fold.ErrNotFound) {
		if heir, ok := d.heir(ctx, id); ok {
			m, err = d.get(ctx, heir)
		}
	}
	if err != nil {
		return m, err
	}
	now := d.Now()
	if err := d.State.Touch(ctx, d.Slug, fold.ID(m.ID), now); err == nil { // a lost count is no reason to fail
		m.RetrievalCount++
		m.LastAccessed = &now
	}
	return m, nil
}

func (d *Door) get(ctx context.Context, id fold.ID) (wire.Memory, error) {
	row, err := d.row(ctx, id)
	if err != nil {
		return wire.Memory{}, err
	}
	links, err := d.Links(ctx, id)
	if err != nil {
		return wire.Memory{}, err
	}
	access, err := d.State.Access(ctx, d.Slug, []fold.ID{id})
	if err != nil {
		return wire.Memory{}, err
	}
	m := memory(row)
	m.Project = d.Slug
	m.Links, m.Backlinks = []wire.Link{}, []wire.Link{}
	for _, l := range links.Items {
		if l.Direction == "out" {
			m.Links = append(m.Links, l)
		} else {
			m.Backlinks = append(m.Backlinks, l)
		}
	}
	a := access[0]
	m.RetrievalCount = a.Count
	if !a.Last.IsZero() {
		last := a.Last
		m.LastAccessed = &last
	}
	m.Strength = d.strength(row, a)
	m.State = wire.WriteState{Durable: row.Path != "", Indexed: row.Seq > 0}
	return m, nil
}

func (d *Door) strength(row index.Row, a state.Access) float64 {
	return rank.Strength(d.Now(), row.UpdatedAt, a.Last, a.Count, halfLife(d.HalfLife(), row.Type), row.Pinned)
}

func memory(row index.Row) wire.Memory {
	return wire.Memory{
		ID: string(row.ID), Title: row.Title, Type: row.Type, Source: string(row.Source), Author: row.Author, Slug: row.Slug,
		Aliases: row.Aliases, Tags: row.Tags, Keywords: row.Keywords, Context: row.Context, FilePath: row.FilePath,
		Language: row.Language, SourceBlob: row.SourceBlob, OriginalDate: row.OriginalDate, Subject: row.Subject,
		Relation: row.Relation, Object: row.Object, Pinned: row.Pinned, Importance: row.Importance, Session: row.Session,
		Agent: row.Agent, Commit: row.Commit, MovedFrom: row.MovedFrom, Visibility: row.Visibility,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, Content: row.Body, ContentHash: row.ContentHash,
		Path: row.Path, Described: row.Described, Note: row.Note, Stale: row.Stale,
	}
}

func (d *Door) item(row index.Row) wire.MemoryItem {
	return wire.MemoryItem{
		ID: string(row.ID), Title: row.Title, Type: row.Type, Source: string(row.Source), Author: row.Author, Tags: row.Tags,
		FilePath: row.FilePath, Path: row.Path, Snippet: firstText(row.Body, 160), CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
		Stale: row.Stale, Project: d.Slug,
	}
}

// List returns one page of memories.
func (d *Door) List(ctx context.Context, q wire.ListQuery) (wire.MemoryList, error) {
	f, err := filterOf(q)
	if err != nil {
		return wire.MemoryList{}, err
	}
	rows, next, total, err := d.Index.List(ctx, f)
	if err != nil {
		return wire.MemoryList{}, err
	}
	list := wire.MemoryList{Items: make([]wire.MemoryItem, 0, len(rows)), Total: total, NextCursor: next}
	for _, row := range rows {
		list.Items = append(list.Items, d.item(row))
	}
	return list, nil
}

// filterOf reads what a list is asked for.
func filterOf(q wire.ListQuery) (index.Filter, error) {
	f := index.Filter{
		Source: fold.Source(q.Source), Type: q.Type, Author: q.Author, Tags: q.Tags, Q: q.Q,
		SortBy: q.SortBy, Asc: q.SortDir == "asc", Limit: q.Limit, Cursor: q.Cursor,
	}
	if q.SortDir != "" && q.SortDir != "asc" && q.SortDir != "desc" {
		return f, fmt.Errorf("sort_dir %.20q is neither asc nor desc: %w", q.SortDir, fold.ErrInvalid)
	}
	for _, t := range []struct {
		name, text string
		dst        *time.Time
	}{
		{"created_after", q.CreatedAfter, &f.CreatedAfter},
		{"created_before", q.CreatedBefore, &f.CreatedBefore},
		{"updated_after", q.UpdatedAfter, &f.UpdatedAfter},
		{"updated_before", q.UpdatedBefore, &f.UpdatedBefore},
	} {
		at, err := parseTime(t.name, t.text)
		if err != nil {
			return f, err
		}
		*t.dst = at
	}
	return f, nil
}

// Notes returns the ids of all notes that people made and nobody adopted.
func (d *Door) Notes(ctx context.Context) ([]fold.ID, error) {
	var ids []fold.ID
	err := d.Index.EachMemory(ctx, func(row index.Row) error {
		if row.Note {
			ids = append(ids, row.ID)
		}
		return nil
	})
	return ids, err
}

// parseTime reads RFC 3339 or a bare date, which is its first moment in UTC.
func parseTime(name, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s %.40q is no date: give 2026-02-03 or 2026-02-03T10:30:00Z: %w", name, s, fold.ErrInvalid)
}

// Links returns the links of a memory in both directions, written ones first,
// those from chunks last.
func (d *Door) Links(ctx context.Context, id fold.ID) (wire.LinkList, error) {
	list, err := d.storedLinks(ctx, id)
	if err != nil {
		return list, err
	}
	found, err := d.associatedLinks(ctx, id)
	list.Items = append(list.Items, found...)
	return list, err
}

// storedLinks returns the links of a memory that the index keeps.
func (d *Door) storedLinks(ctx context.Context, id fold.ID) (wire.LinkList, error) {
	out, in, err := d.Index.LinksOf(ctx, []fold.ID{id})
	if err != nil {
		return wire.LinkList{}, err
	}
	var ends []fold.ID
	for _, l := range out[id] {
		ends = append(ends, l.To)
	}
	for _, l := range in[id] {
		ends = append(ends, l.From)
	}
	titles, err := d.Index.Titles(ctx, ends)
	if err != nil {
		return wire.LinkList{}, err
	}
	list := wire.LinkList{Items: make([]wire.Link, 0, len(ends))}
	for _, l := range out[id] {
		if _, there := titles[l.To]; there || !l.Derived { // nobody wrote the others for what may come
			list.Items = append(list.Items, link(l, "out", titles[l.To]))
		}
	}
	for _, l := range in[id] {
		list.Items = append(list.Items, link(l, "in", titles[l.From]))
	}
	return list, nil
}

func link(l fold.Link, direction, title string) wire.Link {
	return wire.Link{
		ID: l.ID(), SourceID: string(l.From), TargetID: string(l.To), Type: string(l.Type), Context: l.Context,
		Direction: direction, Title: title, Derived: l.Derived, Evidence: l.Evidence, Weight: l.Weight,
	}
}

// SourceText returns lines start to end (from 1, inclusive; 0 means the first
// and the last) of the source file that the memory id describes. Lines that hold
// a credential are withheld and say so.
func (d *Door) SourceText(ctx context.Context, id fold.ID, start, end int) (wire.SourceText, error) {
	row, err := d.row(ctx, id)
	if err != nil {
		return wire.SourceText{}, err
	}
	if row.Source != fold.SourceFile || row.FilePath == "" || fold.FileID(d.Slug, row.FilePath) != row.ID {
		return wire.SourceText{}, fmt.Errorf("memory %s describes no source file: %w", id, fold.ErrInvalid)
	}
	src, err := d.Source(ctx, row.FilePath)
	if err != nil {
		return wire.SourceText{}, fmt.Errorf("source of %s: %w", id, err)
	}
	if src == nil {
		return wire.SourceText{}, fmt.Errorf("source file %s is not in this checkout: %w", row.FilePath, fold.ErrNotFound)
	}
	if src, err = d.withoutSecrets(ctx, id, src); err != nil {
		return wire.SourceText{}, fmt.Errorf("source of %s: %w", id, err)
	}
	lines := strings.SplitAfter(string(src), "\n")
	if n := len(lines); n > 0 && lines[n-1] == "" {
		lines = lines[:n-1]
	}
	if start <= 0 {
		start = 1
	}
	if end <= 0 || end > len(lines) {
		end = len(lines)
	}
	if start > end {
		return wire.SourceText{}, fmt.Errorf("lines %d to %d of %s, which has %d: %w", start, end, row.FilePath, len(lines), fold.ErrInvalid)
	}
	return wire.SourceText{
		ID: string(id), FilePath: row.FilePath, Language: row.Language, StartLine: start, EndLine: end,
		Content: strings.Join(lines[start-1:end], ""), Stale: row.Stale,
	}, nil
}

// firstText returns the beginning of a markdown text as one line of at most n
// runes, without headings.
func firstText(body string, n int) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "```") {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(line)
		if b.Len() > 4*n {
			break
		}
	}
	return clip(b.String(), n)
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return strings.TrimRight(string(r[:n-1]), " ") + "…"
}
