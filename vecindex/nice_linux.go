package vecindex

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// onNicedThread runs f on a thread of its own that gives way to others. The
// thread ends with f, since its nice value cannot be taken back.
func onNicedThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()                                     // and not unlocked
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), 10) // else it is only less polite
		f()
	}()
	<-done
}
