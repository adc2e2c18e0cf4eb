package meta

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Change is what became of one path or memory. Apply takes many and applies
// them in one transaction.
type Change struct {
	// ID is the memory that Chunks, Links and Derived belong to. Empty means
	// that of Memory, else File.MemoryID.
	ID fold.ID

	File     *File  // row of the manifest to put; nil leaves it
	Drop     string // path of the manifest to delete
	DropFold bool   // Drop is below fold/

	Memory *Row // to put or replace; nil leaves it

	Chunks    []fold.Chunk // all chunks of the memory
	SetChunks bool         // replace them; those with equal ids stay as they are

	// Links are the written links from the memory; those of one that is described
	// in the index only are what Memory says, and are set together with it.
	Links      []fold.Link
	SetLinks   bool        // replace them
	Derived    []fold.Link // derived links from the memory
	SetDerived bool        // replace them

	Forget fold.ID // memory to delete, with its chunks and the links from it; links to it stay and dangle
}

// About returns the memory that the change is about, "" if none.
func (c *Change) About() fold.ID {
	switch {
	case c.ID != "":
		return c.ID
	case c.Memory != nil:
		return c.Memory.ID
	case c.File != nil:
		return c.File.MemoryID
	}
	return ""
}

// Applied tells what Apply changed. What was equal already is not in it.
type Applied struct {
	Seq       int64     // of this change, or of the last one if nothing changed
	Added     []string  // chunk ids
	Removed   []string  // chunk ids, also of forgotten memories
	Memories  []fold.ID // whose row, chunks or links changed
	Forgotten []fold.ID
	// Was are the chunks that memories had, of those that have others now.
	Was map[fold.ID][]fold.Chunk
	// Now are the chunks, as they are stored, of the memories whose chunks were
	// to be replaced and that have some, whether they changed or not.
	Now map[fold.ID][]fold.Chunk
	// Rows says of the memories that were put what became of them.
	Rows map[fold.ID]RowChange
}

// A RowChange is how a memory differs from what it was: in all, if it was not there.
type RowChange struct {
	Refiled bool      // searches are narrowed by another path, source, type, author, language or tag
	Retold  bool      // more is other than its blob, its times, and whether it is stale
	Was     time.Time // when it was updated before; zero if it was not there
}

// Apply applies changes, in their order, in one transaction. Every memory it
// touches gets the same new Seq; a change that changes nothing touches nothing.
// Keys that went are remembered for ChangedSince.
func (x *Index) Apply(ctx context.Context, changes []Change) (Applied, error) {
	var done Applied
	if len(changes) == 0 {
		seq, err := x.Seq(ctx)
		return Applied{Seq: seq}, err
	}
	x.db.makeRoom(ctx, len(changes))
	err := x.db.write(ctx, "apply", func(tx *sql.Tx) error {
		done = Applied{}
		// Two changes of one memory must see each other: they go in rounds.
		a := newApply(tx)
		defer a.close()
		if err := tx.QueryRowContext(ctx, `select value + 1 from meta where key = 'seq'`).Scan(&a.seq); err != nil {
			return err
		}
		for batch := range rounds(changes) {
			if err := a.round(ctx, batch); err != nil {
				return err
			}
		}
		if err := a.finish(ctx); err != nil {
			return err
		}
		done = a.applied()
		return nil
	})
	var source, inFold bool
	for i := range changes {
		f := changes[i].File
		source = source || f != nil && !f.Fold || changes[i].Drop != "" && !changes[i].DropFold
		inFold = inFold || f != nil && f.Fold || changes[i].Drop != "" && changes[i].DropFold
	}
	x.moved(source, inFold)
	x.forgetRead(changes) // an error, too, may come of a transaction that was done
	if err != nil {
		return Applied{}, err
	}
	return done, nil
}

// forgetRead drops what is held of memories that changes are about.
func (x *Index) forgetRead(changes []Change) {
	ids := make([]fold.ID, 0, len(changes))
	for i := range changes {
		for _, id := range [...]fold.ID{changes[i].About(), changes[i].Forget} {
			if id != "" {
				ids = append(ids, id)
			}
		}
	}
	x.pulses.drop(ids)
	x.spans.drop(ids)
	x.cards.drop(ids)
	x.chunks.drop(ids)
}

// roundMax bounds what is compared at once, and so memory.
const roundMax = 512

// rounds cuts changes into runs in which no memory occurs twice.
func rounds(changes []Change) func(yield func([]Change) bool) {
	return func(yield func([]Change) bool) {
		seen := make(map[fold.ID]bool)
		start := 0
		for i := range changes {
			ids := [2]fold.ID{changes[i].About(), changes[i].Forget}
			if i-start >= roundMax || ids[0] != "" && seen[ids[0]] || ids[1] != "" && seen[ids[1]] {
				if !yield(changes[start:i]) {
					return
				}
				start = i
				clear(seen)
			}
			seen[ids[0]], seen[ids[1]] = true, true
		}
		if start < len(changes) {
			yield(changes[start:])
		}
	}
}

// An apply is the state of one transaction.
type apply struct {
	tx       *sql.Tx
	seq      int64
	memories *inserter
	updates  map[string]*sql.Stmt // of memories, by the columns they set
	tags     *inserter
	names    *inserter
	linking  *inserter
	links    *inserter
	chunks   *inserter
	files    *inserter

	files0    int              // rows of the manifest that changed
	touched   map[fold.ID]bool // by this transaction: whether their row has its seq already
	forgotten map[fold.ID]bool // and not put again
	keys      map[string]bool  // chunk ids: true added, false removed
	count     int              // how many chunks more there are
	buf       []byte
	was, now  map[fold.ID][]fold.Chunk // see Applied
	rows      map[fold.ID]RowChange    // see Applied
	oldRows   map[fold.ID][]any        // of the round, as stored
	newRows   map[fold.ID][]any        // of the round, as they are to be stored
	oldChunks map[fold.ID][]byte       // as stored
	oldLinks  map[fold.ID][]fold.Link  // of those whose links may be others
	linked    map[fold.ID]bool         // of the round: their written links are known to be the same
}

func newApply(tx *sql.Tx) *apply {
	return &apply{
		tx:       tx,
		memories: newInserter("insert or replace into memories ("+memoryColumns+") values ", memoryColumnCount, 50),
		tags:     newInserter("insert or ignore into memory_tags (memory_id, tag) values ", 2, 100),
		names:    newInserter("insert or ignore into memory_names (memory_id, name) values ", 2, 100),
		linking:  newInserter("insert or ignore into memory_linking (memory_id, name) values ", 2, 100),
		links:    newInserter("insert or replace into memory_links ("+linkColumns+") values ", linkColumnCount, 100),
		chunks:   newInserter("insert or replace into chunks ("+chunkColumns+") values ", chunkColumnCount, 100),
		files:    newInserter("insert or replace into files ("+fileColumns+") values ", fileColumnCount, 100),
		updates:  make(map[string]*sql.Stmt),
		touched:  make(map[fold.ID]bool), forgotten: make(map[fold.ID]bool), keys: make(map[string]bool),
		was: make(map[fold.ID][]fold.Chunk), now: make(map[fold.ID][]fold.Chunk), rows: make(map[fold.ID]RowChange),
	}
}

func (a *apply) inserters() []*inserter {
	return []*inserter{a.memories, a.tags, a.names, a.linking, a.links, a.chunks, a.files}
}

func (a *apply) close() {
	for _, in := range a.inserters() {
		in.close()
	}
	for _, stmt := range a.updates {
		_ = stmt.Close() // its error would repeat one already seen
	}
}

// round applies changes in which no memory occurs twice: what is stored is read
// at once, then only differences are written.
func (a *apply) round(ctx context.Context, changes []Change) error {
	if err := a.load(ctx, changes); err != nil {
		return err
	}
	for i := range changes {
		c := &changes[i]
		if c.Forget != "" {
			if err := a.forget(ctx, c.Forget); err != nil {
				return err
			}
		}
		if err := a.file(ctx, c); err != nil {
			return err
		}
		id := c.About()
		if id == "" {
			if c.SetChunks || c.SetLinks || c.SetDerived {
				return fmt.Errorf("change without a memory: %w", fold.ErrInvalid)
			}
			continue
		}
		if c.Memory != nil {
			if err := a.memory(ctx, c.Memory); err != nil {
				return err
			}
		}
		if c.SetChunks {
			if err := a.setChunks(ctx, id, c.Chunks); err != nil {
				return err
			}
		}
		if c.SetLinks && !a.linked[id] {
			if err := a.setLinks(ctx, id, c.Links, false); err != nil {
				return err
			}
		}
		if c.SetDerived {
			if err := a.setLinks(ctx, id, c.Derived, true); err != nil {
				return err
			}
		}
	}
	for _, in := range a.inserters() {
		if err := in.flush(ctx, a.tx); err != nil {
			return err
		}
	}
	return nil
}

// load reads what the round's memories have now.
func (a *apply) load(ctx context.Context, changes []Change) error {
	var rows, chunks []fold.ID
	for i := range changes {
		c := &changes[i]
		id := c.About()
		if c.Memory != nil {
			rows = append(rows, id)
		}
		if c.SetChunks {
			chunks = append(chunks, id)
		}
		if c.Forget != "" {
			rows = append(rows, c.Forget)
			chunks = append(chunks, c.Forget)
		}
	}
	a.oldRows = make(map[fold.ID][]any)
	a.newRows = make(map[fold.ID][]any, len(rows))
	a.oldChunks = make(map[fold.ID][]byte)
	err := a.each(ctx, `select `+memoryColumns+` from memories where id in (select value from json_each(?))`, rows,
		func(scan func(...any) error) error {
			values, err := scanValues(scan)
			if err == nil {
				a.oldRows[fold.ID(values[columnID].(string))] = values
			}
			return err
		})
	if err != nil {
		return err
	}
	err = a.each(ctx, `select `+chunkColumns+` from chunks where memory_id in (select value from json_each(?))`, chunks,
		func(scan func(...any) error) error {
			var id fold.ID
			var value []byte
			err := scan(&id, &value)
			a.oldChunks[id] = value
			return err
		})
	if err != nil {
		return err
	}
	return a.loadLinks(ctx, changes)
}

// loadLinks reads the links that the round's memories have now, of those whose
// links may be others: of thousands that a branch switch changes they are the
// same.
func (a *apply) loadLinks(ctx context.Context, changes []Change) error {
	a.oldLinks = make(map[fold.ID][]fold.Link)
	a.linked = make(map[fold.ID]bool)
	var links []fold.ID
	for i := range changes {
		c := &changes[i]
		if !c.SetLinks && !c.SetDerived {
			continue
		}
		same, err := a.sameLinks(c)
		if err != nil {
			return err
		}
		id := c.About()
		if a.linked[id] = same; c.SetDerived || !same {
			links = append(links, id)
		}
	}
	return a.each(ctx, `select `+linkColumns+` from memory_links where from_id in (select value from json_each(?))`, links,
		func(scan func(...any) error) error {
			l, err := scanLink(scan)
			a.oldLinks[l.From] = append(a.oldLinks[l.From], l)
			return err
		})
}

func (a *apply) each(ctx context.Context, query string, ids []fold.ID, fn func(scan func(...any) error) error) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := a.tx.QueryContext(ctx, query, list(ids))
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

// file puts or drops a row of the manifest.
func (a *apply) file(ctx context.Context, c *Change) error {
	if c.Drop != "" {
		_, err := a.tx.ExecContext(ctx, `delete from files where fold = ? and path = ?`, bit(c.DropFold), c.Drop)
		if err != nil {
			return err
		}
		a.files0++
	}
	if c.File == nil {
		return nil
	}
	a.files0++
	return a.files.add(ctx, a.tx, c.File.values(a.seq)...)
}

func (a *apply) setTags(ctx context.Context, id fold.ID, there bool, old, now []string) error {
	if there && !slices.Equal(old, now) {
		if _, err := a.tx.ExecContext(ctx, `delete from memory_tags where memory_id = ?`, string(id)); err != nil {
			return err
		}
	} else if there {
		return nil
	}
	for _, tag := range now {
		if err := a.tags.add(ctx, a.tx, string(id), strings.ToLower(tag)); err != nil {
			return err
		}
	}
	return nil
}

func (a *apply) touch(id fold.ID) {
	if _, touched := a.touched[id]; !touched {
		a.touched[id] = false
	}
	delete(a.forgotten, id)
}

// setChunks makes now the chunks of id. Those with an equal id stay; one that
// only moved within its file gets its new place and is not reported.
func (a *apply) setChunks(ctx context.Context, id fold.ID, now []fold.Chunk) error {
	was, there := a.oldChunks[id]
	delete(a.now, id)
	if len(now) == 0 {
		if !there {
			return nil
		}
		a.touch(id)
		return a.dropChunks(ctx, id, was)
	}
	sorted := slices.Clone(now)
	slices.SortStableFunc(sorted, byPlace)
	seen := make(map[string]bool, len(sorted))
	sorted = slices.DeleteFunc(sorted, func(c fold.Chunk) bool {
		twice := seen[c.ID]
		seen[c.ID] = true
		return twice
	})
	a.now[id] = sorted
	a.buf = encodeChunks(a.buf[:0], sorted)
	if there && bytes.Equal(a.buf, was) {
		return nil
	}
	a.touch(id)
	old, err := a.decoded(id, was)
	if err != nil {
		return err
	}
	if _, twice := a.was[id]; !twice {
		a.was[id] = old
	}
	for i := range old {
		if c := &old[i]; seen[c.ID] {
			seen[c.ID] = false // had before
		} else {
			a.wentKey(c.ID)
		}
	}
	for cid, added := range seen {
		if added {
			a.keys[cid] = true
		}
	}
	a.count += len(sorted) - len(old)
	return a.chunks.add(ctx, a.tx, string(id), bytes.Clone(a.buf))
}

// decoded returns the chunks of a stored value, which may be nil.
func (a *apply) decoded(id fold.ID, value []byte) ([]fold.Chunk, error) {
	if value == nil {
		return nil, nil
	}
	return decodeChunks(id, value)
}

func (a *apply) wentKey(cid string) {
	if a.keys[cid] {
		delete(a.keys, cid) // added earlier in this transaction
	} else {
		a.keys[cid] = false
	}
}

// dropChunks deletes the chunks of id, which were stored as value.
func (a *apply) dropChunks(ctx context.Context, id fold.ID, value []byte) error {
	old, err := a.decoded(id, value)
	if err != nil {
		return err
	}
	for i := range old {
		a.wentKey(old[i].ID)
	}
	a.count -= len(old)
	_, err = a.tx.ExecContext(ctx, `delete from chunks where memory_id = ?`, string(id))
	return err
}

// setLinks makes now the written, or the derived, links from id.
func (a *apply) setLinks(ctx context.Context, id fold.ID, now []fold.Link, derived bool) error {
	want := make(map[string]fold.Link, len(now))
	for _, l := range now {
		l.From, l.Derived = id, derived
		if !derived && l.Weight == 0 {
			l.Weight = 1
		}
		if first, twice := want[l.ID()]; twice {
			if first.Context == "" {
				first.Context = l.Context
			}
			l = first
		}
		want[l.ID()] = l
	}
	var gone []string
	for _, l := range a.oldLinks[id] {
		if l.Derived != derived {
			continue
		}
		if w, ok := want[l.ID()]; !ok {
			gone = append(gone, l.ID())
		} else if w == l {
			delete(want, l.ID())
		}
	}
	if len(gone)+len(want) > 0 {
		a.touch(id)
	}
	if len(gone) > 0 {
		_, err := a.tx.ExecContext(ctx, `delete from memory_links where from_id = ? and derived = ?
			and id in (select value from json_each(?))`, string(id), bit(derived), list(gone))
		if err != nil {
			return err
		}
	}
	for _, lid := range slices.Sorted(maps.Keys(want)) {
		l := want[lid]
		if err := a.links.add(ctx, a.tx, linkValues(&l)...); err != nil {
			return err
		}
	}
	return nil
}

// forget deletes a memory, its chunks and the links from it.
func (a *apply) forget(ctx context.Context, id fold.ID) error {
	_, there := a.oldRows[id]
	if there {
		delete(a.touched, id)
		a.forgotten[id] = true
	}
	if old, there := a.oldChunks[id]; there {
		if err := a.dropChunks(ctx, id, old); err != nil {
			return err
		}
	}
	for _, query := range []string{
		`delete from memory_links where from_id = ?`,
		`delete from memory_tags where memory_id = ?`,
		`delete from memories where id = ?`,
	} {
		if _, err := a.tx.ExecContext(ctx, query, string(id)); err != nil {
			return err
		}
	}
	if err := dropNames(ctx, a.tx, id); err != nil {
		return err
	}
	// The same change may put it anew.
	delete(a.now, id)
	delete(a.rows, id)
	delete(a.linked, id)
	delete(a.oldRows, id)
	delete(a.oldChunks, id)
	delete(a.oldLinks, id)
	return nil
}

// finish stamps what was touched and remembers what went.
func (a *apply) finish(ctx context.Context) error {
	if a.files0+len(a.touched)+len(a.forgotten)+len(a.keys) == 0 {
		a.seq--
		return nil
	}
	var touched []fold.ID
	for id, stamped := range a.touched {
		if !stamped {
			touched = append(touched, id)
		}
	}
	if len(touched) > 0 {
		if _, err := a.tx.ExecContext(ctx, `update memories set seq = ?1 where seq <> ?1 and id in (select value from json_each(?2))`,
			a.seq, list(touched)); err != nil {
			return err
		}
	}
	var gone, back []string
	for id, added := range a.keys {
		if added {
			back = append(back, "c:"+id)
		} else {
			gone = append(gone, "c:"+id)
		}
	}
	for id := range a.forgotten {
		gone = append(gone, "m:"+string(id))
	}
	for id := range a.touched {
		back = append(back, "m:"+string(id))
	}
	if _, err := a.tx.ExecContext(ctx, `delete from gone where key in (select value from json_each(?))`, list(back)); err != nil {
		return err
	}
	if len(gone) > 0 {
		if _, err := a.tx.ExecContext(ctx, `insert or replace into gone (key, seq) select value, ?1 from json_each(?2)`,
			a.seq, list(gone)); err != nil {
			return err
		}
	}
	if a.count != 0 {
		if _, err := a.tx.ExecContext(ctx, `update meta set value = value + ? where key = 'chunks'`, a.count); err != nil {
			return err
		}
	}
	_, err := a.tx.ExecContext(ctx, `update meta set value = ? where key = 'seq'`, fmt.Sprint(a.seq))
	return err
}

func (a *apply) applied() Applied {
	done := Applied{
		Seq:       a.seq,
		Memories:  slices.Sorted(maps.Keys(a.touched)),
		Forgotten: slices.Sorted(maps.Keys(a.forgotten)),
		Was:       a.was,
		Now:       a.now,
		Rows:      a.rows,
	}
	for id, added := range a.keys {
		if added {
			done.Added = append(done.Added, id)
		} else {
			done.Removed = append(done.Removed, id)
		}
	}
	slices.Sort(done.Added)
	slices.Sort(done.Removed)
	return done
}

// ChangedSince returns the memories that changed after seq, the keys that went
// after it ("m:<memory id>", "c:<chunk id>"), and the number up to which the
// caller has caught up once it has dealt with them.
func (x *Index) ChangedSince(ctx context.Context, seq int64) (ids []fold.ID, gone []string, last int64, err error) {
	tx, err := x.db.r.BeginTx(ctx, nil) // one state for all three
	if err != nil {
		return nil, nil, 0, x.db.wrap(err, "changed since")
	}
	defer tx.Rollback()
	if err := tx.QueryRowContext(ctx, `select value from meta where key = 'seq'`).Scan(&last); err != nil {
		return nil, nil, 0, x.db.wrap(err, "changed since")
	}
	ids, err = column[fold.ID](ctx, tx, `select id from memories where seq > ? order by seq, id`, seq)
	if err == nil {
		gone, err = column[string](ctx, tx, `select key from gone where seq > ? order by key`, seq)
	}
	return ids, gone, last, x.db.wrap(err, "changed since")
}

// ForgetGone drops the memory of keys that went up to seq, when all indexes
// have caught up with it.
func (x *Index) ForgetGone(ctx context.Context, seq int64) error {
	_, err := x.db.exec(ctx, "forget gone", `delete from gone where seq <= ?`, seq)
	return err
}

func column[T ~string](ctx context.Context, tx *sql.Tx, query string, args ...any) ([]T, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// SetStale marks memories whose source differs, or no longer differs, from what
// was described. It does not count as a change.
func (x *Index) SetStale(ctx context.Context, stale map[fold.ID]bool) error {
	var yes, no []fold.ID
	for id, s := range stale {
		if s {
			yes = append(yes, id)
		} else {
			no = append(no, id)
		}
	}
	defer x.moved(false, false)
	defer func() { x.cards.drop(slices.Concat(no, yes)) }()
	return x.db.write(ctx, "set stale", func(tx *sql.Tx) error {
		for v, ids := range [][]fold.ID{no, yes} {
			if _, err := tx.ExecContext(ctx, `update memories set stale = ?1 where stale <> ?1
				and id in (select value from json_each(?2))`, v, list(ids)); err != nil {
				return err
			}
		}
		return nil
	})
}
