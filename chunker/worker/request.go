package worker

import "errors"

// A Request is one piece of work.
type Request struct {
	Name string   // what it is called in the log
	Mark Mark     // what it is remembered by if it ends its worker
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
