package describe

import (
	"fmt"
	"slices"
	"strings"
)

// A component is something a file defines that a reader may look for.
type component struct {
	kind      string // node type: class, function, h2, key, target, …
	name      string
	signature string // of a function: "(a, b int) error"; may be ""
	doc       string // one sentence, without the name if it began with it; may be ""
	form      docForm
	level     int  // of a heading, from 1; 0 otherwise
	open      bool // other files can use it
	trivial   bool // every type has it: a constructor, a getter
	lines     int
	order     int      // place in the file
	weight    float64  // how much it matters, see rank
	members   []string // names of methods that others can use, in order
	inner     []string // names of its other methods
	said      []member // documented ones of members
}

// A member is a method with what its comment says.
type member struct {
	name, signature, doc string
	form                 docForm
}

// writeLine writes the component as an item of a markdown list, its documented
// methods below it.
func (c component) writeLine(b *strings.Builder) {
	if c.level > 0 {
		b.WriteString(strings.Repeat("  ", c.level-1) + "- " + c.name + "\n")
		return
	}
	word := kindWord(c.kind)
	if word == "function" || word == "method" {
		if word = ""; c.signature == "" && !strings.Contains(c.name, "`") {
			c.signature = "()"
		}
	}
	b.WriteString("- `" + c.name + c.signature + "`")
	list := c.members
	if len(list) == 0 {
		list = c.inner
	}
	if len(c.said) > 0 { // they have lines of their own
		list = slices.DeleteFunc(slices.Clone(list), func(name string) bool {
			return slices.ContainsFunc(c.said, func(m member) bool { return m.name == name })
		})
	}
	more := len(list) > 0
	switch {
	case c.doc != "":
		b.WriteString(" - " + c.doc)
	case word != "":
		b.WriteString(" - " + word)
		if more {
			b.WriteByte('.')
		}
	case more:
		b.WriteString(" -")
	}
	if more {
		const most = 8
		b.WriteString(" Methods: " + strings.Join(list[:min(most, len(list))], ", "))
		if left := len(list) - most; left > 0 {
			fmt.Fprintf(b, " and %d more", left)
		}
		b.WriteByte('.')
	}
	b.WriteByte('\n')
	for _, m := range c.said {
		b.WriteString("  - `" + m.name + m.signature + "` - " + m.doc + "\n")
	}
}
