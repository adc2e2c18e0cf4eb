package main

import (
	"os"
	"runtime"
)

// coresCrowd is how many more goroutines than cores run at once while a crowd of
// searches waits. A write ends with a sync of the disk, some milliseconds in a system
// call, and the scheduler takes the core of such a call for another goroutine only when
// its monitor looks, which is 20 µs to 10 ms later (retake in Go's runtime/proc.go):
// with no more goroutines than cores, one stands idle for as long.
const coresCrowd = 2

// spareCores returns what has more goroutines run at once while crowded is true, unless
// the user says how many do. A change stops the world.
func spareCores() (follow func(crowded bool)) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func(bool) {}
	}
	was := false
	return func(crowded bool) {
		switch {
		case crowded == was:
		case crowded:
			runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + coresCrowd)
		default:
			runtime.SetDefaultGOMAXPROCS() // which follows what the system gives us from then on
		}
		was = crowded
	}
}
