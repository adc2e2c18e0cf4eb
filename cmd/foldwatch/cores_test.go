package main

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestACrowdHasACoreToSpare: while a crowd waits more goroutines run than there are
// cores, and as many as ever when it has left; never where the user says how many.
func TestACrowdHasACoreToSpare(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(cores)
	t.Setenv("GOMAXPROCS", "")
	var crowded atomic.Bool
	defer boundMemory(crowded.Load, spareCores())()
	for _, now := range []bool{false, true, false} {
		crowded.Store(now)
		want := cores
		if now {
			want += coresCrowd
		}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.After(20 * time.Second); runtime.GOMAXPROCS(0) != want; {
			runtime.GC()
			select {
			case <-deadline:
				t.Fatalf("crowded %v: %d run at once, want %d", now, runtime.GOMAXPROCS(0), want)
			case <-tick.C:
			}
		}
	}
	t.Setenv("GOMAXPROCS", "3")
	follow := spareCores()
	if follow(true); runtime.GOMAXPROCS(0) != cores {
		t.Errorf("%d run at once", runtime.GOMAXPROCS(0))
	}
}
