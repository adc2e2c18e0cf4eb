// Package recall reads the memories of a checkout: search, get, list, context and
// links, for every surface.
//
// It owns no files and no database: the stores it reads are opened by package daemon
// and lent to it. Its own state is caches in memory: past commits, similar memories,
// result orders. Every call may block on the disk or on an embedding model.
package recall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/lru"
	"github.com/foldwatch/foldwatch/meta/shown"
	"github.com/foldwatch/foldwatch/meta/state"
	"github.com/foldwatch/foldwatch/meta/textindex"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// Options are the stores and settings of a [Service].
type Options struct {
	Slug    string
	Index   *index.DB
	Text    *textindex.Index
	Vectors *vecindex.Index // with Embed the first model, see [Service.Use]
	State   *state.DB
	Embed   embed.Embedder
	Fold    disk.Folder
	Lexicon *embed.Table // finds synonyms of the words of a question; may be nil

	// Source returns the content of a source file of the checkout, nil if it is not
	// the content that was indexed.
	Source func(ctx context.Context, path string) ([]byte, error)
	// SourceParts reads parts of a source file, as [disk.ReadParts] does.
	SourceParts func(ctx context.Context, path string, parts [][2]int, fn func(i int, part []byte)) error
	// Allowed returns the secret rules that were allowed for the memory id. Nil
	// allows none.
	Allowed func(ctx context.Context, id fold.ID) (map[string]bool, error)
	// StrengthWeight and HalfLife return the current settings of the project.
	StrengthWeight func() float64
	HalfLife       func() time.Duration
	TouchOnSearch  bool
	Compared       *atomic.Int64 // counts memories whose chunks were compared with others; may be nil
	Fusion         string        // weighted or rrf
	Now            func() time.Time
}

// A Service reads the memories of one checkout. It is safe for concurrent use.
type Service struct {
	Options
	model   atomic.Pointer[Model]
	history commitHistory

	mu      sync.Mutex // guards similar
	similar lru.Cache[similarityKey, []similarity]
}

// New returns the service of one checkout.
func New(opt Options) *Service {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	s := &Service{Options: opt, similar: lru.Cache[similarityKey, []similarity]{MaxLen: maxSimilarities}}
	s.Use(Model{Vectors: opt.Vectors, Embed: opt.Embed})
	return s
}

// Resolve returns the id that text means: an id in either case, or the beginning
// of exactly one of at least 4 digits. It returns ErrInvalid for what cannot be
// an id and ErrNotFound where none begins so.
func (s *Service) Resolve(ctx context.Context, text string) (fold.ID, error) {
	text = strings.TrimSpace(text)
	if id, err := fold.ParseID(text); err == nil {
		return id, nil
	}
	prefix := strings.ToLower(text)
	if len(text) < 4 || len(text) > 16 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%.40q is no id: 16 hex digits, or the first 4 or more of one: %w", text, fold.ErrInvalid)
	}
	ids, err := s.Index.IDsByPrefix(ctx, prefix, maxAmbiguous+1)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", fmt.Errorf("memory %s: %w", text, fold.ErrNotFound)
	case len(ids) > 1:
		return "", Ambiguous(text, ids, func(id fold.ID) string {
			row, err := s.Index.Memory(ctx, id)
			if err != nil {
				return ""
			}
			return row.Title
		})
	}
	return ids[0], nil
}

// maxAmbiguous is how many memories the error about an ambiguous id names.
const maxAmbiguous = 5

// Ambiguous returns an ErrInvalid that names the memories whose ids begin with prefix.
func Ambiguous(prefix string, ids []fold.ID, title func(fold.ID) string) error {
	var list []string
	for _, id := range ids[:min(len(ids), maxAmbiguous)] {
		if t := title(id); t != "" {
			list = append(list, fmt.Sprintf("%s (%s)", id, shown.Clip(shown.Line(t), 60)))
		} else {
			list = append(list, string(id))
		}
	}
	more := ""
	if len(ids) > maxAmbiguous {
		more = ", and more"
	}
	return fmt.Errorf("more than one id begins with %s: %s%s: %w", prefix, strings.Join(list, ", "), more, fold.ErrInvalid)
}

// row returns the memory id. If it has a file, the file on disk counts rather than the
// index, so that a write can be read as soon as it was acknowledged. It returns
// ErrSecret if the file holds a credential that was not allowed.
func (s *Service) row(ctx context.Context, id fold.ID) (index.Row, error) {
	row, err := s.Index.Memory(ctx, id)
	known := err == nil
	if err != nil && !errors.Is(err, fold.ErrNotFound) {
		return row, err
	}
	path := id.Path()
	if known && row.Path != "" {
		path = row.Path
	}
	b, _, rerr := s.Fold.Read(path, 1<<20)
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
	m, err := fold.Decode(s.Slug, path, b)
	if err != nil {
		return row, err
	}
	if m.Deleted {
		return index.Row{}, fmt.Errorf("memory %s: %w", id, fold.ErrNotFound)
	}
	if err := s.checkSecrets(ctx, m.ID, b); err != nil {
		return index.Row{}, err
	}
	return index.Row{Memory: *m, Described: "fold", ContentHash: fold.ContentHash(b), Stale: row.Stale}, nil
}

// Get returns one memory with its links, and records the access. For a memory that was
// merged into another it returns the other.
func (s *Service) Get(ctx context.Context, id fold.ID) (wire.Memory, error) {
	m, err := s.get(ctx, id)
	if errors.Is(err, fold.ErrNotFound) {
		if target, ok := s.redirect(ctx, id); ok {
			m, err = s.get(ctx, target)
		}
	}
	if err != nil {
		return m, err
	}
	now := s.Now()
	if err := s.State.Touch(ctx, s.Slug, fold.ID(m.ID), now); err == nil { // an access that was not counted is no reason to fail
		m.RetrievalCount++
		m.LastAccessed = &now
	}
	return m, nil
}

func (s *Service) get(ctx context.Context, id fold.ID) (wire.Memory, error) {
	row, err := s.row(ctx, id)
	if err != nil {
		return wire.Memory{}, err
	}
	links, err := s.Links(ctx, id)
	if err != nil {
		return wire.Memory{}, err
	}
	access, err := s.State.Access(ctx, s.Slug, []fold.ID{id})
	if err != nil {
		return wire.Memory{}, err
	}
	m := memory(row)
	m.Project = s.Slug
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
	m.Strength = s.strength(row, a)
	m.State = wire.WriteState{Durable: row.Path != "", Indexed: row.Seq > 0}
	return m, nil
}

// maxRedirects bounds how many memories a chain of merges may have.
const maxRedirects = 16

// redirect returns the memory into which the memory id, which no longer exists, was
// merged: the one that supersedes it, followed to the end of the chain. A link or a
// person that still has the old id gets there.
func (s *Service) redirect(ctx context.Context, id fold.ID) (fold.ID, bool) {
	at := id
	for range maxRedirects {
		_, in, err := s.Index.LinksOf(ctx, []fold.ID{at})
		if err != nil {
			return "", false
		}
		var next fold.ID
		for _, l := range in[at] {
			if l.Type == fold.LinkSupersedes && !l.Derived {
				next = l.From
				break
			}
		}
		if next == "" || next == id {
			return "", false
		}
		if _, err := s.row(ctx, next); err == nil {
			return next, true
		}
		at = next
	}
	return "", false
}

func (s *Service) strength(row index.Row, a state.Access) float64 {
	return rank.Strength(s.Now(), row.UpdatedAt, a.Last, a.Count, halfLifeOf(s.HalfLife(), row.Type), row.Pinned)
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

func (s *Service) item(row index.Row) wire.MemoryItem {
	return wire.MemoryItem{
		ID: string(row.ID), Title: row.Title, Type: row.Type, Source: string(row.Source), Author: row.Author, Tags: row.Tags,
		FilePath: row.FilePath, Path: row.Path, Snippet: firstText(row.Body, 160), CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
		Stale: row.Stale, Project: s.Slug,
	}
}

// List returns one page of memories.
func (s *Service) List(ctx context.Context, q wire.ListQuery) (wire.MemoryList, error) {
	f, err := filterOf(q)
	if err != nil {
		return wire.MemoryList{}, err
	}
	rows, next, total, err := s.Index.List(ctx, f)
	if err != nil {
		return wire.MemoryList{}, err
	}
	list := wire.MemoryList{Items: make([]wire.MemoryItem, 0, len(rows)), Total: total, NextCursor: next}
	for _, row := range rows {
		list.Items = append(list.Items, s.item(row))
	}
	return list, nil
}

// filterOf checks a list query and returns it as a filter of the index.
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

// Notes returns the ids of all notes that people wrote by hand and nobody adopted.
func (s *Service) Notes(ctx context.Context) ([]fold.ID, error) {
	var ids []fold.ID
	err := s.Index.EachMemory(ctx, func(row index.Row) error {
		if row.Note {
			ids = append(ids, row.ID)
		}
		return nil
	})
	return ids, err
}

// parseTime parses RFC 3339, or a date alone, which means its first moment in UTC.
func parseTime(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s %.40q is no date: give 2026-02-03 or 2026-02-03T10:30:00Z: %w", name, text, fold.ErrInvalid)
}

// Links returns the links of a memory in both directions: first those of the index,
// then the associations, which are derived from similar chunks.
func (s *Service) Links(ctx context.Context, id fold.ID) (wire.LinkList, error) {
	list, err := s.storedLinks(ctx, id)
	if err != nil {
		return list, err
	}
	found, err := s.associatedLinks(ctx, id)
	list.Items = append(list.Items, found...)
	return list, err
}

// storedLinks returns the links of a memory that are in the index.
func (s *Service) storedLinks(ctx context.Context, id fold.ID) (wire.LinkList, error) {
	out, in, err := s.Index.LinksOf(ctx, []fold.ID{id})
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
	titles, err := s.Index.Titles(ctx, ends)
	if err != nil {
		return wire.LinkList{}, err
	}
	list := wire.LinkList{Items: make([]wire.Link, 0, len(ends))}
	for _, l := range out[id] {
		if _, exists := titles[l.To]; exists || !l.Derived { // a written link may point to a memory that is yet to come
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
// a credential are replaced by a note.
func (s *Service) SourceText(ctx context.Context, id fold.ID, start, end int) (wire.SourceText, error) {
	row, err := s.row(ctx, id)
	if err != nil {
		return wire.SourceText{}, err
	}
	if row.Source != fold.SourceFile || row.FilePath == "" || fold.FileID(s.Slug, row.FilePath) != row.ID {
		return wire.SourceText{}, fmt.Errorf("memory %s describes no source file: %w", id, fold.ErrInvalid)
	}
	src, err := s.Source(ctx, row.FilePath)
	if err != nil {
		return wire.SourceText{}, fmt.Errorf("source of %s: %w", id, err)
	}
	if src == nil {
		return wire.SourceText{}, fmt.Errorf("source file %s is not in this checkout: %w", row.FilePath, fold.ErrNotFound)
	}
	if src, err = s.redact(ctx, id, src); err != nil {
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
