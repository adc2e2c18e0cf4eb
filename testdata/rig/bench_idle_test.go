//go:build accept

package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// idle is goal 9: a minute with 20 small checkouts and one of 100,000 files,
// without a client and with five agents' shims. Goal 9b is what is resident.
func (b *bench) idle(t *testing.T) {
	a := b.arena(t, "mono", func(m *machine) corpus { return m.mono(100_000) })
	settle := func() {
		<-time.After(10 * time.Second) // for what is done once and late: commits, mirrors, giving memory back
	}
	settle()
	b.add(count("9b", "resident, nothing registered", fmt.Sprintf("%.0f MB", mb(usageOf(a.proc.Process.Pid).rss)), "-"))
	for i := range 20 {
		dir := filepath.Join(t.TempDir(), fmt.Sprintf("small%02d", i))
		if _, err := generateMono(dir, 50); err != nil {
			t.Fatal(err)
		}
		a.committed(dir, "generated")
		a.run(dir, "add", ".")
		a.run(dir, "index", "--wait")
	}
	a.index("--file-memories", "local")
	a.rest()
	settle()
	look := func(what string) {
		pid := a.proc.Process.Pid
		was, counted, reads := usageOf(pid), a.counters(), readCalls(pid)
		<-time.After(time.Minute)
		is, calls := usageOf(pid), readCalls(pid)-reads
		percent := (is.cpu - was.cpu) / 60 * 100
		b.add(row{"9", "idle for 60 s, 20 checkouts + mono, " + what + ", share of a core", fmt.Sprintf("%.3f %%", percent), "0.5 %", percent / 0.5, "<= 1"},
			count("9", "the same: files read, read calls of any kind", fmt.Sprintf("%s, %d", a.since(counted, "files_read"), calls), "0 files"),
			count("9b", "resident when idle, "+what, fmt.Sprintf("%.0f MB", mb(is.rss)), "SKIP: watchman is missing"))
	}
	look("no client")
	for range 5 {
		shim := a.command(a.dir, "mcp")
		in, err := shim.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := shim.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = in.Close()
			_ = shim.Wait() // it ends with its input
		}()
	}
	settle()
	look("5 MCP clients")
}

// readCalls returns how many read calls a process has made; 0 where that is not
// known.
func readCalls(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		var n int64
		if _, err := fmt.Sscanf(line, "syscr: %d", &n); err == nil {
			return n
		}
	}
	return 0
}
