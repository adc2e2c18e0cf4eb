package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dropStartPages lets go of the pages of the program's own file that only its
// start needed: setting up every package touches most of it, some 30 MB in each
// process. What is needed again is mapped again from the page cache. Where the
// kernel does not say which pages are only copies of the file, nothing is done.
func dropStartPages() {
	exe, err := os.Executable()
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	var start, end uintptr // of the mapping whose lines come; 0 if it is not to be dropped
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if span, rest, ok := strings.Cut(line, " "); ok && !strings.HasSuffix(span, ":") {
			start, end = 0, 0
			if strings.HasSuffix(rest, " "+exe) && len(rest) > 4 && rest[0] == 'r' && rest[1] == '-' { // never what may be written
				start, end = spanOf(span)
			}
			continue
		}
		// A page that was written, by the linker, is not in the file. The line
		// comes after those of size.
		if count, ok := strings.CutPrefix(line, "Anonymous:"); ok && start != 0 {
			if strings.TrimSpace(count) == "0 kB" {
				// Nothing is lost where it is refused.
				_, _, _ = syscall.RawSyscall(syscall.SYS_MADVISE, start, end-start, syscall.MADV_DONTNEED)
			}
			start, end = 0, 0
		}
	}
}

// spanOf reads the addresses of a mapping, 0 and 0 if they are none.
func spanOf(s string) (start, end uintptr) {
	from, to, ok := strings.Cut(s, "-")
	a, err := strconv.ParseUint(from, 16, 64)
	b, err2 := strconv.ParseUint(to, 16, 64)
	if !ok || err != nil || err2 != nil || b <= a {
		return 0, 0
	}
	return uintptr(a), uintptr(b)
}
