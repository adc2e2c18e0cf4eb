package worker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// exitWatchdog is the exit code of a worker that ended itself.
const exitWatchdog = 3

// Serve answers the requests that a [Pool] sends through in, by the function
// given, and answers through out until in ends; that is the whole life of a
// worker process. It limits the memory of the process it runs in, and ends the
// process if one request takes more than twice the pool's deadline, so that a
// hung parser does not outlive a daemon that was killed.
//
// Version must be that of the pool. Answer keeps nothing of the request, and is
// called by one goroutine on one thread; its errors end the worker.
func Serve(in io.Reader, out io.Writer, version string, answer func(request []byte) ([]byte, error)) error {
	runtime.LockOSThread() // one thread, so one arena of the C allocator
	defer runtime.UnlockOSThread()
	// A worker holds one file and its chunks: collect early, keep little.
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(64 << 20)

	r, w := bufio.NewReaderSize(in, 64<<10), bufio.NewWriterSize(out, 64<<10)
	h, err := readHello(r, version)
	if err != nil {
		return err
	}
	if h.MemoryCap > 0 {
		if err := limitMemory(h.MemoryCap); err != nil {
			return fmt.Errorf("limit memory: %w", err)
		}
	}
	if err := writeHello(w, hello{Version: version}); err != nil {
		return err
	}
	var request []byte
	for {
		request, err = readFrame(r, frameWork, MaxRequest, request)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		stop := watchdog(h.Watchdog)
		result, err := answer(request)
		stop()
		if err != nil {
			return err
		}
		if err := writeFrame(w, frameResult, binary.AppendUvarint(nil, uint64(resident())), result); err != nil {
			return err
		}
	}
}

// watchdog ends the process after d unless stopped. Zero means never.
func watchdog(d time.Duration) (stop func()) {
	if d <= 0 {
		return func() {}
	}
	t := time.AfterFunc(d, func() {
		fmt.Fprintln(os.Stderr, "chunk worker: one file took longer than", d)
		os.Exit(exitWatchdog)
	})
	return func() { t.Stop() }
}
