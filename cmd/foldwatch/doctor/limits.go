package doctor

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

const (
	// lowWatches is the number of watches below which a medium project, with
	// other programs that watch it too, falls back to polling.
	lowWatches = 16384
	// lowInstances is the number of inotify instances below which a desktop and
	// 16 checkouts together come to its end: each takes one.
	lowInstances = 64
	// lowFiles is the number of open files below which 16 open checkouts, each with
	// some 20 for its index, and clients may not fit.
	lowFiles = 1024
)

// moreWatches raises the limits of inotify, now and after a restart of the machine.
const moreWatches = "echo fs.inotify.max_user_watches=524288 | sudo tee /etc/sysctl.d/60-foldwatch.conf && sudo sysctl --system"

// kernel reads a small file below /proc.
func (x *exam) kernel(parts ...string) ([]byte, error) {
	return os.ReadFile(filepath.Join(append([]string{x.host.Daemon.Proc}, parts...)...))
}

// kernelNumber reads a limit; false where this system has none of that name.
func (x *exam) kernelNumber(parts ...string) (int, bool) {
	b, err := x.kernel(parts...)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	return n, err == nil
}

// checkWatches looks at the limits of inotify, and whether a project has met them.
func checkWatches(_ context.Context, x *exam) []Result {
	var found []Result
	for _, pr := range x.statuses() {
		if pr.Watch == "polling" {
			mend := moreWatches
			if runtime.GOOS != "linux" || !strings.Contains(pr.WatchReason, "inotify") {
				mend = "foldwatch status -p " + pr.Slug
			}
			found = append(found, Fault(mend, "%s is watched by polling: %s", pr.Slug, pr.WatchReason))
		}
	}
	watches, known := x.kernelNumber("sys", "fs", "inotify", "max_user_watches")
	if !known {
		return OrPass(found, "no limit to speak of on %s", runtime.GOOS)
	}
	if watches < lowWatches {
		found = append(found, Fault(moreWatches, "this user may watch %d folders, and a large checkout has more", watches))
	}
	if n, known := x.kernelNumber("sys", "fs", "inotify", "max_user_instances"); known && n < lowInstances {
		found = append(found, Fault(strings.ReplaceAll(moreWatches, "max_user_watches=524288", "max_user_instances=512"), "this user may have %d watchers, of all programs", n))
	}
	return OrPass(found, "up to %d folders", watches)
}

// checkOpenFiles looks at how many files the daemon may have open, and has; of
// this program where none runs.
func checkOpenFiles(_ context.Context, x *exam) Result {
	pid, whose := "self", "a daemon started from here"
	if x.daemon != nil {
		pid, whose = strconv.Itoa(x.daemon.PID), "the daemon"
	}
	b, err := x.kernel(pid, "limits")
	if err != nil {
		return Pass("no limit to speak of on %s", runtime.GOOS)
	}
	most, known := openFilesOf(b)
	if !known {
		return Pass("%s may open any number", whose)
	}
	mend := "ulimit -n 65536 before it is started, or LimitNOFILE=65536 in the service's unit"
	held, err := os.ReadDir(filepath.Join(x.host.Daemon.Proc, pid, "fd"))
	switch {
	case err == nil && x.daemon != nil && len(held) > most*8/10:
		return Fault(mend, "the daemon has %d of %d files open", len(held), most)
	case most < lowFiles:
		return Fault(mend, "%s may open %d files, and 16 checkouts need %d", whose, most, lowFiles)
	case err == nil && x.daemon != nil:
		return Pass("%d of %d", len(held), most)
	}
	return Pass("%s may open %d", whose, most)
}

// openFilesOf reads the hard limit out of /proc/PID/limits: a Go program raises its
// own to it. False where there is none.
func openFilesOf(limits []byte) (int, bool) {
	sc := bufio.NewScanner(bytes.NewReader(limits))
	for sc.Scan() {
		rest, found := strings.CutPrefix(sc.Text(), "Max open files")
		if !found {
			continue
		}
		var soft, hard string
		if _, err := fmt.Sscan(rest, &soft, &hard); err != nil {
			return 0, false
		}
		n, err := strconv.Atoi(hard)
		return n, err == nil
	}
	return 0, false
}
