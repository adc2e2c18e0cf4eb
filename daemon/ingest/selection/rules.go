package selection

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
)

// Rules say which source files are indexed and where their descriptions go.
type Rules struct {
	// Include and Exclude are globs over paths with forward slashes; ** crosses
	// folders. No Include means everything.
	Include, Exclude []string
	// FileMemories is auto, fold or local.
	FileMemories string

	// ignores are what the files of the checkout say; a [Selection] reads them.
	ignores *ignores
}

// Same reports whether two rules say the same but for what the files of a
// checkout ignore.
func (r Rules) Same(o Rules) bool {
	return slices.Equal(r.Include, o.Include) && slices.Equal(r.Exclude, o.Exclude) && r.FileMemories == o.FileMemories
}

// Sum is the same for rules that say the same.
func (r Rules) Sum() string {
	s := fmt.Sprintf("%q %q %q", r.Include, r.Exclude, r.FileMemories)
	if g := r.ignores; g != nil {
		s += fmt.Sprintf(" %+v %+v %+v", g.files, g.vendored, g.generated)
	}
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

func matchAny(globs []string, p string) bool {
	for _, g := range globs {
		if ok, err := doublestar.Match(g, p); err == nil && ok {
			return true
		}
	}
	return false
}
