// Package index keeps index.db of one checkout: what its files say, as rows of
// memories, chunks and links, and the manifest of the files they come from. All of it can be made again from the files, so the file may be
// deleted at any time: one that is damaged or of another format is begun anew.
package index

import (
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed"
	"encoding/hex"
	"errors"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/lru"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// A DB is index.db. Exported methods that write are one transaction each. Safe for
// concurrent use; reads go on while one write is under way.
type DB struct {
	db *sqlite.DB

	fileVersions [2]atomic.Int64 // of the manifest of source files, and of that of fold/; see FilesVersion
	version      atomic.Int64    // of all that is counted
	counted      atomic.Pointer[countedAt]

	// Rebuilt says, if not empty, why the index was begun anew: everything
	// must be ingested again.
	Rebuilt string
	// Generation is random and new with each rebuild. An index beside this one
	// that was fed from another generation must be rebuilt, too.
	Generation string

	// What was read lately. It is dropped with the handle, when nobody has searched
	// the checkout for some minutes.
	stats     rowCache[memoryStats] // what the ranker asks of every memory that was found
	spans     rowCache[[]span]      // likewise of those with several chunks
	summaries rowCache[*Summary]    // what searches showed
	chunks    rowCache[string]      // the chunks of memories, as they are stored

	inBulk atomic.Bool // indexes are missing, or may be; see BeginBulk
}

//go:embed schema.sql
var schema string

// format is the number of schema.sql and deferred.sql. A file of another number is
// deleted and rebuilt.
const format = 13

// What is held of what was read lately: memories, where each takes little (stats
// some 170 bytes, spans 16 for a chunk), else bytes.
const (
	heldMemories = 1 << 15
	summaryBytes = 16 << 20
	chunkBytes   = 2 << 20
)

// checkLimit bounds the look at the whole file after a crash. It passes 100 MB in
// about half a second.
const checkLimit = 5 * time.Second

// Open opens or creates dir/index.db. What is damaged is set aside as
// index.db.damaged, and what has another format number deleted; both begin anew
// and say so in Rebuilt.
//
// Close leaves a checksum of the file beside it, so that damage of any kind,
// also an older copy put in its place, is found when it is opened again. After
// a crash there is none, and SQLite's own check runs.
func Open(ctx context.Context, dir string) (*DB, error) {
	file := sqlite.Derived{Path: filepath.Join(dir, "index.db"), Schema: schema, Format: format}
	missing, err := sqlite.Missing(file.Path)
	if err != nil {
		return nil, err
	}
	x, err := open(ctx, file, missing)
	if err == nil {
		return x, nil
	}
	reason := err.Error()
	if err := file.Discard(err); err != nil {
		return nil, err
	}
	if x, err = open(ctx, file, true); err != nil {
		return nil, err
	}
	x.Rebuilt = reason
	return x, nil
}

// open opens the file, or makes one where it is missing.
func open(ctx context.Context, file sqlite.Derived, missing bool) (*DB, error) {
	closedWell := false
	if !missing {
		var err error
		if closedWell, err = checkSum(file.Path); err != nil {
			return nil, err
		}
	} else if err := removeSum(file.Path); err != nil {
		return nil, err
	}
	d, created, err := file.Open(ctx)
	if err != nil {
		return nil, err
	}
	x := &DB{
		db:        d,
		stats:     rowCache[memoryStats]{rows: lru.Cache[fold.ID, memoryStats]{MaxLen: heldMemories}},
		spans:     rowCache[[]span]{rows: lru.Cache[fold.ID, []span]{MaxLen: heldMemories}},
		summaries: rowCache[*Summary]{rows: lru.Cache[fold.ID, *Summary]{MaxCost: summaryBytes, Cost: (*Summary).size}},
		chunks:    rowCache[string]{rows: lru.Cache[fold.ID, string]{MaxCost: chunkBytes, Cost: sizeOfChunks}},
	}
	if created && !missing {
		x.Rebuilt = "index.db was empty"
	}
	if !missing && !closedWell {
		err = d.Check(ctx, "quick_check", checkLimit)
	}
	if err == nil {
		err = x.readGeneration(ctx)
	}
	if err == nil {
		err = x.openBulk(ctx, created)
	}
	if err == nil {
		// From here on the file changes; the write above made the -wal.
		err = removeSum(file.Path)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return x, nil
}

// readGeneration sets x.Generation; a new index is given one.
func (x *DB) readGeneration(ctx context.Context) error {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return x.db.Write(ctx, "open", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `insert into meta (key, value) values ('generation', ?), ('seq', '0'), ('chunks', '0') on conflict do nothing`,
			hex.EncodeToString(b[:]))
		if err != nil {
			return err
		}
		// The write makes SQLite's log exist for as long as the file is open.
		if _, err := tx.ExecContext(ctx, `insert into meta (key, value) values ('opened', '1')
			on conflict do update set value = value + 1`); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `select value from meta where key = 'generation'`).Scan(&x.Generation)
	})
}

// Close writes everything into the one file, leaves its checksum, and lets go
// of it. The context of calls still under way should have ended.
func (x *DB) Close() error {
	if x.db.FlushLog() {
		// Without it the next start takes longer, nothing else.
		_ = writeSum(x.db.Path())
	}
	return x.db.Close()
}

// OnDamage has fn called when an operation finds the file damaged, whoever asked
// for it. Fn must return soon and must not use the index. Nil calls nothing, as
// before the first call.
func (x *DB) OnDamage(fn func(error)) { x.db.OnDamage(fn) }
