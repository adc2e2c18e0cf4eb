//go:build accept

package rig

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A figure is one promise as it was measured.
type figure struct {
	what, got, limit, verdict string
}

// figures gathers what one run measured, for the table at its end. It is safe
// for concurrent use.
type figures struct {
	mu   sync.Mutex
	rows []figure
}

// add judges one figure. A miss fails the test and stands in the table.
func (f *figures) add(t *testing.T, ok bool, what, got, limit string) {
	t.Helper()
	verdict := "ok"
	if !ok {
		verdict = "MISS"
		t.Errorf("%s: %s, promised %s", what, got, limit)
	}
	f.note(what, got, limit, verdict)
}

// clock judges a time. If other programs kept the machine busy meanwhile, a
// clock says nothing about ours: the figure is shown as NOISY, with their share.
func (f *figures) clock(t *testing.T, what string, got, limit time.Duration, others float64) {
	t.Helper()
	if got > limit && others > noise {
		f.note(what, fmt.Sprintf("%.1f ms", ms(got)), fmt.Sprintf("<= %.0f ms", ms(limit)), fmt.Sprintf("NOISY: others took %.1f cores", others))
		return
	}
	f.add(t, got <= limit, what, fmt.Sprintf("%.1f ms", ms(got)), fmt.Sprintf("<= %.0f ms", ms(limit)))
}

func (f *figures) note(what, got, limit, verdict string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows = append(f.rows, figure{what, got, limit, verdict})
}

// print writes the table.
func (f *figures) print(t *testing.T, title string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s: %s/%s, %d cores, load %.1f\n", title, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), load())
	fmt.Fprintf(&b, "%-46s %-28s %-20s %s\n", "what", "measured", "limit", "")
	for _, r := range f.rows {
		fmt.Fprintf(&b, "%-46s %-28s %-20s %s\n", r.what, r.got, r.limit, r.verdict)
	}
	t.Log(b.String())
}

// noise is how many cores others may use before a clock is not judged.
const noise = 0.3

// An onlooker measures what other programs take of the machine: all that is
// busy, less this test and what it started, the daemon and its workers too.
type onlooker struct {
	began      time.Time
	busy, ours float64 // seconds
}

func watchOthers() onlooker {
	return onlooker{began: time.Now(), busy: busySeconds(), ours: usageOf(os.Getpid()).cpu}
}

// others returns how many cores other programs used since, on average; 0 where
// that is not known.
func (o onlooker) others() float64 {
	secs := time.Since(o.began).Seconds()
	if o.busy == 0 || secs == 0 {
		return 0
	}
	ours := usageOf(os.Getpid()).cpu - o.ours
	return max(0, busySeconds()-o.busy-ours) / secs
}

// busySeconds returns the seconds that all cores together were busy since boot.
func busySeconds() float64 {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(b), "\n")
	total := 0.0
	for i, s := range strings.Fields(line) {
		if i == 0 || i == 4 || i == 5 || i > 8 { // idle, waiting for a disk, guests
			continue
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return 0
		}
		total += v
	}
	return total / 100
}
