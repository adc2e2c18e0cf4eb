package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/conf"
)

// An environment is what one run of the program stands in: its streams, its
// variables, its global flags, and how it reaches the daemon.
type environment struct {
	*terminal.Streams
	environ []string
	workDir func() (string, error)
	program func() (string, error) // path of this one
	now     func() time.Time

	// root is put before the paths of the system's own files, such as units; "" but
	// for tests.
	root string

	// What doctor asks of the machine: the folder in which the kernel tells of
	// processes and limits, how many bytes can be written where a folder lies, and
	// what this program parses by.
	proc    string
	free    func(dir string) (int64, error)
	parsers func() string
	wait    func(ctx context.Context, d time.Duration) error

	patience patience

	// dial returns a client of the daemon's socket, or nil if nothing listens
	// there. Serve runs the daemon until ctx ends.
	dial  func(ctx context.Context, e *environment) (daemonClient, error)
	serve func(ctx context.Context, e *environment, opt serveOptions) error

	slug string // of the project that --project names, "" for none

	loaded      *settings // see settings
	slips       error     // what of them is wrong
	slipsTold   bool
	noticesTold bool
	skewed      bool   // the daemon was found to be of another version, not newer than this
	skewTold    string // the version of a daemon that was told to be another
}

// A patience says how long others are waited for.
type patience struct {
	daemon time.Duration // until it says that it is there, or how it is
	drift  time.Duration // until it has compared an index with its files
	git    time.Duration // until one call of the git program has ended
	person time.Duration // until somebody answers a question that can be left open
}

// settings are the configuration, and where things lie on this machine.
type settings struct {
	cfg     conf.Config
	origins []conf.Origin
	dirs    conf.Dirs
}

func newEnvironment(stdin io.Reader, stdout, stderr io.Writer) *environment {
	return &environment{
		Streams: terminal.NewStreams(stdin, stdout, stderr),
		environ: os.Environ(), workDir: os.Getwd, program: os.Executable, now: time.Now,
		proc: "/proc", free: freeSpace, parsers: chunker.Engine, wait: wait,
		// A loaded machine answers in seconds, and a large index is compared in some.
		patience: patience{daemon: 10 * time.Second, drift: time.Minute, git: 5 * time.Second, person: 30 * time.Second},
		dial:     dialSocket, serve: serve,
	}
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

// settings reads the configuration when it is first needed: version and help
// work whatever the user file holds. With an error of [conf.Load] it returns what is
// right of it, by which nothing is served: see there.
func (e *environment) settings() (settings, error) {
	if e.loaded != nil {
		return *e.loaded, e.slips
	}
	dirs, err := conf.Locate(e.Getenv)
	if err != nil {
		return settings{}, err
	}
	cfg, origins, err := conf.Load(dirs.ConfigFile(), e.environ, nil)
	e.loaded, e.slips = &settings{cfg: cfg, origins: origins, dirs: dirs}, err
	return *e.loaded, e.slips
}

// folders are where things lie on this machine, which no user file decides.
func (e *environment) folders() (conf.Dirs, error) {
	st, err := e.settings()
	if e.loaded != nil {
		err = nil
	}
	return st.dirs, err
}

// tellSlips says, once, that the configuration cannot be used as it stands. A daemon
// that runs has read another, and answers.
func (e *environment) tellSlips() {
	_, err := e.settings()
	if err == nil || e.slipsTold {
		return
	}
	e.slipsTold = true
	all := conf.Slips(err)
	more := ""
	if n := len(all) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more: foldwatch doctor)", n)
	}
	e.Messages(false).Printf("foldwatch: %v%s; the daemon goes on with what it started with\n", all[0], more)
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
