package worker

import (
	"log/slog"
	"runtime"
	"time"
)

// DefaultDeadline is how long a worker may take for one request unless Options
// say otherwise.
const DefaultDeadline = 2 * time.Second

// Options says how a Pool works. Only Command is needed.
type Options struct {
	// Command is the argument list of a worker: the executable and the hidden
	// subcommand that calls [Serve].
	Command []string
	// Version is what both sides must be equal in: the rules they work by.
	Version string
	// Workers is how many work at once. Zero means one for each core.
	Workers int
	// Deadline is how long a worker may take for one request before it is
	// killed. Zero means DefaultDeadline.
	Deadline time.Duration
	// MemoryCap is how many bytes a worker may take before the system refuses
	// it more, which ends it. Zero means 512 MiB: Go and the thread stacks map
	// about 150 MiB that they do not use, a 1 MiB file of garbage takes 200.
	MemoryCap int64
	// MaxResident is the size in bytes above which a worker is replaced before
	// the next request. Zero means 128 MiB.
	MaxResident int64
	// Idle is how long workers wait for work before they are stopped. Zero
	// means one minute.
	Idle time.Duration
	// Log may be nil.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Deadline <= 0 {
		o.Deadline = DefaultDeadline
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
	return o
}
