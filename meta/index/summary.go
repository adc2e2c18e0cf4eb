package meta

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Card is what a search shows of a memory. It is shared by all who ask for it, and
// must not be changed.
type Card struct {
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

// cardRoom is how many bytes of cards an index holds of those asked for lately, and
// as many of before; chunkRoom likewise of chunks as they are stored. With the stores
// of a checkout they go when nobody has searched it for some minutes.
const (
	cardRoom  = 8 << 20
	chunkRoom = 1 << 20
)

// size is about how many bytes are held for c.
func (c *Card) size() int {
	const fixed = 400 // the card itself, its place in the memo, the ends of its strings
	n := fixed + len(c.Path) + len(c.Title) + len(c.Type) + len(c.Source) + len(c.Author) + len(c.FilePath) + len(c.Language) + len(c.Body)
	for _, t := range c.Tags {
		n += 16 + len(t)
	}
	return n
}

// cardMore is what a card has of [more].
type cardMore struct {
	Tags      []string  `json:"tags"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// Cards returns the cards of those of ids that exist.
func (x *Index) Cards(ctx context.Context, ids []fold.ID) (map[fold.ID]*Card, error) {
	all := make(map[fold.ID]*Card, len(ids))
	held := make([]*Card, len(ids))
	missing, drops := x.cards.take(ids, held)
	for i, c := range held {
		if c != nil {
			all[ids[i]] = c
		}
	}
	if len(missing) == 0 {
		return all, nil
	}
	read := make(map[fold.ID]*Card, len(missing))
	err := x.db.each(ctx, "read cards", func(scan func(...any) error) error {
		c := &Card{}
		var rest []byte
		var created, updated int64
		if err := scan(&c.ID, &c.Path, &c.Title, &c.Type, &c.Source, &c.Author, &c.FilePath, &c.Language, &c.Body, &rest,
			&created, &updated, &c.Stale); err != nil {
			return err
		}
		var m cardMore
		if err := json.Unmarshal(rest, &m); err != nil {
			return fmt.Errorf("memory %s: %w: %w", c.ID, ErrDamaged, err)
		}
		c.Tags, c.CreatedAt, c.UpdatedAt = m.Tags, exactly(created, m.CreatedAt), exactly(updated, m.UpdatedAt)
		all[c.ID], read[c.ID] = c, c
		return nil
	}, `select id, path, title, memory_type, source, author, file_path, language, body, more, created_at, updated_at, stale
		from memories where id in (select value from json_each(?))`, list(pick(ids, missing)))
	if err != nil {
		return nil, err
	}
	x.cards.put(read, drops)
	return all, nil
}
