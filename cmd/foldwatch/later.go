package main

import (
	"regexp"
	"sync"
)

// later compiles an expression when it is first needed, once: most commands need none.
func later(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
