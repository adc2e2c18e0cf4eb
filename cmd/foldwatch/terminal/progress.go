package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/foldwatch/foldwatch/api/wire"
)

const (
	// drawEvery is the least time between two drawings of the line.
	drawEvery = 80 * time.Millisecond
	// lineAfter is how long work goes on before it is worth a plain line, and
	// lineEvery the time between two of one stage.
	lineAfter, lineEvery = time.Second, 5 * time.Second
	// barLeast and barMost are the cells of a drawn bar.
	barLeast, barMost = 10, 30
)

// A Bar shows how far work has come: on a terminal as one line that is drawn
// over, elsewhere as a plain line every few seconds. It says once that searches
// work before all is done.
type Bar struct {
	p     Printer
	width func() int // of the terminal in cells; 0 where there is none
	now   func() time.Time
	drawn bool
	began time.Time
	last  time.Time
	stage string // at the last plain line
	told  bool   // that searches work
}

// Show tells pr, if it is time to.
func (b *Bar) Show(pr wire.Progress) {
	now, width := b.now(), b.width()
	if pr.Searchable > 0 && pr.Searchable < pr.Total && !b.told && now.Sub(b.began) >= lineAfter {
		b.told = true
		b.Clear()
		b.p.Printf("search works now: %d of %s so far\n", pr.Searchable, Plural(pr.Total, nounOf(pr)))
	}
	if width > 0 {
		if now.Sub(b.last) >= drawEvery {
			b.last, b.drawn = now, true
			b.p.Printf("\r%s\x1b[K", progressIn(pr, width-1))
		}
		return
	}
	since := b.last
	if since.IsZero() {
		since = b.began
	}
	if wait := now.Sub(since); wait < lineAfter || pr.Stage == b.stage && wait < lineEvery {
		return
	}
	b.last, b.stage = now, pr.Stage
	b.p.Printf("%s\n", ProgressLine(pr))
}

// Clear ends the drawn line; the next show draws it again.
func (b *Bar) Clear() {
	if b.drawn {
		b.p.Printf("\r\x1b[K")
	}
	b.drawn, b.last = false, time.Time{}
}

func nounOf(pr wire.Progress) string {
	switch pr.Stage {
	case "reading memories", "embedding", "words":
		return "memory"
	case "reading commits":
		return "commit"
	}
	if strings.HasPrefix(pr.Stage, "asking") {
		return "question"
	}
	return "file"
}

// ProgressLine tells all of pr in one line.
func ProgressLine(pr wire.Progress) string {
	parts := []string{stageOf(pr)}
	if pr.Total > 0 {
		parts[0] += fmt.Sprintf(" %d%%", percent(pr))
		parts = append(parts, fmt.Sprintf("%d of %s", pr.Done, Plural(pr.Total, nounOf(pr))))
	} else if pr.Done > 0 {
		parts = append(parts, Plural(pr.Done, nounOf(pr)))
	}
	if pr.BytesTotal > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s", Size(pr.Bytes), Size(pr.BytesTotal)))
	}
	parts = append(parts, rates(pr)...)
	if eta := left(pr); eta != "" {
		parts = append(parts, eta)
	}
	return strings.Join(parts, ", ")
}

// progressIn tells pr with a bar, in at most width cells: what matters least is
// left out first.
func progressIn(pr wire.Progress, width int) string {
	head, tail := stageOf(pr), ""
	if pr.Total > 0 {
		tail = fmt.Sprintf("%3d%%  %d/%s", percent(pr), pr.Done, Plural(pr.Total, nounOf(pr)))
	} else if pr.Done > 0 {
		tail = Plural(pr.Done, nounOf(pr))
	}
	eta := left(pr)
	var more []string // may be left out, the last first
	if pr.BytesTotal > 0 {
		more = append(more, Size(pr.Bytes)+"/"+Size(pr.BytesTotal))
	}
	more = append(more, rates(pr)...)
	with := func(n int) string {
		parts := []string{}
		for _, s := range append([]string{tail}, more[:n]...) {
			if s != "" {
				parts = append(parts, s)
			}
		}
		if eta != "" {
			parts = append(parts, eta)
		}
		return strings.Join(parts, "  ")
	}
	n := len(more)
	for n > 0 && len(head)+len(with(n))+barLeast+5 > width {
		n--
	}
	line := with(n)
	if line == "" {
		return clip(head, width)
	}
	cells := min(barMost, width-len(head)-len(line)-5) // two brackets, the gaps
	if pr.Total == 0 || cells < barLeast {
		return clip(head+"  "+line, width)
	}
	full := min(cells, cells*pr.Done/pr.Total)
	return head + "  [" + strings.Repeat("=", full) + strings.Repeat(" ", cells-full) + "] " + line
}

func clip(s string, width int) string {
	if Columns(s) <= width {
		return s
	}
	return ansi.Truncate(s, max(width, 0), "")
}

func stageOf(pr wire.Progress) string {
	if pr.Stage == "" {
		return "indexing"
	}
	return pr.Stage
}

// percent is 100 only when all is done.
func percent(pr wire.Progress) int {
	if pr.Done >= pr.Total {
		return 100
	}
	return 100 * pr.Done / pr.Total
}

// rates tells files and bytes a second, as far as they are known.
func rates(pr wire.Progress) []string {
	var parts []string
	switch {
	case pr.PerSecond >= 10:
		parts = append(parts, fmt.Sprintf("%.0f/s", pr.PerSecond))
	case pr.PerSecond > 0:
		parts = append(parts, fmt.Sprintf("%.1f/s", pr.PerSecond))
	}
	if pr.BytesPerSecond > 0 {
		parts = append(parts, fmt.Sprintf("%.1f MB/s", pr.BytesPerSecond/(1<<20)))
	}
	return parts
}

// left tells the time until the stage ends, "" if that is not known.
func left(pr wire.Progress) string {
	d := time.Duration(pr.ETASeconds * float64(time.Second)).Round(time.Second)
	switch {
	case d < time.Second:
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%ds left", d/time.Second)
	case d < 10*time.Minute:
		return fmt.Sprintf("%dm %02ds left", d/time.Minute, d%time.Minute/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm left", d.Round(time.Minute)/time.Minute)
	}
	return fmt.Sprintf("%dh %02dm left", d/time.Hour, d%time.Hour/time.Minute)
}
