package chunker

import (
	"strings"

	"github.com/foldwatch/foldwatch/chunker/source"
)

const maxName = 512 // bytes of a name, an import or a package

// clean makes a name that was cut out of a file fit to be shown and stored: one
// line of at most maxName bytes of UTF-8, without space around it.
func clean(name string) string {
	if len(name) > maxName {
		name = source.Truncate(name, maxName)
	}
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "�"))
	if len(name) > maxName { // a byte that is no UTF-8 has become three
		name = source.Truncate(name, maxName)
	}
	return strings.TrimSpace(name)
}

// unique returns imports cleaned, each once, without those too long to be one.
func unique(in []string) []string {
	seen := make(map[string]bool, len(in))
	var out []string
	for _, s := range in {
		if len(s) > maxName {
			continue
		}
		if s = clean(s); s == "" || seen[s] {
			continue
		}
		seen[s] = true
		out = append(out, s)
	}
	return out
}
