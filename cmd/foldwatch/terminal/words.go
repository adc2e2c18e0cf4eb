package terminal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Ago tells an age as people do.
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return Span(now.Sub(t)) + " ago"
}

// Span rounds a duration to its largest unit.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Size tells bytes in the unit that fits.
func Size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.0f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.0f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}

// Plural returns "1 file", "2 files".
func Plural(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "y"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Sorted lists names in their order.
func Sorted(names []string) string {
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Quote quotes s for a shell where it must be.
func Quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@\\", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Columns is how many columns of a terminal a clean line takes: wide characters,
// those of East Asian scripts and most pictures, take two, marks on others none.
func Columns(s string) int { return ansi.StringWidth(s) }

// Short cuts s to n columns.
func Short(s string, n int) string { return ansi.Truncate(s, n, "…") }
