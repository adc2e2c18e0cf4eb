package index

import (
	"context"
	"database/sql"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/sqlite"
)

// An applyTx is one transaction of [DB.Apply]. It goes in batches, in each of which
// no memory occurs twice: what is stored of its memories is read at once, and only
// differences are written.
type applyTx struct {
	tx     *sql.Tx
	seq    int64
	tables tableWriters
	batch  batchState

	fileCount int                      // rows of the manifest that changed
	touched   map[fold.ID]bool         // memories that changed: whether their row has the new seq already
	forgotten map[fold.ID]bool         // and not put again
	keys      map[string]bool          // chunk ids: true added, false removed
	count     int                      // how many chunks more there are than before
	buf       []byte                   // for encodeChunks
	was, now  map[fold.ID][]fold.Chunk // see Applied
	rows      map[fold.ID]RowChange    // see Applied
}

// A batchState is what is stored of the memories of one batch, and what is to be.
type batchState struct {
	rows      map[fold.ID][]any       // as stored
	newRows   map[fold.ID][]any       // as they are to be stored
	chunks    map[fold.ID][]byte      // as stored
	links     map[fold.ID][]fold.Link // of those whose links may differ
	sameLinks map[fold.ID]bool        // memories whose written links are known not to differ
}

// tableWriters write the rows of a transaction, many with one statement.
type tableWriters struct {
	memories *sqlite.Inserter
	updates  map[string]*sql.Stmt // of memories, by the columns they set
	tags     *sqlite.Inserter
	names    *sqlite.Inserter
	linking  *sqlite.Inserter
	links    *sqlite.Inserter
	chunks   *sqlite.Inserter
	files    *sqlite.Inserter
	asked    *sqlite.Inserter
}

func newApplyTx(tx *sql.Tx) *applyTx {
	return &applyTx{
		tx: tx,
		tables: tableWriters{
			memories: sqlite.NewInserter("insert or replace into memories ("+memoryColumns+") values ", memoryColumnCount, 50),
			updates:  make(map[string]*sql.Stmt),
			tags:     sqlite.NewInserter("insert or ignore into memory_tags (memory_id, tag) values ", 2, 100),
			names:    sqlite.NewInserter("insert or ignore into memory_names (memory_id, name) values ", 2, 100),
			linking:  sqlite.NewInserter("insert or ignore into memory_linking (memory_id, name) values ", 2, 100),
			links:    sqlite.NewInserter("insert or replace into memory_links ("+linkColumns+") values ", linkColumnCount, 100),
			chunks:   sqlite.NewInserter("insert or replace into chunks ("+chunkColumns+") values ", chunkColumnCount, 100),
			files:    sqlite.NewInserter("insert or replace into files ("+fileColumns+") values ", fileColumnCount, 100),
			asked:    sqlite.NewInserter("insert or replace into asked (memory_id, record) values ", 2, 100),
		},
		touched: make(map[fold.ID]bool), forgotten: make(map[fold.ID]bool), keys: make(map[string]bool),
		was: make(map[fold.ID][]fold.Chunk), now: make(map[fold.ID][]fold.Chunk), rows: make(map[fold.ID]RowChange),
	}
}

func (w *tableWriters) inserters() []*sqlite.Inserter {
	return []*sqlite.Inserter{w.memories, w.tags, w.names, w.linking, w.links, w.chunks, w.files, w.asked}
}

func (w *tableWriters) flush(ctx context.Context, tx *sql.Tx) error {
	for _, in := range w.inserters() {
		if err := in.Flush(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

func (w *tableWriters) close() {
	for _, in := range w.inserters() {
		in.Close()
	}
	for _, stmt := range w.updates {
		_ = stmt.Close() // its error would repeat one already seen
	}
}

// each calls fn for each row that query finds of ids.
func (a *applyTx) each(ctx context.Context, query string, ids []fold.ID, fn func(scan func(...any) error) error) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := a.tx.QueryContext(ctx, query, sqlite.List(ids))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// touch notes that a memory changed.
func (a *applyTx) touch(id fold.ID) {
	if _, touched := a.touched[id]; !touched {
		a.touched[id] = false
	}
	delete(a.forgotten, id)
}
