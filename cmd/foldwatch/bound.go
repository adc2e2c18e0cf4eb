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
	// memoryCrowd is how much more there may be while a crowd of searches waits, each
	// of which leaves half a megabyte behind: the collector then runs once where it ran
	// three times, and the tenth of the processor that this saves answers them.
	memoryCrowd = 80 << 20

	garbage      = 70  // percent of what lives
	garbageCrowd = 200 // the same while a crowd waits
)

// memoryBound is the bound for live bytes. Many checkouts may hold more than the
// goal, and a bound that what lives does not leave room below has the collector
// take half of the processor for as long as anything is allocated.
func memoryBound(live uint64, crowded bool) int64 {
	bound := max(memoryGoal, int64(live)/3*4+memoryRest)
	if crowded {
		bound += memoryCrowd
	}
	return bound
}

// boundMemory has garbage collected early, unless the user says otherwise, and
// moves the bound with what lives, and whether a crowd waits, until stop is called.
// After each collection follow is told whether one does.
func boundMemory(crowded func() bool, follow func(crowded bool)) (stop func()) {
	percent := os.Getenv("GOGC") == "" // it is ours to set
	if percent {
		debug.SetGCPercent(garbage)
	}
	bound := os.Getenv("GOMEMLIMIT") == ""
	if bound {
		debug.SetMemoryLimit(memoryGoal)
	}
	var ended atomic.Bool
	was := false
	// Nothing refers to a mark, so that it is finalized after each collection.
	type mark struct{ _ [32]byte } // smaller ones may share a block that lives
	var look func(*mark)
	look = func(*mark) {
		if ended.Load() {
			return
		}
		now := crowded()
		follow(now)
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		if metrics.Read(live); bound && live[0].Value.Kind() == metrics.KindUint64 {
			want, have := memoryBound(live[0].Value.Uint64(), now), debug.SetMemoryLimit(-1)
			if want != have && (want == memoryGoal || max(want-have, have-want) >= memoryStep) {
				debug.SetMemoryLimit(want)
			}
		}
		if percent && now != was {
			was = now
			debug.SetGCPercent(map[bool]int{false: garbage, true: garbageCrowd}[now])
		}
		runtime.SetFinalizer(&mark{}, look)
	}
	runtime.SetFinalizer(&mark{}, look)
	return func() { ended.Store(true) }
}
