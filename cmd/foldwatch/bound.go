package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

const (
	// memoryGoal is how much of Go's memory the daemon keeps to, in bytes, as long
	// as what lives is less. During a first index of the Go toolchain's source 40 to
	// 80 MB live at a time; collecting up to this goal takes 1 of 21 seconds of the
	// processor, and keeps the daemon at 210 MB where 300 MB kept it at 250; with 112
	// MB a part that holds more is collected over and over. What SQLite and the
	// mapped text index hold is on top.
	memoryGoal = 128 << 20
	// memoryRest is what Go holds beside what lives: stacks, and spans that are not
	// full.
	memoryRest = 16 << 20
	// memoryStep is by how much the bound is not moved: that stops the world.
	memoryStep = 8 << 20
)

// memoryBound is the bound for live bytes. Many checkouts may hold more than the
// goal, and a bound that what lives does not leave room below has the collector
// take half of the processor for as long as anything is allocated.
func memoryBound(live uint64) int64 {
	return max(memoryGoal, int64(live)/3*4+memoryRest)
}

// boundMemory has garbage collected early, unless the user says otherwise, and
// moves the bound with what lives until stop is called.
func boundMemory() (stop func()) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(70)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	debug.SetMemoryLimit(memoryGoal)
	var ended atomic.Bool
	// Nothing refers to a mark, so that it is finalized after each collection.
	type mark struct{ _ [32]byte } // smaller ones may share a block that lives
	var follow func(*mark)
	follow = func(*mark) {
		if ended.Load() {
			return
		}
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		if metrics.Read(live); live[0].Value.Kind() == metrics.KindUint64 {
			want, have := memoryBound(live[0].Value.Uint64()), debug.SetMemoryLimit(-1)
			if want != have && (want == memoryGoal || max(want-have, have-want) >= memoryStep) {
				debug.SetMemoryLimit(want)
			}
		}
		runtime.SetFinalizer(&mark{}, follow)
	}
	runtime.SetFinalizer(&mark{}, follow)
	return func() { ended.Store(true) }
}
