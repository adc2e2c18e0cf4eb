package fold

import (
	"slices"
	"strings"
)

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

// ListedNames returns those of Names that an index of ids and of titles in lower
// case does not find: aliases, foreign ids, paths of files that are not ours and
// their ends, and titles that links write otherwise. Each occurs once.
func (e ResolverEntry) ListedNames() []string {
	if _, own := OwnPath(e.Path); own || e.Path == "" {
		if len(e.Aliases) == 0 && e.Foreign == "" && linkName(e.Title) == strings.ToLower(e.Title) {
			return nil
		}
		e.Path = ""
	}
	var names []string
	add := func(k string) {
		if k != "" && !slices.Contains(names, k) {
			names = append(names, k)
		}
	}
	title := linkName(e.Title)
	if title != strings.ToLower(e.Title) {
		add(title)
	}
	if k := linkName(e.Foreign); k != title {
		add(k)
	}
	for _, a := range e.Aliases {
		if k := linkName(a); k != title || title != strings.ToLower(e.Title) {
			add(k)
		}
	}
	for k, deeper := linkName(e.Path), true; deeper; _, k, deeper = strings.Cut(k, "/") {
		add(k)
	}
	return names
}

// LinkNames returns the names by which m links to others: its wiki links and the
// links of its frontmatter that are no ids. Nil means that all of its links are
// by id.
func (m *Memory) LinkNames() []string {
	names, _ := m.LinkTargets()
	return names
}

// LinkTargets returns what LinkNames does, and the ids among them.
func (m *Memory) LinkTargets() (names []string, ids []ID) {
	add := func(target string) {
		if i := strings.IndexByte(target, '#'); i > 0 {
			target = target[:i]
		}
		if id, ok := targetID(target); ok {
			ids = append(ids, id)
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
	return names, ids
}
