package fold

import "strings"

// Names returns what a link may call the memory of e, in the form in which
// [LinkNames] returns the targets of links.
func (e ResolverEntry) Names() []string {
	var names []string
	add := func(s string) {
		if k := linkName(s); k != "" {
			names = append(names, k)
		}
	}
	add(string(e.ID))
	add(e.Title)
	add(e.Foreign)
	for _, a := range e.Aliases {
		add(a)
	}
	p := e.Path
	if p == "" && len(e.ID) == 16 {
		p = e.ID.Path()
	}
	k := linkName(p)
	for k != "" {
		names = append(names, k)
		_, rest, deeper := strings.Cut(k, "/")
		if !deeper {
			break
		}
		k = rest
	}
	return names
}

// LinkNames returns the names by which m links to others: its wiki links and the
// links of its frontmatter that are no ids. Nil means that all of its links are
// by id.
func (m *Memory) LinkNames() []string {
	var names []string
	add := func(target string) {
		if i := strings.IndexByte(target, '#'); i > 0 {
			target = target[:i]
		}
		if k := linkName(target); k != "" {
			names = append(names, k)
			if cut, ok := strings.CutPrefix(k, "fold/"); ok {
				names = append(names, cut)
			}
		}
	}
	for _, n := range m.ByName {
		add(n.Target)
	}
	for _, w := range WikiLinks(m.Body) {
		add(w.Target)
	}
	return names
}
