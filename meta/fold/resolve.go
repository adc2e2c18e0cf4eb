package fold

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// ResolverEntry is what a link may call a memory.
type ResolverEntry struct {
	ID      ID
	Path    string // below fold/; "" if the memory has no file
	Title   string
	Aliases []string
	Foreign string
}

// A Resolver finds the memory a wiki link means, as Obsidian does: by id, path,
// end of a path, file name, then title, alias and foreign id, whatever the
// case. Where several fit, the shortest path wins. It does not change once made
// and is safe for concurrent use.
type Resolver struct {
	ids    map[ID]bool
	paths  map[string]ID // whole paths and their ends, without .md
	titles map[string]ID
	alias  map[string]ID
	other  map[string]ID // foreign ids
}

// NewResolver returns a Resolver over entries.
func NewResolver(entries []ResolverEntry) *Resolver {
	r := &Resolver{
		ids:    make(map[ID]bool, len(entries)),
		paths:  map[string]ID{},
		titles: make(map[string]ID, len(entries)),
		alias:  map[string]ID{},
		other:  map[string]ID{},
	}
	type named struct {
		ResolverEntry
		path string
	}
	list := make([]named, 0, len(entries))
	for _, e := range entries {
		p := e.Path
		if p == "" && len(e.ID) == 16 {
			p = e.ID.Path()
		}
		list = append(list, named{e, p})
	}
	// First come, first kept: so the shortest path goes first.
	slices.SortFunc(list, func(a, b named) int {
		return cmp.Or(
			cmp.Compare(strings.Count(a.path, "/"), strings.Count(b.path, "/")),
			cmp.Compare(len(a.path), len(b.path)),
			cmp.Compare(a.path, b.path),
			cmp.Compare(a.ID, b.ID),
		)
	})
	keep := func(m map[string]ID, name string, id ID) {
		if k := linkName(name); k != "" {
			if _, ok := m[k]; !ok {
				m[k] = id
			}
		}
	}
	whole := map[string]bool{} // whole paths beat ends of other paths
	for _, e := range list {
		r.ids[e.ID] = true
		if _, own := OwnPath(e.path); !own { // those are found by their id
			if k := linkName(e.path); k != "" && !whole[k] {
				whole[k] = true
				r.paths[k] = e.ID
			}
		}
		keep(r.titles, e.Title, e.ID)
		for _, a := range e.Aliases {
			keep(r.alias, a, e.ID)
		}
		keep(r.other, e.Foreign, e.ID)
	}
	for _, e := range list {
		if _, own := OwnPath(e.path); own {
			continue
		}
		k := linkName(e.path)
		for i := strings.IndexByte(k, '/'); i >= 0; i = strings.IndexByte(k, '/') {
			k = k[i+1:]
			keep(r.paths, k, e.ID)
		}
	}
	return r
}

// Resolve returns the memory that target means. A target that is an id, or the
// path of a file of ours, resolves even where no memory has it: such a link
// dangles until one does.
func (r *Resolver) Resolve(target string) (ID, bool) {
	if i := strings.IndexByte(target, '#'); i > 0 {
		target = target[:i]
	}
	id, isID := targetID(target)
	if isID && r.ids[id] {
		return id, true
	}
	k := linkName(target)
	if k == "" {
		return "", false
	}
	for _, name := range [...]string{k, strings.TrimPrefix(k, "fold/")} {
		for _, m := range [...]map[string]ID{r.paths, r.titles, r.alias, r.other} {
			if found, ok := m[name]; ok {
				return found, true
			}
		}
	}
	return id, isID
}

// linkName returns s as links compare it: composed, lower case, one space
// between words, without .md, leading ./, ../ or /.
func linkName(s string) string {
	s = strings.Join(strings.Fields(norm.NFC.String(s)), " ")
	s = strings.ToLower(s)
	for {
		switch {
		case strings.HasPrefix(s, "./"):
			s = s[2:]
		case strings.HasPrefix(s, "../"):
			s = s[3:]
		case strings.HasPrefix(s, "/"):
			s = s[1:]
		default:
			if cut, ok := strings.CutSuffix(s, ".md"); ok && cut != "" {
				return cut
			}
			return s
		}
	}
}
