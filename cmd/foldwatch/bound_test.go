package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"
)

// What lives may be more than the goal: the bound then leaves room above it, and
// comes back when it is let go.
func TestMemoryBoundFollowsWhatLives(t *testing.T) {
	t.Setenv("GOGC", "100")
	t.Setenv("GOMEMLIMIT", "")
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	var crowded atomic.Bool
	defer boundMemory(crowded.Load, func(bool) {})()
	reach := func(what string, ok func(bound int64) bool) {
		t.Helper()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.After(20 * time.Second); ; {
			runtime.GC()
			bound := debug.SetMemoryLimit(-1)
			if ok(bound) {
				return
			}
			select {
			case <-deadline:
				t.Fatalf("%s: the bound is %d MB", what, bound>>20)
			case <-tick.C:
			}
		}
	}
	const held = 2 * memoryGoal
	func() {
		b := make([]byte, held) // not touched: it takes no memory of the machine
		reach("much lives", func(bound int64) bool { return bound >= held/4*5 })
		runtime.KeepAlive(b)
	}()
	reach("it is let go", func(bound int64) bool { return bound == memoryGoal })
	crowded.Store(true)
	reach("a crowd waits", func(bound int64) bool { return bound == memoryGoal+memoryCrowd })
	crowded.Store(false)
	reach("it has left", func(bound int64) bool { return bound == memoryGoal })
}

// Where a crowd waits, the collector runs more rarely, and as ever when it has left.
func TestACrowdIsCollectedAfterMoreRarely(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	var crowded atomic.Bool
	defer boundMemory(crowded.Load, func(bool) {})()
	for _, now := range []bool{false, true, false} {
		crowded.Store(now)
		want := uint64(garbage)
		if now {
			want = garbageCrowd
		}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.After(20 * time.Second); ; {
			runtime.GC()
			percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
			if metrics.Read(percent); percent[0].Value.Uint64() == want {
				break
			}
			select {
			case <-deadline:
				t.Fatalf("crowded %v: %d %% of what lives, want %d", now, percent[0].Value.Uint64(), want)
			case <-tick.C:
			}
		}
	}
}

func TestMemoryBoundKeepsToTheGoal(t *testing.T) {
	for live, want := range map[uint64]int64{0: memoryGoal, 80 << 20: memoryGoal, 300 << 20: 416 << 20} {
		if got := memoryBound(live, false); got != want {
			t.Errorf("memoryBound(%d MB) = %d MB, want %d", live>>20, got>>20, want>>20)
		}
	}
}
