package terminal

import (
	"strings"
)

// A Table lines up columns of cleaned text.
type Table struct {
	Rows [][]string
}

func (t *Table) Row(cells ...string) {
	for i, c := range cells {
		cells[i] = Clean(c)
	}
	t.Rows = append(t.Rows, cells)
}

func (t *Table) Print(p Printer) {
	var widths []int
	for _, r := range t.Rows {
		for i, c := range r {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Columns(c))
		}
	}
	for _, r := range t.Rows {
		var b strings.Builder
		for i, c := range r {
			b.WriteString(c)
			if i < len(r)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-Columns(c)+2))
			}
		}
		p.Printf("%s\n", strings.TrimRight(b.String(), " "))
	}
}
