package worker

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// limitMemory caps the data segment and the private writable mappings of this
// process at n bytes. What Go and the thread stacks have mapped already counts.
func limitMemory(n int64) error {
	return syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: uint64(n), Max: uint64(n)})
}

// resident returns how many bytes of this process are in memory, 0 if unknown.
func resident() int64 {
	f, err := os.Open("/proc/self/statm")
	if err != nil {
		return 0
	}
	defer f.Close()
	var buf [128]byte
	n, _ := f.Read(buf[:])
	fields := bytes.Fields(buf[:n])
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
