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
