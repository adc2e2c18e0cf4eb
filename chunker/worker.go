package chunker

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

// ServeWorker cuts the files that a [Pool] sends through in and answers through
// out until in ends; that is the whole life of a worker process. It limits the
// memory of the process it runs in, and ends the process if one file takes more
// than twice the pool's deadline, so that a hung parser does not outlive a
// daemon that was killed.
func ServeWorker(in io.Reader, out io.Writer) error {
	return serve(in, out, nil)
}

// serve is ServeWorker; before, if not nil, is called with each file.
func serve(in io.Reader, out io.Writer, before func(path string, src []byte)) error {
	runtime.LockOSThread() // one thread, so one arena of the C allocator
	defer runtime.UnlockOSThread()
	// A worker holds one file and its chunks: collect early, keep little.
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(64 << 20)

	r, w := bufio.NewReaderSize(in, 64<<10), bufio.NewWriterSize(out, 64<<10)
	h, err := readHello(r)
	if err != nil {
		return fmt.Errorf("serve chunks: %w", err)
	}
	if h.MemoryCap > 0 {
		if err := limitMemory(h.MemoryCap); err != nil {
			return fmt.Errorf("serve chunks: limit memory: %w", err)
		}
	}
	if err := writeHello(w, hello{Version: wireVersion}); err != nil {
		return fmt.Errorf("serve chunks: %w", err)
	}
	c := NewCutter(h.Options)
	defer c.Close()
	limit := maxWork + maxPath + 6*binary.MaxVarintLen64
	var buf []byte
	for {
		buf, err = readFrame(r, frameWork, limit, buf)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("serve chunks: %w", err)
		}
		sizes, work, err := takeSizes(buf)
		if err != nil {
			return fmt.Errorf("serve chunks: %w", err)
		}
		n, size := binary.Uvarint(work)
		if size <= 0 || n > uint64(len(work)-size) {
			return errors.New("serve chunks: a path longer than its frame")
		}
		path, src := string(work[size:size+int(n)]), work[size+int(n):]
		c.opt = h.Options.Sized(sizes).withDefaults()
		stop := watchdog(h.Watchdog)
		if before != nil {
			before(path, src)
		}
		answer := c.Cut(path, src).Encode()
		stop()
		if err := writeFrame(w, frameResult, binary.AppendUvarint(nil, uint64(resident())), answer); err != nil {
			return fmt.Errorf("serve chunks: %w", err)
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
