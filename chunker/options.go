package chunker

import (
	"fmt"
	"time"
)

// Options says how to cut. The zero Options work.
type Options struct {
	// MinLines is the length in lines below which a nameless chunk joins a
	// neighbour. Zero means 5.
	MinLines int
	// MaxLines is the length in lines above which a chunk is split at the
	// statements in it. Zero means 200.
	MaxLines int
	// LineSize is the length in lines of a chunk of a file without known
	// syntax. Zero means 50.
	LineSize int
	// Whole leaves a file in one piece: it is one chunk. Language, imports and
	// what the file says of itself are found all the same.
	Whole bool
	// MaxBytes is how much of a file is looked at. Longer files are cut as
	// text and marked truncated. Zero means 1 MiB.
	MaxBytes int
	// Deadline is how long a parse may take before the file is cut as text, in
	// CPU time where the system tells. Zero means 1 s: half of what a [Pool]
	// grants a worker.
	Deadline time.Duration
	// SlowGo has Go parsed by tree-sitter as well. Otherwise files without
	// errors are left to go/parser, which finds the same at six times the speed.
	SlowGo bool
}

// Sized returns o with the sizes, Whole and MaxBytes that by sets: one [Pool]
// cuts for projects that want different ones.
func (o Options) Sized(by Options) Options {
	for _, to := range [...]struct {
		size *int
		by   int
	}{{&o.MinLines, by.MinLines}, {&o.MaxLines, by.MaxLines}, {&o.LineSize, by.LineSize}, {&o.MaxBytes, by.MaxBytes}} {
		if to.by > 0 {
			*to.size = to.by
		}
	}
	o.Whole = o.Whole || by.Whole
	return o
}

// Name tells options that cut alike from others. It is "" for those that cut as
// the zero Options do, and part of the key of cached results.
func (o Options) Name() string {
	o = o.withDefaults()
	if d := (Options{}).withDefaults().Sized(o); d == (Options{}).withDefaults() {
		return ""
	}
	return fmt.Sprintf("%d-%d-%d-%d-%t", o.MinLines, o.MaxLines, o.LineSize, o.MaxBytes, o.Whole)
}

func (o Options) withDefaults() Options {
	if o.MinLines <= 0 {
		o.MinLines = 5
	}
	if o.MaxLines <= 0 {
		o.MaxLines = 200
	}
	if o.LineSize <= 0 {
		o.LineSize = 50
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 1 << 20
	}
	if o.Deadline <= 0 {
		o.Deadline = time.Second
	}
	return o
}
