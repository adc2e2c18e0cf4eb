// Package regex compiles regular expressions when they are first needed.
package regex

import (
	"regexp"
	"sync"
)

// Later compiles an expression when it is first needed, once: each command is the
// whole program too, and to compile them all takes longer than most of what it does.
func Later(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
