package index

import (
	"context"
	"database/sql"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

const chunkColumns = `memory_id, chunks`

const chunkColumnCount = 2

// scanChunks reads chunkColumns.
func scanChunks(scan func(...any) error) (fold.ID, []fold.Chunk, error) {
	var id fold.ID
	var value []byte
	if err := scan(&id, &value); err != nil {
		return id, nil, err
	}
	chunks, err := decodeChunks(id, value)
	return id, chunks, err
}

// ChunksOf returns the chunks of memories, each in the order of the file.
func (x *DB) ChunksOf(ctx context.Context, ids []fold.ID) (map[fold.ID][]fold.Chunk, error) {
	all := make(map[fold.ID][]fold.Chunk, len(ids))
	err := x.eachChunks(ctx, ids, func(id fold.ID, value string) error {
		chunks, err := decodeSome(id, value, nil, nil)
		all[id] = chunks
		return err
	})
	return all, err
}

// eachChunks calls fn with the stored chunks of each of memories that has some.
func (x *DB) eachChunks(ctx context.Context, memories []fold.ID, fn func(id fold.ID, value string) error) error {
	if len(memories) == 0 {
		return nil
	}
	return x.db.Each(ctx, "read chunks", func(scan func(...any) error) error {
		var id fold.ID
		var value sql.RawBytes // is read before the next row is
		if err := scan(&id, &value); err != nil {
			return err
		}
		return fn(id, string(value))
	}, `select `+chunkColumns+` from chunks where memory_id in (select value from json_each(?))`, sqlite.List(memories))
}

// sizeOfChunks is about how many bytes it takes to hold chunks as they are stored.
func sizeOfChunks(value string) int { return 100 + len(value) }

// ChunksByID returns those of the chunks that exist, by their ids. Memories are
// the ones that they belong to, each once.
func (x *DB) ChunksByID(ctx context.Context, memories []fold.ID, ids []string) (map[string]fold.Chunk, error) {
	all := make(map[string]fold.Chunk, len(ids))
	if len(ids) == 0 {
		return all, nil
	}
	want := make(map[string]bool, len(ids))
	for _, id := range ids {
		want[id] = true
	}
	var room []string
	decode := func(id fold.ID, value string) error {
		chunks, err := decodeSome(id, value, want, &room)
		for i := range chunks {
			all[chunks[i].ID] = chunks[i]
		}
		return err
	}
	values := make([]string, len(memories))
	missing, drops := x.chunks.get(memories, values)
	for i, value := range values {
		if value == "" {
			continue
		}
		if err := decode(memories[i], value); err != nil {
			return nil, err
		}
	}
	if len(missing) == 0 {
		return all, nil
	}
	read := make(map[fold.ID]string, len(missing))
	for _, i := range missing {
		read[memories[i]] = "" // that it has none is held, too
	}
	err := x.eachChunks(ctx, idsAt(memories, missing), func(id fold.ID, value string) error {
		read[id] = value
		return decode(id, value)
	})
	if err != nil {
		return nil, err
	}
	x.chunks.put(read, drops)
	return all, nil
}
