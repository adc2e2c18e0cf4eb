package index

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// A Summary is what a search shows of a memory. All who ask for it share it: it
// must not be changed.
type Summary struct {
	ID        fold.ID
	Path      string
	Title     string
	Type      string
	Source    fold.Source
	Author    string
	FilePath  string
	Language  string
	Body      string
	Tags      []string
	CreatedAt time.Time
	UpdatedAt time.Time
	Stale     bool
}

// size is about how many bytes are held for c.
func (c *Summary) size() int {
	const fixed = 400 // the summary itself, its place in the cache, the headers of its strings
	n := fixed + len(c.Path) + len(c.Title) + len(c.Type) + len(c.Source) + len(c.Author) + len(c.FilePath) + len(c.Language) + len(c.Body)
	for _, t := range c.Tags {
		n += 16 + len(t)
	}
	return n
}

// summaryMore is what a summary has of [more].
type summaryMore struct {
	Tags      []string  `json:"tags"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// Summaries returns the summaries of those of ids that exist.
func (x *DB) Summaries(ctx context.Context, ids []fold.ID) (map[fold.ID]*Summary, error) {
	all := make(map[fold.ID]*Summary, len(ids))
	held := make([]*Summary, len(ids))
	missing, drops := x.summaries.get(ids, held)
	for i, c := range held {
		if c != nil {
			all[ids[i]] = c
		}
	}
	if len(missing) == 0 {
		return all, nil
	}
	read := make(map[fold.ID]*Summary, len(missing))
	err := x.db.Each(ctx, "read summaries", func(scan func(...any) error) error {
		c := &Summary{}
		var rest []byte
		var created, updated int64
		if err := scan(&c.ID, &c.Path, &c.Title, &c.Type, &c.Source, &c.Author, &c.FilePath, &c.Language, &c.Body, &rest,
			&created, &updated, &c.Stale); err != nil {
			return err
		}
		var m summaryMore
		if err := json.Unmarshal(rest, &m); err != nil {
			return fmt.Errorf("memory %s: %w: %w", c.ID, sqlite.ErrDamaged, err)
		}
		c.Tags, c.CreatedAt, c.UpdatedAt = m.Tags, restoreTime(created, m.CreatedAt), restoreTime(updated, m.UpdatedAt)
		all[c.ID], read[c.ID] = c, c
		return nil
	}, `select id, path, title, memory_type, source, author, file_path, language, body, more, created_at, updated_at, stale
		from memories where id in (select value from json_each(?))`, sqlite.List(idsAt(ids, missing)))
	if err != nil {
		return nil, err
	}
	x.summaries.put(read, drops)
	return all, nil
}
