package chunker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// PoolOptions says how a Pool works. Only Command is needed.
type PoolOptions struct {
	// Command is the argument list of a worker: the executable and the hidden
	// subcommand that calls [ServeWorker]. Empty means to parse in this process.
	Command []string
	// Workers is how many files are parsed at once. Zero means one for each core.
	Workers int
	// Deadline is how long a worker may take for one file before it is killed.
	// Zero means 2 s.
	Deadline time.Duration
	// MemoryCap is how many bytes a worker may take before the system refuses
	// it more, which ends it. Zero means 512 MiB: Go and the thread stacks map
	// about 150 MiB that they do not use, a 1 MiB file of garbage takes 200.
	MemoryCap int64
	// MaxResident is the size in bytes above which a worker is replaced before
	// the next file. Zero means 128 MiB.
	MaxResident int64
	// Idle is how long workers wait for work before they are stopped. Zero
	// means one minute.
	Idle time.Duration
	// Cut says how to cut.
	Cut Options
	// Log may be nil.
	Log *slog.Logger
}

func (o PoolOptions) withDefaults() PoolOptions {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Deadline <= 0 {
		o.Deadline = 2 * time.Second
	}
	if o.MemoryCap <= 0 {
		o.MemoryCap = 512 << 20
	}
	if o.MaxResident <= 0 {
		o.MaxResident = 128 << 20
	}
	if o.Idle <= 0 {
		o.Idle = time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Cut.Deadline <= 0 || o.Cut.Deadline > o.Deadline {
		o.Cut.Deadline = o.Deadline / 2
	}
	o.Cut = o.Cut.withDefaults()
	return o
}

const (
	maxTries  = 2      // on one file that ends its worker
	maxMarked = 10_000 // files remembered as such
)

// A Pool cuts files in worker processes. Workers are started when needed,
// stopped when idle, and replaced when they crash, hang or grow. A Pool that has
// nothing to do has no process and no timer. It is safe for concurrent use.
type Pool struct {
	opt   PoolOptions
	slots chan struct{} // holds one for each file being cut

	mu     sync.Mutex // guards the fields below; not held across I/O
	idle   []*process
	busy   int
	marked map[[32]byte]int // crashes and hangs by hash of language and source
	stats  Stats
	timer  *time.Timer // ends idle workers; nil when none is idle or one is busy
	closed bool
	ending sync.WaitGroup // workers being stopped by timer
}

// Stats counts what a Pool has done since it was made.
type Stats struct {
	Parses   int // files handed to a parser
	Crashes  int // workers that ended while they parsed
	Timeouts int // workers killed because they took too long
	Restarts int // workers started in place of one that crashed, hung or grew
	Workers  int // workers alive now
}

// NewPool returns a Pool. It starts no process before the first file.
func NewPool(opt PoolOptions) *Pool {
	opt = opt.withDefaults()
	return &Pool{opt: opt, slots: make(chan struct{}, opt.Workers), marked: make(map[[32]byte]int)}
}

// Stats returns the counts so far.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Workers = len(p.idle) + p.busy
	return s
}

// Cut cuts the file at path as [Cut] does. A file on which a worker crashes is
// tried once more, then it, like one on which a worker hangs, is cut as text;
// the second crash or hang on the same bytes is the last: they are never parsed
// again. Src is not kept.
//
// It returns the error of ctx, or one that wraps fold.ErrUnavailable if no
// worker could be started or the pool is closed.
func (p *Pool) Cut(ctx context.Context, path string, src []byte) (Result, error) {
	return p.CutSized(ctx, path, src, Options{})
}

// CutSized is Cut with sizes other than those of the pool, see [Options.Sized].
func (p *Pool) CutSized(ctx context.Context, path string, src []byte, by Options) (Result, error) {
	opt := p.opt.Cut.Sized(by)
	lang := Language(path, src)
	if !parses(lang, src, min(opt.MaxBytes, maxWork)) {
		return cutPlain(path, lang, src, opt).joined(src, opt), ctx.Err()
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return Result{}, fmt.Errorf("cut %q: %w", path, ctx.Err())
	}
	if len(p.opt.Command) == 0 || Engine() == "text" {
		return Cut(path, src, opt), nil // Go cannot crash on it
	}
	hash := markOf(lang, src)
	for {
		if p.tries(hash) >= maxTries {
			return cutText(lang, crashedStrategy, src, opt).joined(src, opt), nil
		}
		r, err := p.try(ctx, path, src, opt)
		if err == nil {
			return r, nil
		}
		switch {
		case ctx.Err() != nil:
			return Result{}, fmt.Errorf("cut %q: %w", path, ctx.Err())
		case errors.Is(err, fold.ErrUnavailable):
			return Result{}, fmt.Errorf("cut %q: %w", path, err)
		}
		timedOut := errors.Is(err, errHung)
		p.mark(hash, timedOut)
		p.opt.Log.WarnContext(ctx, "Parser ended", "path", path, "error", err)
		if timedOut {
			return cutText(lang, timedOutStrategy, src, opt).joined(src, opt), nil
		}
	}
}

// markOf returns what a file is remembered by if it ends its worker: its bytes,
// and its language, since another parser may bear them.
func markOf(lang string, src []byte) (hash [32]byte) {
	h := sha256.New()
	_, _ = io.WriteString(h, lang+"\x00")
	_, _ = h.Write(src)
	h.Sum(hash[:0])
	return hash
}

func (p *Pool) tries(hash [32]byte) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.marked[hash]
}

func (p *Pool) mark(hash [32]byte, timedOut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if timedOut {
		p.stats.Timeouts++
	} else {
		p.stats.Crashes++
	}
	for h := range p.marked {
		if len(p.marked) < maxMarked {
			break
		}
		delete(p.marked, h)
	}
	p.marked[hash]++
}

// try has one worker cut src.
func (p *Pool) try(ctx context.Context, path string, src []byte, opt Options) (Result, error) {
	w, err := p.take()
	if err != nil {
		return Result{}, err
	}
	r, err := w.cut(ctx, path, src, opt, p.opt.Deadline)
	if err != nil {
		err = fmt.Errorf("%w%s", err, w.kill())
		p.drop(true)
		return Result{}, err
	}
	if w.resident > p.opt.MaxResident {
		w.stop()
		p.drop(true)
		return r, nil
	}
	p.put(w)
	return r, nil
}

// take returns an idle worker, or a new one.
func (p *Pool) take() (*process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, fmt.Errorf("chunk pool is closed: %w", fold.ErrUnavailable)
	}
	p.busy++
	p.stats.Parses++
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1] // the one used last: its pages are warm
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return w, nil
	}
	p.mu.Unlock()
	w, err := startProcess(p.opt)
	if err != nil {
		p.drop(false)
		return nil, fmt.Errorf("start chunk worker: %w: %w", err, fold.ErrUnavailable)
	}
	return w, nil
}

// drop forgets a busy worker that has ended.
func (p *Pool) drop(replaced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	if replaced {
		p.stats.Restarts++
	}
	p.rest()
}

// put takes a worker back.
func (p *Pool) put(w *process) {
	p.mu.Lock()
	p.busy--
	closed := p.closed
	if !closed {
		p.idle = append(p.idle, w)
		p.rest()
	}
	p.mu.Unlock()
	if closed {
		w.stop()
	}
}

// rest, with mu held, sees to it that idle workers end in time.
func (p *Pool) rest() {
	if p.busy > 0 || len(p.idle) == 0 || p.closed || p.timer != nil {
		return
	}
	p.timer = time.AfterFunc(p.opt.Idle, p.stopIdle)
}

func (p *Pool) stopIdle() {
	p.mu.Lock()
	if p.busy > 0 || p.closed {
		p.mu.Unlock()
		return
	}
	idle := p.idle
	p.idle, p.timer = nil, nil
	p.ending.Add(1)
	p.mu.Unlock()
	defer p.ending.Done()
	for _, w := range idle {
		w.stop()
	}
}

// Close stops the workers and waits until they have ended. A file being cut is
// finished first. Cut fails afterwards.
func (p *Pool) Close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	p.mu.Unlock()
	for _, w := range idle {
		w.stop()
	}
	for range cap(p.slots) { // wait for those at work
		p.slots <- struct{}{}
	}
	for range cap(p.slots) {
		<-p.slots
	}
	p.ending.Wait()
}
