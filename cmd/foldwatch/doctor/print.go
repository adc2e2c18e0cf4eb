package doctor

import (
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

// Widths of the columns before the text; where they end, further lines begin.
const (
	statusWidth = len(Skipped)
	nameWidth   = len("configuration")
	textColumn  = 2 + 2 + statusWidth + 2 + nameWidth + 2
)

// Print prints a line for each result, and below it what to do. On a
// terminal long ones go on below themselves; elsewhere a line is a line.
func Print(s *terminal.Streams, found []Result, dryRun bool) {
	p, width := s.Data(), s.TerminalWidth()
	last := 0
	for _, r := range found {
		number := fmt.Sprintf("%2d", r.Number)
		if r.Number == last {
			number = "  "
		}
		last = r.Number
		p.Printf("%s  %s  %s  %s\n", number, mark(r.Status), fmt.Sprintf("%-*s", nameWidth, r.Name), folded(r.Text, width))
		below := func(word, text string) {
			if text != "" {
				p.Printf("%*s%s\n", textColumn, "", folded(word+" "+text, width))
			}
		}
		switch {
		case r.Status == Fixed:
			below("did:", r.Fix)
		case r.Fix != "" && dryRun:
			below("--fix would:", r.Fix)
		default:
			below("do:", r.Mend)
		}
	}
	n := Tally(found)
	var parts []string
	for _, status := range []string{OK, Warn, Fail, Fixed, Skipped} {
		if n[status] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[status], status))
		}
	}
	mends := 0
	for _, r := range found {
		if r.NeedsAction() && r.remedy != nil {
			mends++
		}
	}
	line := strings.Join(parts, ", ")
	if mends > 0 && !dryRun {
		line += fmt.Sprintf("; %d of them foldwatch doctor --fix can mend", mends)
	}
	s.Messages(false).Printf("%s\n", line)
}

// mark is a status in its column, in the colour that people expect.
func mark(status string) terminal.Styled {
	code := map[string]string{OK: "32", Warn: "33", Fail: "1;31", Fixed: "32", Skipped: "2"}[status]
	return terminal.InColor(code, fmt.Sprintf("%-*s", statusWidth, status))
}

// folded breaks a clean text between words into lines that fit behind textColumn;
// 0 is any width. What is longer than a line stays whole, to be copied.
func folded(text string, width int) terminal.Block {
	text = terminal.Clean(text)
	room := width - textColumn
	if width == 0 || room < 20 || terminal.Columns(text) <= room {
		return terminal.Block(text)
	}
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(text) {
		n := terminal.Columns(word)
		switch {
		case at == 0:
		case at+1+n > room:
			b.WriteString("\n" + strings.Repeat(" ", textColumn))
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return terminal.Block(b.String())
}
