//go:build !cgo

package chunker

// Engine names what cuts source: tree-sitter, or text in a build without cgo,
// where Go is cut by go/parser and all else as text.
func Engine() string { return "text" }

// An engine parses with what Go itself brings.
type engine struct{}

func (engine) close() {}

func (engine) outline(lang string, src []byte, opt Options) (_ *outline, timedOut bool) {
	if lang != "go" {
		return nil, false
	}
	return outlineGo(src, opt.MaxLines, false), false
}
