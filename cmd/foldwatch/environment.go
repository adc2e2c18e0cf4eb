package main

import (
	"context"
	"io"
	"os"
	"regexp"
	"runtime"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

// An environment is what one run of the program stands in: its streams, its
// variables, its global flags, and how it reaches the daemon.
type environment struct {
	*terminal.Streams
	config  *local.Config
	daemon  *local.Daemon
	workDir func() (string, error)
	program func() (string, error) // path of this one
	now     func() time.Time
	wait    func(ctx context.Context, d time.Duration) error
	timeouts

	// root is put before the paths of the system's own files, such as units; "" but
	// for tests.
	root    string
	free    func(dir string) (int64, error) // bytes that can be written where a folder lies
	parsers func() string                   // what this program parses by

	serve func(ctx context.Context, e *environment, opt serveOptions) error // until ctx ends

	slug string // of the project that --project names, "" for none
}

// timeouts say how long others are waited for; for the daemon see [daemonLink].
type timeouts struct {
	drift time.Duration // until it has compared an index with its files
	git   time.Duration // until one call of the git program has ended
}

func newEnvironment(stdin io.Reader, stdout, stderr io.Writer) *environment {
	e := &environment{
		Streams: terminal.NewStreams(stdin, stdout, stderr),
		workDir: os.Getwd, program: os.Executable, now: time.Now, wait: wait,
		timeouts: timeouts{drift: time.Minute, git: 5 * time.Second}, // a large index is compared in some seconds
		free:     freeSpace, parsers: chunker.Engine, serve: serve,
	}
	e.config = &local.Config{Environ: os.Environ(), Getenv: func(name string) string { return e.Getenv(name) }}
	e.daemon = &local.Daemon{
		Streams: e.Streams, Config: e.config, Service: daemonService{e}, Version: fullVersion(), Proc: "/proc",
		Timeout: 10 * time.Second, AnswerWithin: 30 * time.Second, // a loaded machine answers in seconds
	}
	e.daemon.Dial = e.daemon.DialSocket
	return e
}

// wait returns after d, or with the error of ctx when that ends first.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// later compiles an expression when it is first needed, once: most commands need none.
func later(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// fullVersion tells two builds apart, as far as the daemon and the program
// that talks to it must be.
func fullVersion() string {
	if commit == "" || commit == "unknown" {
		return version
	}
	return version + "+" + commit
}

// platform names what this program was built for.
func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }
