package textindex

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Options of [Open]. The zero value works.
type Options struct {
	// Log is told what went wrong and what was begun anew. Nil discards.
	Log *slog.Logger

	// Nap is how long the persister gathers changes before it writes them.
	// Zero means 200 ms: longer than a burst of saves, shorter than a person
	// waits for Flush.
	Nap time.Duration
}

// Keys of what is stored beside the postings, in the same snapshot.
const (
	seqKey    = "foldwatch.seq"    // int64
	lengthKey = "foldwatch.length" // sum of body lengths, by kind: 4 × int64
)

// writeTimeout bounds how long a write waits for Bleve. Its loops end for good when
// they panic, over damage that no check found, and then nobody answers.
const writeTimeout = 60 * time.Second

// An Index is a text index on disk. It is safe for concurrent use: searches see
// the last finished Apply and wait for nothing.
type Index struct {
	// Rebuilt says why [Open] began with an empty index although there was
	// one: damaged, of another format or analyser, unfinished starts. "" if it
	// did not.
	Rebuilt string

	dir   string
	log   *slog.Logger
	queue *index.AnalysisQueue
	store *scorch.Scorch
	lock  *disk.LockFile

	mu          sync.Mutex // one writer at a time; guards the fields below
	closed      bool
	stuck       bool                // Bleve did not answer; see batch
	dirty       bool                // something was applied since all was on disk
	sums        [len(kinds)]int64   // of body lengths, as stored under lengthKey
	unpersisted []unpersistedChange // what Bleve holds in memory, oldest first; see throttle

	fileTextsMu sync.Mutex                // held while fileTexts are made
	fileTexts   atomic.Pointer[fileTexts] // of the snapshot that was searched last
	scratch     chan *accumulator         // that no search works in; a pool would be empty after each collection
	analyzers   sync.Pool                 // of *analyzer
}

// Apply puts and drops documents and records seq, as one step: a search sees
// all of it or nothing. A document whose key exists is replaced; dropping a key
// that does not exist is nothing. The change is searchable on return and on
// disk soon after: what a crash loses, [Index.Seq] tells after the next Open.
// It returns ErrInvalid, and changes nothing, if a document has no key or kind.
func (x *Index) Apply(ctx context.Context, seq int64, put []Doc, drop []string) (err error) {
	defer wrap(&err, "index %d documents", len(put)+len(drop))
	for i := range put {
		if put[i].Key == "" || !slices.Contains(kinds[:], put[i].Kind) {
			return fmt.Errorf("document %q of kind %q: %w", put[i].Key, put[i].Kind, fold.ErrInvalid)
		}
	}
	docs, used := x.analyze(put)
	if err := ctx.Err(); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.stuck {
		return fold.ErrUnavailable
	}
	x.throttle(ctx, len(put))
	batch, sums := index.NewBatch(), x.sums
	for _, key := range drop {
		batch.Delete(key)
	}
	for i, d := range slices.Backward(docs) {
		// A key that is put twice in one batch counts once, the later one.
		if batch.IndexOps[put[i].Key] != nil {
			continue
		}
		batch.Update(d)
		g := &d.from.docs[d.at]
		sums[g.kind] += int64(g.lengths[body])
	}
	old, err := x.oldLengths(batch)
	if err != nil {
		return err
	}
	for k := range sums {
		sums[k] -= old[k]
	}
	batch.SetInternal([]byte(seqKey), binary.BigEndian.AppendUint64(nil, uint64(seq)))
	batch.SetInternal([]byte(lengthKey), encodeSums(sums))
	var done chan struct{}
	if len(put) >= throttleFrom {
		done = make(chan struct{})
		batch.SetPersistedCallback(func(error) { close(done) })
	}
	x.dirty = true
	if err := x.batch(batch); err != nil {
		return err
	}
	x.sums = sums
	if done != nil {
		x.unpersisted = append(x.unpersisted, unpersistedChange{len(put), done})
	}
	for _, g := range used {
		x.analyzers.Put(g)
	}
	return nil
}

// An unpersistedChange is a change that is not on disk yet.
type unpersistedChange struct {
	docs int
	done <-chan struct{}
}

const (
	throttleFrom   = 256    // documents of a change that is waited for
	maxUnpersisted = 12_000 // documents in memory at most, some 40 MB of them
)

// maxThrottle bounds the wait: a stop need not wait for longer, and of a disk that is
// full Flush tells.
const maxThrottle = 2 * time.Second

// throttle waits, before a change of many documents, until few enough are in memory
// only: a first index makes them faster than a busy machine writes them.
func (x *Index) throttle(ctx context.Context, docs int) {
	if docs < throttleFrom {
		return
	}
	for _, o := range x.unpersisted {
		docs += o.docs
	}
	late := time.NewTimer(maxThrottle)
	defer late.Stop()
	for len(x.unpersisted) > 0 && docs > maxUnpersisted {
		select {
		case <-x.unpersisted[0].done:
			docs -= x.unpersisted[0].docs
			x.unpersisted = x.unpersisted[1:]
		case <-late.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// batch hands batch to Bleve. If there is no answer the index takes no more
// writes, and the next Open begins anew; the goroutine that waits stays.
func (x *Index) batch(batch *index.Batch) error {
	done := make(chan error, 1)
	go func() { done <- x.store.Batch(batch) }()
	return x.await(done)
}

func (x *Index) await(done <-chan error) error {
	timeout := time.NewTimer(writeTimeout)
	defer timeout.Stop()
	select {
	case err := <-done:
		return err
	case <-timeout.C:
	}
	x.stuck = true
	x.log.Error("Text index does not answer", "took", writeTimeout)
	if !x.lock.Intact() {
		x.log.Error("Text index was deleted while it was open", "path", x.dir)
	} else if err := markUnusable(x.dir); err != nil {
		x.log.Error("Text index cannot be marked", "err", err)
	}
	return fmt.Errorf("no answer after %v: %w", writeTimeout, fold.ErrUnavailable)
}

// analyze reads the documents of put, in parallel where that pays: each worker a
// run of neighbours, so that those of one file stay together.
func (x *Index) analyze(put []Doc) ([]*document, []*analyzer) {
	docs := make([]*document, len(put))
	workers := min(runtime.GOMAXPROCS(0), 1+len(put)/64)
	used := make([]*analyzer, workers)
	var wg sync.WaitGroup
	for w := range used {
		lo, hi := w*len(put)/workers, (w+1)*len(put)/workers
		g, _ := x.analyzers.Get().(*analyzer)
		if g == nil {
			g = &analyzer{}
		}
		g.reset(w, hi-lo)
		used[w] = g
		part := func() {
			for i := lo; i < hi; i++ {
				docs[i] = g.add(&put[i], slices.Index(kinds[:], put[i].Kind))
			}
		}
		if w == workers-1 {
			part()
		} else {
			wg.Go(part)
		}
	}
	wg.Wait()
	return docs, used
}

// oldLengths sums, by kind, the body lengths of the stored documents that batch
// replaces or deletes.
func (x *Index) oldLengths(batch *index.Batch) (old [len(kinds)]int64, err error) {
	s, err := x.snapshot()
	if err != nil {
		return old, err
	}
	defer closeReader(s, &err)
	for key := range batch.IndexOps {
		for _, l := range s.leaves {
			doc, ok := l.find(key)
			if ok && (l.deleted == nil || !l.deleted.Contains(doc)) {
				k, n := l.kindOf(doc)
				old[k] += int64(l.length(k, body, n))
			}
		}
	}
	return old, nil
}

// Seq returns the seq of the last Apply; after Open, that of the last Apply
// that reached the disk. The caller applies what is later.
func (x *Index) Seq() int64 {
	b := x.internal(seqKey)
	if len(b) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

func (x *Index) internal(key string) []byte {
	r, err := x.reader()
	if err != nil {
		return nil
	}
	defer r.Close()
	b, err := r.GetInternal([]byte(key))
	if err != nil {
		return nil
	}
	return slices.Clone(b)
}

// Count returns how many documents there are.
func (x *Index) Count() int {
	r, err := x.reader()
	if err != nil {
		return 0
	}
	defer r.Close()
	n, _ := r.DocCount()
	return int(n)
}

func (x *Index) flush() (err error) {
	if !x.dirty { // an index that was only searched need not wait for the persister's nap
		return nil
	}
	defer wrap(&err, "flush text index")
	defer func() { x.dirty = err != nil }()
	// Snapshots are persisted in order, so that a batch which changes nothing
	// is on disk only when all before it are.
	batch, done := index.NewBatch(), make(chan error, 1)
	batch.SetInternal([]byte(lengthKey), encodeSums(x.sums))
	batch.SetPersistedCallback(func(err error) { done <- err })
	if err := x.batch(batch); err != nil {
		return err
	}
	return x.await(done)
}

// Close flushes and closes the index. Where its folder was deleted, it writes nothing:
// Bleve would wait for good for what is not there, and what lies at that path now is
// another's. The second Close does nothing.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil
	}
	x.closed = true
	err, there := fold.ErrUnavailable, x.lock.Intact()
	if !x.stuck && there {
		err = x.flush()
	}
	if cerr := x.store.Close(); err == nil {
		err = cerr
	}
	x.queue.Close()
	if err == nil && there {
		err = seal(x.dir)
	}
	if cerr := x.lock.Close(); err == nil {
		err = cerr
	}
	wrap(&err, "close text index")
	return err
}

func encodeSums(sums [len(kinds)]int64) []byte {
	var b []byte
	for _, s := range sums {
		b = binary.BigEndian.AppendUint64(b, uint64(s))
	}
	return b
}

func decodeSums(b []byte) (sums [len(kinds)]int64) {
	if len(b) == 8*len(sums) {
		for k := range sums {
			sums[k] = int64(binary.BigEndian.Uint64(b[8*k:]))
		}
	}
	return sums
}

func closeReader(c io.Closer, err *error) {
	if cerr := c.Close(); *err == nil {
		*err = cerr
	}
}

// wrap adds the operation and its object to *err.
func wrap(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf(format+": %w", append(args, *err)...)
	}
}

// storeDir is where Bleve keeps its files below dir.
func storeDir(dir string) string { return filepath.Join(dir, "store") }

// openStore opens or makes the scorch index in dir. A panic of Bleve or bbolt
// over damaged files, and a fault in memory mapped from a file that is shorter
// than it says, come back as errors.
func openStore(dir string, opt Options, queue *index.AnalysisQueue) (s *scorch.Scorch, err error) {
	defer recoverFaults(&err)()
	if err := os.MkdirAll(storeDir(dir), 0o700); err != nil {
		return nil, err
	}
	nap := opt.Nap
	if nap <= 0 {
		nap = 200 * time.Millisecond
	}
	register()
	x, err := scorch.NewScorch(scorch.Name, map[string]any{
		"path":                storeDir(dir),
		"forceSegmentType":    pluginType,
		"forceSegmentVersion": pluginVersion,
		"bolt_timeout":        lockTimeout.String(), // a second process gets an error, and does not hang
		// A change is searchable before it is on disk; Seq tells after a crash.
		"unsafe_batch":       true,
		"numSnapshotsToKeep": 1,
		"scorchPersisterOptions": map[string]any{
			"PersisterNapTimeMSec": int(nap.Milliseconds()),
			// Segments of a burst become one file; more than this many files
			// wait for the merger, which bounds open files and mappings.
			"PersisterNapUnderNumFiles": 100,
		},
		// A search of twice as many segments costs less than a merge of them. No
		// merge makes a segment of more documents than MaxSegmentSize, which
		// bounds what it holds in memory: up to 400 bytes for each.
		"scorchMergePlanOptions": map[string]any{"MaxSegmentsPerTier": 20, "SegmentsPerMergeTask": 20, "MaxSegmentSize": 250_000},
	}, queue)
	if err != nil {
		return nil, err
	}
	if err := x.Open(); err != nil {
		return nil, err
	}
	return x.(*scorch.Scorch), nil
}
