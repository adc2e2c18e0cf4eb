package index

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// A Row is a memory and what the index knows about it.
type Row struct {
	fold.Memory
	Described   string // "fold": has a file below fold/; "index": kept here only
	ContentHash string // of the file's bytes; of a memory that is described in the index only see [Index.Memory]
	Stale       bool   // the source file differs from what was described
	Seq         int64  // of the last change to it, its chunks or its links; set by Apply
	TextSeq     int64  // of the last change of its text, see TextChange; set by Apply
}

// more is what memories.more holds: the part of a memory that has no column.
type more struct {
	Aliases      []string         `json:"aliases"`
	Tags         []string         `json:"tags"`
	Keywords     []string         `json:"keywords"`
	Links        []fold.Link      `json:"links"`
	ByName       []fold.NamedLink `json:"by_name,omitempty"`
	OriginalDate string           `json:"original_date,omitempty"`
	Importance   float64          `json:"importance,omitempty"`
	Session      string           `json:"session,omitempty"`
	Agent        string           `json:"agent,omitempty"`
	Commit       string           `json:"commit,omitempty"`
	MovedFrom    string           `json:"moved_from,omitempty"`
	Layer        string           `json:"layer,omitempty"`
	Visibility   string           `json:"visibility,omitempty"`
	Foreign      string           `json:"foreign,omitempty"`
	CreatedAt    time.Time        `json:"created_at,omitzero"` // where the columns, microseconds in UTC, do not say it exactly
	UpdatedAt    time.Time        `json:"updated_at,omitzero"`
}

// subMicroseconds returns t if its column, microseconds in UTC, does not say all of it,
// else the zero time.
func subMicroseconds(t time.Time) time.Time {
	if t.Location() == time.UTC && t.Nanosecond()%1000 == 0 {
		return time.Time{}
	}
	return t
}

// restoreTime returns a time as it was before it was stored: rest is what subMicroseconds returned.
func restoreTime(micro int64, rest time.Time) time.Time {
	if rest.IsZero() {
		return time.UnixMicro(micro).UTC()
	}
	return rest
}

// memoryColumns are the columns of memories in the order of values and scan.
const memoryColumns = `id, path, title, title_key, memory_type, source, author, context, file_path, language, source_blob,
	slug, subject, relation, object, body, find, more, created_at, updated_at, pinned, note, deleted,
	described, content_hash, stale, said_seq, seq`

const memoryColumnCount = 28

// Places in memoryColumns.
const (
	columnID        = 0
	columnPath      = 1
	columnTitle     = 2
	columnType      = 4
	columnSource    = 5
	columnAuthor    = 6
	columnContext   = 7
	columnFilePath  = 8
	columnLanguage  = 9
	columnBlob      = 10
	columnBody      = 15
	columnMore      = 17
	columnCreated   = 18
	columnUpdated   = 19
	columnDescribed = 23
	columnHash      = 24
	columnStale     = 25
	columnTextSeq   = memoryColumnCount - 2
	columnSeq       = memoryColumnCount - 1
)

// values returns the row as it is stored.
func (r *Row) values() ([]any, error) {
	rest := more{
		Aliases: r.Aliases, Tags: r.Tags, Keywords: r.Keywords, Links: r.Links, ByName: r.ByName,
		OriginalDate: r.OriginalDate, Importance: r.Importance, Session: r.Session, Agent: r.Agent, Commit: r.Commit,
		MovedFrom: r.MovedFrom, Layer: r.Layer, Visibility: r.Visibility, Foreign: r.Foreign,
		CreatedAt: subMicroseconds(r.CreatedAt), UpdatedAt: subMicroseconds(r.UpdatedAt),
	}
	b, err := rest.marshal()
	if err != nil {
		return nil, fmt.Errorf("memory %s: %w: %w", r.ID, fold.ErrInvalid, err)
	}
	find := strings.ToLower(r.Title + "\n" + r.Path + "\n" + r.FilePath + "\n" + r.Context)
	return []any{
		string(r.ID), r.Path, r.Title, strings.ToLower(r.Title), r.Type, string(r.Source), r.Author, r.Context, r.FilePath,
		r.Language, r.SourceBlob, r.Slug, r.Subject, r.Relation, r.Object, r.Body, find, string(b),
		r.CreatedAt.UnixMicro(), r.UpdatedAt.UnixMicro(), bit(r.Pinned), bit(r.Note), bit(r.Deleted),
		r.Described, r.ContentHash, bit(r.Stale), r.TextSeq, r.Seq,
	}, nil
}

// scanRow reads memoryColumns.
func scanRow(scan func(...any) error) (Row, error) {
	var r Row
	var titleKey, find, rest string
	var created, updated int64
	err := scan(&r.ID, &r.Path, &r.Title, &titleKey, &r.Type, &r.Source, &r.Author, &r.Context, &r.FilePath,
		&r.Language, &r.SourceBlob, &r.Slug, &r.Subject, &r.Relation, &r.Object, &r.Body, &find, &rest,
		&created, &updated, &r.Pinned, &r.Note, &r.Deleted,
		&r.Described, &r.ContentHash, &r.Stale, &r.TextSeq, &r.Seq)
	if err != nil {
		return r, err
	}
	var m more
	if err := json.Unmarshal([]byte(rest), &m); err != nil {
		return r, fmt.Errorf("memory %s: %w: %w", r.ID, sqlite.ErrDamaged, err)
	}
	r.Aliases, r.Tags, r.Keywords, r.Links, r.ByName = m.Aliases, m.Tags, m.Keywords, m.Links, m.ByName
	r.OriginalDate, r.Importance, r.Session, r.Agent, r.Commit = m.OriginalDate, m.Importance, m.Session, m.Agent, m.Commit
	r.MovedFrom, r.Layer, r.Visibility, r.Foreign = m.MovedFrom, m.Layer, m.Visibility, m.Foreign
	r.CreatedAt, r.UpdatedAt = restoreTime(created, m.CreatedAt), restoreTime(updated, m.UpdatedAt)
	return r, nil
}

// entry is what links may call the memory.
func (r *Row) entry() fold.ResolverEntry {
	return fold.ResolverEntry{ID: r.ID, Path: r.Path, Title: r.Title, Aliases: r.Aliases, Foreign: r.Foreign}
}

// linking returns the names by which the memory links, each once.
func (r *Row) linking() []string {
	if r.Described != "fold" {
		return nil
	}
	names := r.LinkNames()
	slices.Sort(names)
	return slices.Compact(names)
}

// bit returns b as it is stored.
func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
