package fold

import (
	"slices"
	"strings"
)

// Retarget returns a copy of m in which every link to the memory was, in the
// frontmatter or in the text, by id, path, name or title, leads to the memory
// to. It reports whether there was one.
func Retarget(m *Memory, was ResolverEntry, to ID) (*Memory, bool) {
	next := *m
	changed := false
	next.Links = slices.Clone(m.Links)
	for i := range next.Links {
		if next.Links[i].To == was.ID {
			next.Links[i].To = to
			changed = true
		}
	}
	only := NewResolver([]ResolverEntry{was})
	target := strings.TrimSuffix(to.Path(), ".md")
	next.ByName = nil
	for _, l := range m.ByName {
		if id, ok := only.Resolve(l.Target); ok && id == was.ID {
			next.Links = append(next.Links, Link{From: m.ID, To: to, Type: l.Type, Context: l.Context, Weight: 1})
			changed = true
			continue
		}
		next.ByName = append(next.ByName, l)
	}
	next.Body = RewriteLinks(m.Body, func(s string) (string, bool) {
		id, ok := only.Resolve(s)
		return target, ok && id == was.ID
	})
	return &next, changed || next.Body != m.Body
}
