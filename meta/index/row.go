package meta

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Row is a memory and what the index knows about it.
type Row struct {
	fold.Memory
	Described   string // "fold": has a file below fold/; "index": kept here only
	ContentHash string // of the file's bytes; of a memory that is described in the index only see [Index.Memory]
	Stale       bool   // the source file differs from what was described
	Seq         int64  // of the last change to it, its chunks or its links; set by Apply
	SaidSeq     int64  // of the last change of its words, see said; set by Apply
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

// inexact returns t if its column does not say all of it, else the zero time.
func inexact(t time.Time) time.Time {
	if t.Location() == time.UTC && t.Nanosecond()%1000 == 0 {
		return time.Time{}
	}
	return t
}

// exactly returns a time as it was before it was stored.
func exactly(micro int64, rest time.Time) time.Time {
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
	columnSaidSeq   = memoryColumnCount - 2
	columnSeq       = memoryColumnCount - 1
)

// values returns the row as it is stored.
func (r *Row) values() ([]any, error) {
	rest := more{
		Aliases: r.Aliases, Tags: r.Tags, Keywords: r.Keywords, Links: r.Links, ByName: r.ByName,
		OriginalDate: r.OriginalDate, Importance: r.Importance, Session: r.Session, Agent: r.Agent, Commit: r.Commit,
		MovedFrom: r.MovedFrom, Layer: r.Layer, Visibility: r.Visibility, Foreign: r.Foreign,
		CreatedAt: inexact(r.CreatedAt), UpdatedAt: inexact(r.UpdatedAt),
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
		r.Described, r.ContentHash, bit(r.Stale), r.SaidSeq, r.Seq,
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
		&r.Described, &r.ContentHash, &r.Stale, &r.SaidSeq, &r.Seq)
	if err != nil {
		return r, err
	}
	var m more
	if err := json.Unmarshal([]byte(rest), &m); err != nil {
		return r, fmt.Errorf("memory %s: %w: %w", r.ID, ErrDamaged, err)
	}
	r.Aliases, r.Tags, r.Keywords, r.Links, r.ByName = m.Aliases, m.Tags, m.Keywords, m.Links, m.ByName
	r.OriginalDate, r.Importance, r.Session, r.Agent, r.Commit = m.OriginalDate, m.Importance, m.Session, m.Agent, m.Commit
	r.MovedFrom, r.Layer, r.Visibility, r.Foreign = m.MovedFrom, m.Layer, m.Visibility, m.Foreign
	r.CreatedAt, r.UpdatedAt = exactly(created, m.CreatedAt), exactly(updated, m.UpdatedAt)
	return r, nil
}

// A File is one path of the manifest.
type File struct {
	Path      string // below fold/ if Fold, else relative to the checkout
	Fold      bool
	Size      int64
	MtimeNS   int64
	Inode     uint64
	Hash      string // SHA-256 of the bytes, hex
	Blob      string // git blob id
	MemoryID  fold.ID
	State     string // indexed, skipped, failed or quarantined
	Reason    string
	Truncated bool
	Seq       int64 // of the change that put it; set by Apply
}

const fileColumns = `fold, path, size, mtime_ns, inode, hash, blob, memory_id, state, reason, truncated, seq`

const fileColumnCount = 12

func (f *File) values(seq int64) []any {
	return []any{
		bit(f.Fold), f.Path, f.Size, f.MtimeNS, int64(f.Inode), f.Hash, f.Blob, string(f.MemoryID), f.State, f.Reason,
		bit(f.Truncated), seq,
	}
}

func scanFile(scan func(...any) error) (File, error) {
	var f File
	var inode int64
	err := scan(&f.Fold, &f.Path, &f.Size, &f.MtimeNS, &inode, &f.Hash, &f.Blob, &f.MemoryID, &f.State, &f.Reason,
		&f.Truncated, &f.Seq)
	f.Inode = uint64(inode)
	return f, err
}

const linkColumns = `from_id, id, derived, to_id, link_type, context, evidence, weight`

const linkColumnCount = 8

func linkValues(l *fold.Link) []any {
	return []any{string(l.From), l.ID(), bit(l.Derived), string(l.To), string(l.Type), l.Context, l.Evidence, l.Weight}
}

func scanLink(scan func(...any) error) (fold.Link, error) {
	var l fold.Link
	var id string
	err := scan(&l.From, &id, &l.Derived, &l.To, &l.Type, &l.Context, &l.Evidence, &l.Weight)
	return l, err
}
