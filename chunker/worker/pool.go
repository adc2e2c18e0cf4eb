// Package worker has work done in processes of its own, which may crash, hang or
// grow without harm to the program that asks: parsers in C, given source that
// nobody vouches for.
//
// The program makes a [Pool] and calls [Pool.Do] with requests, which are bytes.
// The pool starts its workers, which are the same executable with a hidden
// subcommand that calls [Serve] with the function that answers. Both speak in
// frames through the worker's standard input and output, see frame.go.
//
// A Pool owns its processes: it starts them when there is work, stops them when
// there is none, replaces those that crash, hang or grow, and remembers the
// requests that ended one. It is safe for concurrent use. Do waits for a free
// worker and for the answer, at most for the deadline; Close waits for what is
// being worked on. Errors are those of the context, [ErrHung], [ErrCrashed], and
// what wraps fold.ErrUnavailable where no worker could be started.
package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A Pool has workers answer requests. Workers are started when needed, stopped
// when idle, and replaced when they crash, hang or grow. A Pool that has nothing
// to do has no process and no timer. It is safe for concurrent use.
type Pool struct {
	opt      Options
	slots    chan struct{} // holds one for each request being worked on
	failures failures

	mu     sync.Mutex // guards the fields below; not held across I/O
	idle   []*process
	busy   int
	stats  Stats
	timer  *time.Timer // ends idle workers; nil when none is idle or one is busy
	closed bool
	ending sync.WaitGroup // workers being stopped by timer
}

// Stats counts what a Pool has done since it was made.
type Stats struct {
	Parses   int // requests given to a worker
	Crashes  int // workers that ended while they worked
	Timeouts int // workers killed because they took too long
	Restarts int // workers started in place of one that crashed, hung or grew
	Workers  int // workers alive now
}

// NewPool returns a Pool. It starts no process before the first request. Close it.
func NewPool(opt Options) *Pool {
	opt = opt.withDefaults()
	p := &Pool{opt: opt, slots: make(chan struct{}, opt.Workers)}
	p.failures.clear()
	return p
}

// Stats returns the counts so far.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Workers = len(p.idle) + p.busy
	return s
}

// ForgetFailures has requests tried again that have ended a worker.
func (p *Pool) ForgetFailures() { p.failures.clear() }

// Do has a worker answer a request, which it keeps nothing of. If the worker
// crashes, another one tries once more.
//
// It returns the error of ctx, ErrHung, ErrCrashed, or an error that wraps
// fold.ErrUnavailable if no worker could be started or the pool is closed.
func (p *Pool) Do(ctx context.Context, req Request) error {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for !p.failures.tooMany(req.Key) {
		err := p.try(ctx, req)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fold.ErrUnavailable):
			return err
		}
		hung := errors.Is(err, ErrHung)
		p.failed(req.Key, hung)
		p.opt.Log.WarnContext(ctx, "Parser ended", "path", req.Name, "error", err)
		if hung {
			return ErrHung
		}
	}
	return ErrCrashed
}

// failed counts a worker that a request has ended.
func (p *Pool) failed(mark Key, hung bool) {
	p.failures.add(mark)
	p.mu.Lock()
	defer p.mu.Unlock()
	if hung {
		p.stats.Timeouts++
	} else {
		p.stats.Crashes++
	}
}

// try has one worker answer a request.
func (p *Pool) try(ctx context.Context, req Request) error {
	w, err := p.take()
	if err != nil {
		return err
	}
	if err := w.do(ctx, req, p.opt.Deadline); err != nil {
		err = fmt.Errorf("%w%s", err, w.kill())
		p.drop(true)
		return err
	}
	if w.resident > p.opt.MaxResident {
		w.stop()
		p.drop(true)
		return nil
	}
	p.put(w)
	return nil
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
	p.stopLater()
}

// put takes a worker back.
func (p *Pool) put(w *process) {
	p.mu.Lock()
	p.busy--
	closed := p.closed
	if !closed {
		p.idle = append(p.idle, w)
		p.stopLater()
	}
	p.mu.Unlock()
	if closed {
		w.stop()
	}
}

// stopLater sees to it that idle workers end in time. p.mu is held.
func (p *Pool) stopLater() {
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

// Close stops the workers and waits until they have ended. A request being
// worked on is finished first. Do fails afterwards.
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

// A Request is one piece of work.
type Request struct {
	Name string   // what it is called in the log
	Key  Key      // what it is remembered by if it ends its worker
	Body [][]byte // its bytes, in parts; at most MaxRequest in all
	// Accept is given the answer, which it does not keep. An answer that it
	// refuses counts as a crash.
	Accept func(answer []byte) error
}

var (
	// ErrHung is what Do returns if the worker took too long and was killed.
	ErrHung = errors.New("parser took too long")
	// ErrCrashed is what Do returns for a request that has ended a worker twice,
	// by a crash or by taking too long: it is not tried again.
	ErrCrashed = errors.New("parser crashed")
)
