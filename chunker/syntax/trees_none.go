//go:build !cgo

package syntax

// Engine names what parses in this build: nothing but go/parser.
const Engine = textEngine

// Languages returns the languages that this build parses.
func Languages() []string { return []string{"go"} }

// A build without cgo has no trees.
type trees struct{}

func (trees) close() {}

func (trees) outline(string, []byte, Options) (_ *Outline, timedOut bool) { return nil, false }
