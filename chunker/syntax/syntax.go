// Package syntax finds the definitions in source of some 25 languages: which
// bytes each takes, what it is called, where it may be divided. It is the only
// package that uses tree-sitter and its grammars; go/parser reads Go that has no
// errors, six times as fast.
//
// A [Parser] owns the parser in C and the grammars it has met, and serves one
// goroutine; an [Outline] is read by one goroutine and holds memory of C until it
// is closed. Nothing here waits for anything but the CPU: a parse ends at its
// deadline. There are no errors, since source may always be cut as text instead.
// What can happen is worse: grammars are C, and hostile source may crash them or
// have them grow, which takes the process along. Package worker is for that.
//
// To add a language, write table_<name>.go, name it in tables, which only builds
// with cgo have, and say in package chunker what its files are called.
package syntax

import "time"

// Options says how to parse.
type Options struct {
	// MaxLines is the length in lines above which a piece will be divided.
	MaxLines int
	// Deadline is how long a parse may take, in CPU time where the system tells.
	Deadline time.Duration
	// SlowGo has Go parsed by tree-sitter as well.
	SlowGo bool
}

// The names of engines.
const (
	treeEngine = "tree-sitter"
	textEngine = "text"
)
