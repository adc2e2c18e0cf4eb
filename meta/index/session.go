package meta

import (
	"context"
	"slices"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// maxMembers bounds the memories that Sessions returns.
const maxMembers = 10_000

// Sessions returns the memories of every session that a memory of ids belongs
// to, as they followed each other. Memories without a session belong to none.
func (x *Index) Sessions(ctx context.Context, ids []fold.ID) (map[string][]fold.ID, error) {
	members := map[string][]fold.ID{}
	held, err := x.pulsesOf(ctx, ids)
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
	err = x.db.each(ctx, "sessions", func(scan func(...any) error) error {
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
		order by asked.session, m.created_at, m.id limit ?`, list(asked), maxMembers)
	return members, err
}
