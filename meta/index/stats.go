package index

import (
	"context"
	"slices"
	"time"
	"unique"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// Stats are what the ranker asks of every memory that was found.
type Stats struct {
	Type     string
	Language string // of the source file it describes; "" if not known or none
	Updated  time.Time
	Pinned   bool
	Known    bool // there is such a memory
}

// memoryStats are what is held of a memory.
type memoryStats struct {
	Stats
	session string // "" for none
}

// Stats returns the stats of ids, in their order; those of unknown ones are zero.
func (x *DB) Stats(ctx context.Context, ids []fold.ID) ([]Stats, error) {
	held, err := x.statsOf(ctx, ids)
	all := make([]Stats, len(held))
	for i := range held {
		all[i] = held[i].Stats
	}
	return all, err
}

func (x *DB) statsOf(ctx context.Context, ids []fold.ID) ([]memoryStats, error) {
	all := make([]memoryStats, len(ids))
	missing, drops := x.stats.get(ids, all)
	if len(missing) == 0 {
		return all, nil
	}
	read := make(map[fold.ID]memoryStats, len(missing))
	for _, i := range missing {
		read[ids[i]] = memoryStats{} // that it is not known is held, too
	}
	err := x.db.Each(ctx, "read stats", func(scan func(...any) error) error {
		var id fold.ID
		p := memoryStats{Stats: Stats{Known: true}}
		var updated int64
		if err := scan(&id, &p.Type, &p.Language, &updated, &p.Pinned, &p.session); err != nil {
			return err
		}
		p.Type, p.Language, p.session = unique.Make(p.Type).Value(), unique.Make(p.Language).Value(), unique.Make(p.session).Value()
		p.Updated = sqlite.Time(updated)
		read[id] = p
		return nil
	}, `select id, memory_type, language, updated_at, pinned, coalesce(json_extract(more, '$.session'), '')
		from memories where id in (select value from json_each(?))`, sqlite.List(idsAt(ids, missing)))
	if err != nil {
		return nil, err
	}
	x.stats.put(read, drops)
	for _, i := range missing {
		all[i] = read[ids[i]]
	}
	return all, nil
}

// maxMembers bounds the memories that Sessions returns.
const maxMembers = 10_000

// Sessions returns the memories of every session that a memory of ids belongs
// to, in the order in which they were made. Memories without a session belong to none.
func (x *DB) Sessions(ctx context.Context, ids []fold.ID) (map[string][]fold.ID, error) {
	members := map[string][]fold.ID{}
	held, err := x.statsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	var asked []string
	for i := range held {
		if s := held[i].session; s != "" && !slices.Contains(asked, s) {
			asked = append(asked, s)
		}
	}
	if len(asked) == 0 {
		return members, nil
	}
	err = x.db.Each(ctx, "sessions", func(scan func(...any) error) error {
		var id fold.ID
		var session string
		if err := scan(&id, &session); err != nil {
			return err
		}
		members[session] = append(members[session], id)
		return nil
	}, `with asked(session) as materialized (select value from json_each(?))
		select m.id, asked.session from asked join memories m on json_extract(m.more, '$.session') = asked.session
		where json_extract(m.more, '$.session') is not null
		order by asked.session, m.created_at, m.id limit ?`, sqlite.List(asked), maxMembers)
	return members, err
}
