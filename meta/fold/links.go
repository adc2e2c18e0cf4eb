package fold

import (
	"slices"
	"strings"
)

// A NamedLink is a link in a frontmatter whose target is no id but a title, a
// file name or a path, as people write it in Obsidian's properties.
type NamedLink struct {
	Type    LinkType
	Target  string
	Context string
}

// ownKeyCount is how many link types have a key of their own.
const ownKeyCount = 6

// ownKeys returns the link types that have a key of their own, in the order in
// which we write them.
func ownKeys() [ownKeyCount]LinkType {
	return [ownKeyCount]LinkType{LinkRelated, LinkReferences, LinkDependsOn, LinkModifies, LinkConflictsWith, LinkSupersedes}
}

func ownKey(typ LinkType) bool { return keyRank(typ) < ownKeyCount }

// keyRank returns where the key of typ stands among the link keys; types
// without one come last.
func keyRank(typ LinkType) int {
	for i, k := range ownKeys() {
		if k == typ {
			return i
		}
	}
	return ownKeyCount
}

// linkKey returns the type of the links that stand under key.
func linkKey(key string) (LinkType, bool) {
	if key == "related_to" {
		return LinkRelated, true
	}
	typ := LinkType(key)
	return typ, typ != LinkRelated && ownKey(typ)
}

// keyOf returns the key under which links of typ stand.
func keyOf(typ LinkType) string {
	if typ == LinkRelated {
		return "related_to"
	}
	return string(typ)
}

// flatType returns typ as one word, as the flat list needs it.
func flatType(typ LinkType) LinkType {
	if ownKey(typ) {
		return typ
	}
	words := strings.Fields(cleanText(string(typ)))
	if len(words) == 0 {
		return LinkRelated
	}
	return LinkType(strings.Join(words, "_"))
}

// orderLinks returns links in the order in which a file holds them: those with
// a key of their own by key, then the flat list; each end and type once, the
// one with a context if there are two. It returns nil for none.
func orderLinks(links []Link) []Link {
	type edge struct {
		to  ID
		typ LinkType
	}
	at := make(map[edge]int, len(links))
	kept := make([]Link, 0, len(links))
	for _, l := range links {
		if l.Derived || l.To == "" {
			continue
		}
		l.Type = flatType(l.Type)
		if l.Context != "" {
			l.Context = strings.Join(strings.Fields(cleanText(l.Context)), " ")
		}
		k := edge{l.To, l.Type}
		if i, ok := at[k]; ok {
			if kept[i].Context == "" {
				kept[i].Context = l.Context
			}
			continue
		}
		at[k] = len(kept)
		kept = append(kept, l)
	}
	if len(kept) == 0 {
		return nil
	}
	rank := func(l Link) int {
		if l.Context == "" {
			return keyRank(l.Type)
		}
		return ownKeyCount
	}
	slices.SortStableFunc(kept, func(a, b Link) int { return rank(a) - rank(b) })
	return kept
}

// WrittenLinks returns the links written in m: those of the frontmatter, and
// the wiki links of the body as references. Targets that are no id go through
// resolve, which may be nil. Each end and type occurs once; links of a memory
// to itself are left out.
func (m *Memory) WrittenLinks(resolve func(target string) (ID, bool)) []Link {
	find := func(target string) (ID, bool) {
		if resolve != nil {
			if id, ok := resolve(target); ok {
				return id, true
			}
		}
		return targetID(target)
	}
	links := slices.Clone(m.Links)
	for _, n := range m.ByName {
		if id, ok := find(n.Target); ok {
			links = append(links, Link{To: id, Type: n.Type, Context: n.Context})
		}
	}
	for _, w := range WikiLinks(m.Body) {
		if w.Target == "" {
			continue
		}
		if id, ok := find(w.Target); ok {
			links = append(links, Link{To: id, Type: LinkReferences})
		}
	}
	links = slices.DeleteFunc(orderLinks(links), func(l Link) bool { return l.To == m.ID })
	for i := range links {
		links[i].From, links[i].Weight = m.ID, 1
	}
	return links
}
