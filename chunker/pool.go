package chunker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/foldwatch/foldwatch/chunker/worker"
)

// PoolOptions says how the workers of a Pool run. Command is the executable and
// the hidden subcommand that calls [ServeWorker]; without one the Pool parses in
// the calling process.
type PoolOptions = worker.Options

// maxSource is the size in bytes of the largest file that a worker is sent.
const maxSource = 64 << 20

// A Pool cuts files in worker processes, see [worker.Pool]. What needs no parser
// it cuts in the calling process, and all files where nothing but go/parser is
// built in, which no file can crash. It is safe for concurrent use.
type Pool struct {
	opt     Options
	here    bool // without workers
	workers *worker.Pool
}

// NewPool returns a Pool that cuts as opt says, and whose workers run as workers
// says. It starts no process before the first file. Close it.
func NewPool(workers PoolOptions, opt Options) *Pool {
	workers.Version = Version
	if limit := cmp.Or(workers.Deadline, worker.DefaultDeadline); opt.Deadline <= 0 || opt.Deadline > limit {
		opt.Deadline = limit / 2
	}
	return &Pool{opt: opt.withDefaults(), here: len(workers.Command) == 0 || Engine() == "text", workers: worker.NewPool(workers)}
}

// Close stops the workers and waits until they have ended. Cut fails afterwards.
func (p *Pool) Close() { p.workers.Close() }

// Stats returns what the workers have done since the pool was made.
func (p *Pool) Stats() worker.Stats { return p.workers.Stats() }

// ForgetFailures has files parsed again on which a worker crashed or hung.
func (p *Pool) ForgetFailures() { p.workers.ForgetFailures() }

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
	opt := p.opt.Sized(by)
	lang := Language(path, src)
	if !parses(lang, src, min(opt.MaxBytes, maxSource)) {
		return cutPlain(path, lang, src, opt).asOneChunk(src, opt), ctx.Err()
	}
	if p.here {
		return Cut(path, src, opt), ctx.Err()
	}
	var r Result
	err := p.workers.Do(ctx, worker.Request{
		Name: path,
		Key:  requestKey(lang, src),
		Body: [][]byte{appendRequest(nil, path, opt), src},
		Accept: func(answer []byte) (err error) {
			if r, err = DecodeResult(answer); err != nil {
				return err
			}
			if n := len(r.Chunks); n == 0 || r.Chunks[n-1].EndByte != len(src) {
				return errors.New("answer does not cover the file")
			}
			return nil
		},
	})
	switch {
	case errors.Is(err, worker.ErrHung):
		return cutText(lang, timedOutStrategy, src, opt).asOneChunk(src, opt), nil
	case errors.Is(err, worker.ErrCrashed):
		return cutText(lang, crashedStrategy, src, opt).asOneChunk(src, opt), nil
	case err != nil:
		return Result{}, fmt.Errorf("cut %q: %w", path, err)
	}
	return r, nil
}

// requestKey returns what a file is remembered by if it ends its worker: its bytes,
// and its language, since another parser may bear them.
func requestKey(lang string, src []byte) (mark worker.Key) {
	h := sha256.New()
	_, _ = io.WriteString(h, lang+"\x00")
	_, _ = h.Write(src)
	h.Sum(mark[:0])
	return mark
}

// ServeWorker cuts the files that a [Pool] sends through in and answers through
// out until in ends; that is the whole life of a worker process, which it limits
// as [worker.Serve] says.
func ServeWorker(in io.Reader, out io.Writer) error {
	return serve(in, out, func(string, []byte) {})
}

// serve is ServeWorker; before is called with each file.
func serve(in io.Reader, out io.Writer, before func(path string, src []byte)) error {
	var c Cutter
	defer c.Close()
	err := worker.Serve(in, out, Version, func(request []byte) ([]byte, error) {
		path, opt, src, err := readRequest(request)
		if err != nil {
			return nil, err
		}
		c.opt = opt.withDefaults()
		before(path, src)
		return c.Cut(path, src).Encode(), nil
	})
	if err != nil {
		return fmt.Errorf("serve chunks: %w", err)
	}
	return nil
}
