package meta

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// An Index is index.db of one checkout: memories, links, chunks, the manifest
// of files, and jobs. Exported methods that write are one transaction each.
// Safe for concurrent use; reads go on while one write is under way.
type Index struct {
	db *db
	// versions of the manifest of source files, of that of fold/, and of all that
	// is counted.
	versions [3]atomic.Int64
	counted  atomic.Pointer[counted] // nil before the first
	// Rebuilt says, if not empty, why the index was begun anew: everything
	// must be ingested again.
	Rebuilt string
	// Generation is random and new with each rebuild. An index beside this one
	// that was fed from another generation must be rebuilt, too.
	Generation string

	pulses memo[pulse]  // what rankers ask of every memory that was found
	spans  memo[[]span] // likewise of those with several chunks
	cards  memo[*Card]  // what searches showed lately
	chunks memo[string] // likewise of chunks, by memory, as they are stored

	inBulk atomic.Bool // indexes are missing, or may be; see BeginBulk
}

// formatIndex is the number of sql/index.sql and sql/index_late.sql. Another
// number in the file means that it is deleted and rebuilt.
const formatIndex = 11

// memoRoom is how many memories a memo holds of those asked for lately. Pulses take
// some 170 bytes each, and spans 16 for a chunk.
const memoRoom = 1 << 14

// indexCheckLimit bounds the look at the whole file after a crash. It passes
// 100 MB in about half a second.
const indexCheckLimit = 5 * time.Second

// OpenIndex opens or creates dir/index.db. What is damaged is set aside as
// index.db.damaged, and what has another format number deleted; both begin anew
// and say so in Rebuilt.
//
// Close leaves a checksum of the file beside it, so that damage of any kind,
// also an older copy put in its place, is found when it is opened again. After
// a crash there is none, and SQLite's own check runs.
func OpenIndex(ctx context.Context, dir string) (*Index, error) {
	path := filepath.Join(dir, "index.db")
	fresh, err := missing(path)
	if err != nil {
		return nil, err
	}
	x, err := openIndex(ctx, path, fresh)
	var old *formatError
	switch {
	case err == nil:
		return x, nil
	case damaged(err):
		if err := setAside(path); err != nil {
			return nil, err
		}
	case errors.As(err, &old):
		if err := discard(path); err != nil {
			return nil, err
		}
	default:
		return nil, err
	}
	reason := err.Error()
	if x, err = openIndex(ctx, path, true); err != nil {
		return nil, err
	}
	x.Rebuilt = reason
	return x, nil
}

func openIndex(ctx context.Context, path string, fresh bool) (*Index, error) {
	clean := false
	if !fresh {
		var err error
		if clean, err = checkSum(path); err != nil {
			return nil, err
		}
	} else if err := removeSum(path); err != nil {
		return nil, err
	}
	d, created, err := openFormat(ctx, path, "index.sql", formatIndex)
	if err != nil {
		return nil, err
	}
	x := &Index{
		db: d, pulses: memo[pulse]{room: memoRoom}, spans: memo[[]span]{room: memoRoom},
		cards: memo[*Card]{room: cardRoom, size: (*Card).size}, chunks: memo[string]{room: chunkRoom, size: sizeOfChunks},
	}
	if created && !fresh {
		x.Rebuilt = "index.db was empty"
	}
	if !fresh && !clean {
		err = d.check(ctx, "quick_check", indexCheckLimit)
	}
	if err == nil {
		err = x.generation(ctx)
	}
	if err == nil {
		err = x.openBulk(ctx, created)
	}
	if err == nil {
		// From here on the file changes; the write above made the -wal.
		err = removeSum(path)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return x, nil
}

// generation reads the index's generation, or gives it one.
func (x *Index) generation(ctx context.Context) error {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return x.db.write(ctx, "open", func(tx *sql.Tx) error {
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
func (x *Index) Close() error {
	var busy, log, done int
	err := x.db.w.QueryRow("pragma wal_checkpoint(truncate)").Scan(&busy, &log, &done)
	if err == nil && busy == 0 {
		// Without it the next start takes longer, nothing else.
		_ = writeSum(x.db.path)
	}
	return x.db.close()
}

// OnDamage has fn told when an operation finds the file damaged, whoever asked
// for it. Fn must return soon and must not use the index. Before the call, and
// after a call with nil, nobody is told.
func (x *Index) OnDamage(fn func(error)) {
	if fn == nil {
		x.db.onDamage.Store(nil)
		return
	}
	x.db.onDamage.Store(&fn)
}

// A fileSum is what index.db.sum says of a file that was closed in good order.
type fileSum struct {
	Size int64  `json:"size"`
	CRC  uint32 `json:"crc32c"`
}

func sumPath(path string) string { return path + ".sum" }

func removeSum(path string) error {
	if err := os.Remove(sumPath(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func sumFile(path string) (fileSum, error) {
	f, err := os.Open(path)
	if err != nil {
		return fileSum{}, err
	}
	defer f.Close()
	h := crc32.New(castagnoli)
	n, err := io.CopyBuffer(h, io.LimitReader(f, 1<<62), make([]byte, 1<<18))
	return fileSum{Size: n, CRC: h.Sum32()}, err
}

func writeSum(path string) error {
	s, err := sumFile(path)
	if err != nil {
		return err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return disk.WriteFile(sumPath(path), b, 0o600)
}

// checkSum reports whether the file was closed in good order and has not
// changed since. It returns ErrDamaged if it has, or if it was not closed and
// SQLite's log, which must then be there, is missing.
func checkSum(path string) (clean bool, err error) {
	b, err := os.ReadFile(sumPath(path))
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(path + "-wal"); errors.Is(err, os.ErrNotExist) {
			return false, fmt.Errorf("open index.db: not closed in good order and index.db-wal is missing: %w", ErrDamaged)
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var want fileSum
	if err := json.Unmarshal(b, &want); err != nil {
		return false, fmt.Errorf("open index.db: its checksum is unreadable: %w", ErrDamaged)
	}
	have, err := sumFile(path)
	if err != nil {
		return false, err
	}
	if have != want {
		return false, fmt.Errorf("open index.db: checksum differs: %w", ErrDamaged)
	}
	return true, nil
}

// Seq returns the number of the last change.
func (x *Index) Seq(ctx context.Context) (int64, error) {
	var seq int64
	err := x.db.r.QueryRowContext(ctx, `select value from meta where key = 'seq'`).Scan(&seq)
	return seq, x.db.wrap(err, "read seq")
}
