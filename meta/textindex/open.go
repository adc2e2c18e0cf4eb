package textindex

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/words"
)

// Damaged files must never end the process. Bleve maps its segments and trusts
// them, so they are checked before it sees them:
//
//   - Close writes the size and CRC of every file (the seal); Open compares
//     and then removes it, since from now on the files change.
//   - Without a seal, that is after a crash, every segment is compared with the
//     CRC in its own footer; root.bolt has none, and is opened with care.
//   - Open and a first search run under recover, with faults as panics.
//   - A start that is not followed by a flush is counted; the third in a row
//     begins anew, whatever made the other two end.
const (
	format        = "6"         // of segments and stored keys
	sealName      = "seal.json" // sizes and sums of the files, when closed
	startName     = "starts"    // starts since the last seal
	versionName   = "version"   // format and analyser
	lockSuffix    = ".lock"     // added to dir: held while the index is open
	damagedSuffix = ".damaged"  // added to dir: the one copy that is kept
	maxStarts     = 3           // with no seal between them
	version       = format + "." + words.Version
)

// Open opens the index in dir, or begins one. An index that cannot be used is
// moved to dir.damaged, of which one is kept, and a new one is begun; the
// reason is in [Index.Rebuilt]. It returns ErrUnavailable if another process
// has the index open.
func Open(dir string, opt Options) (_ *Index, err error) {
	defer wrap(&err, "open text index")
	x := &Index{dir: dir, log: opt.Log, scratch: make(chan *accumulator, runtime.GOMAXPROCS(0))}
	if x.log == nil {
		x.log = slog.New(slog.DiscardHandler)
	}
	x.queue = index.NewAnalysisQueue(1)
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, err
	}
	// Before anything is looked at: what another process is writing looks
	// damaged.
	x.lock, err = disk.Lock(dir+lockSuffix, "pid "+strconv.Itoa(os.Getpid()))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			x.queue.Close()
			_ = x.lock.Close()
		}
	}()
	if err := checkNotLocked(dir); err != nil {
		return nil, err
	}
	reason := verify(dir)
	if reason == nil {
		reason = x.open(opt)
	}
	if reason == nil {
		return x, nil
	}
	if errors.Is(reason, berrors.ErrTimeout) { // somebody came in between
		return nil, errLocked
	}
	x.Rebuilt = reason.Error()
	x.log.Warn("Text index begun anew", "reason", x.Rebuilt)
	if err := moveAside(dir); err != nil {
		return nil, err
	}
	if err := x.open(opt); err != nil {
		return nil, err
	}
	return x, nil
}

// errLocked says that somebody who does not know of our lock has the index open: busy
// is not damaged.
var errLocked = fmt.Errorf("another process has its files open: %w", fold.ErrUnavailable)

// checkNotLocked returns errLocked if somebody has the files of the index in dir locked.
// Bleve would wait for them for ever where it reads which snapshots there are.
// Whatever else is wrong with them is found later.
func checkNotLocked(dir string) error {
	path := filepath.Join(storeDir(dir), "root.bolt")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil // nothing there that could be held
	}
	err := func() (err error) {
		defer recoverFaults(&err)()
		db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockTimeout})
		if err != nil {
			return err
		}
		return db.Close()
	}()
	if errors.Is(err, berrors.ErrTimeout) {
		return errLocked
	}
	return nil
}

// lockTimeout is how long somebody else may have the files before that is said.
const lockTimeout = time.Second

// open opens what verify let pass and searches once.
func (x *Index) open(opt Options) error {
	if err := os.MkdirAll(x.dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(x.dir, versionName), []byte(version), 0o600); err != nil {
		return err
	}
	seq, listed, err := newest(x.dir)
	if err != nil {
		return err
	}
	store, err := openStore(x.dir, opt, x.queue)
	if err != nil {
		return err
	}
	x.store = store
	err = x.probe()
	if err == nil && listed && !bytes.Equal(seq, x.internal(seqKey)) {
		// Bleve passes over snapshots that it cannot load, without a word, and
		// then numbers new ones from where the older one stood.
		err = errors.New("damaged: its newest snapshot does not load")
	}
	if err != nil {
		_ = store.Close()
		return err
	}
	return nil
}

// probe reads what every search reads.
func (x *Index) probe() (err error) {
	defer recoverFaults(&err)()
	x.sums = decodeSums(x.internal(lengthKey))
	_, err = x.Search(context.Background(), Query{Text: "probe of the index", Limit: 3})
	return err
}

// recoverFaults turns a panic of the calling function into *err, faults of mapped
// memory included:
//
//	defer recovered(&err)()
func recoverFaults(err *error) func() {
	was := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(was)
		if r := recover(); r != nil {
			*err = fmt.Errorf("damaged: %v", r)
		}
	}
}

// verify returns why the index in dir must not be opened, or nil. No index at
// all is fine.
func verify(dir string) error {
	made, err := os.ReadFile(filepath.Join(dir, versionName))
	if errors.Is(err, fs.ErrNotExist) {
		if names, err := os.ReadDir(dir); err == nil && len(names) > 0 {
			return errors.New("no version file")
		}
		return nil
	}
	if err != nil {
		return err
	}
	if string(made) != version {
		return fmt.Errorf("made by version %.20q, this is %s", made, version)
	}
	sealed, err := os.ReadFile(filepath.Join(dir, sealName))
	switch {
	case err == nil:
		err = checkSeal(dir, sealed)
	case errors.Is(err, fs.ErrNotExist):
		err = checkSegments(dir)
	}
	if err != nil {
		return err
	}
	return countStart(dir)
}

// countStart counts this start and breaks the seal, in that order.
func countStart(dir string) error {
	path := filepath.Join(dir, startName)
	n := 0
	if b, err := os.ReadFile(path); err == nil {
		n, _ = strconv.Atoi(string(b))
	}
	if n++; n > maxStarts {
		return fmt.Errorf("%d starts in a row did not end well", n-1)
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(n)), 0o600); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, sealName)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// markUnusable makes the next Open begin anew.
func markUnusable(dir string) error {
	return os.WriteFile(filepath.Join(dir, startName), []byte(strconv.Itoa(maxStarts)), 0o600)
}

// file is one entry of the seal.
type file struct {
	Size int64
	CRC  uint32 // Castagnoli
}

// seal writes down the files of a closed index and forgets earlier starts.
func seal(dir string) error {
	files, err := sumFiles(dir)
	if err != nil {
		return fmt.Errorf("seal text index: %w", err)
	}
	b, err := json.Marshal(files)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, sealName), b, 0o600)
	}
	if err == nil {
		err = os.Remove(filepath.Join(dir, startName))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("seal text index: %w", err)
	}
	return nil
}

func checkSeal(dir string, sealed []byte) error {
	var want map[string]file
	if err := json.Unmarshal(sealed, &want); err != nil {
		return fmt.Errorf("damaged: %s: %w", sealName, err)
	}
	have, err := sumFiles(dir)
	if err != nil {
		return err
	}
	for name, w := range want {
		if h, ok := have[name]; !ok || h != w {
			return fmt.Errorf("damaged: %s differs from its sum", name)
		}
	}
	return nil
}

func sumFiles(dir string) (map[string]file, error) {
	entries, err := os.ReadDir(storeDir(dir))
	if err != nil {
		return nil, err
	}
	sums := make([]file, len(entries))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		g.Go(func() (err error) {
			sums[i].Size, sums[i].CRC, _, err = sumFile(filepath.Join(storeDir(dir), e.Name()), crc32.MakeTable(crc32.Castagnoli))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	files := map[string]file{}
	for i, e := range entries {
		if e.Type().IsRegular() {
			files[e.Name()] = sums[i]
		}
	}
	return files, nil
}

// checkSegments compares every segment with the CRC at its end. One that was
// being written when the process ended is cut off, and in no snapshot: it is
// removed. One that a snapshot names is damage.
func checkSegments(dir string) error {
	segments, err := filepath.Glob(filepath.Join(storeDir(dir), "*.zap"))
	if err != nil {
		return err
	}
	named, err := os.ReadFile(filepath.Join(storeDir(dir), "root.bolt"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, path := range segments {
		_, sum, last, err := sumFile(path, crc32.IEEETable)
		if err != nil {
			return err
		}
		if sum == last {
			continue
		}
		if name := filepath.Base(path); bytes.Contains(named, []byte(name)) {
			return fmt.Errorf("damaged: %s differs from its sum", name)
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// newest returns the seq, as stored, of the newest snapshot that root.bolt
// lists, and whether there is one.
func newest(dir string) (seq []byte, ok bool, err error) {
	defer recoverFaults(&err)()
	if _, err := os.Stat(filepath.Join(storeDir(dir), "root.bolt")); err != nil {
		return nil, false, nil // Open makes it
	}
	points, err := scorch.RollbackPoints(storeDir(dir))
	if err != nil || len(points) == 0 {
		return nil, false, err
	}
	return points[0].GetInternal([]byte(seqKey)), true, nil
}

// sumFile returns the size of a file, its CRC (by IEEE: without the last four
// bytes), and the last four bytes as Bleve writes its own sum.
func sumFile(path string, table *crc32.Table) (size int64, crc, last uint32, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, 0, err
	}
	defer f.Close()
	h := crc32.New(table)
	info, err := f.Stat()
	if err != nil {
		return 0, 0, 0, err
	}
	size = info.Size()
	want := size
	if table == crc32.IEEETable {
		if size < 4 {
			return size, 0, 1, nil // too short to be right
		}
		var tail [4]byte
		if _, err := f.ReadAt(tail[:], size-4); err != nil {
			return 0, 0, 0, err
		}
		last = binary.BigEndian.Uint32(tail[:])
		want -= 4
	}
	// The sum itself takes less than a call of the system for every 32 KiB.
	buf := make([]byte, min(max(want, 1), 512<<10))
	_, err = io.CopyBuffer(struct{ io.Writer }{h}, io.LimitReader(f, want), buf)
	return size, h.Sum32(), last, err
}

// moveAside moves dir to the one place where a damaged index is kept.
func moveAside(dir string) error {
	if err := os.RemoveAll(dir + damagedSuffix); err != nil {
		return err
	}
	if err := os.Rename(dir, dir+damagedSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
