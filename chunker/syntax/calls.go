//go:build cgo

package syntax

import (
	"bytes"
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// calledImports finds imports that are expressions, wherever they are:
// require("fs").
func calledImports(g *grammar, root *sitter.Node, src []byte) []string {
	called := g.called
	if called == nil {
		called = firstArgument
	}
	var out []string
	for _, name := range g.calls {
		word := []byte(name)
		size := len(strings.TrimSuffix(name, "("))
		for at := 0; ; at += len(word) {
			i := bytes.Index(src[at:], word)
			if i < 0 {
				break
			}
			at += i
			n := root.DescendantForByteRange(uint(at), uint(at+size))
			if n == nil || int(n.StartByte()) != at || int(n.EndByte()) != at+size || n.ChildCount() > 0 {
				continue // in a string, a comment or another word
			}
			up := n.Parent()
			for up != nil && up.EndByte() == n.EndByte() && up.StartByte() == n.StartByte() {
				up = up.Parent() // the word import is a node of its own in JavaScript
			}
			if up != nil {
				out = append(out, called(up, src)...)
			}
		}
	}
	return out
}

// firstArgument returns what the string is that a call is given first.
func firstArgument(call *sitter.Node, src []byte) []string {
	arg := child(call, "source")
	if args := child(call, "arguments"); args != nil {
		arg = args.NamedChild(0)
	}
	if !is(arg, "string") {
		return nil
	}
	if s := stringContent(arg, src); s != "" {
		return []string{s} // [[in Lua]]
	}
	return []string{quoted(text(arg, src))}
}
