//go:build cgo

package syntax

import (
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_ruby "github.com/tree-sitter/tree-sitter-ruby/bindings/go"
)

func rubyTable() *table {
	return &table{
		language:  func() *sitter.Language { return sitter.NewLanguage(grammar_ruby.Language()) },
		leads:     "comment",
		opaque:    "heredoc_body",
		prose:     "uninterpreted",
		sep:       "::",
		methodSep: ".",
		rules: map[string]rule{
			"module":           {act: holds, kind: "module"},
			"class":            {act: holds, kind: "class"},
			"singleton_class":  {act: enter}, // class << self
			"method":           {inspect: rubyMethod},
			"singleton_method": {inspect: rubyMethod},
			"assignment":       {inspect: rubyStruct},
			"call":             {imports: true, inspect: rubyCall},
			"argument_list":    {act: enter}, // private def f
			"do_block":         {act: enter},
			"block":            {act: enter},
			"block_body":       {act: enter},
			"body_statement":   {act: enter},
			"if":               {act: enter},
			"unless":           {act: enter},
			"else":             {act: enter},
			"then":             {act: enter},
			"begin":            {act: enter},
			"rescue":           {act: enter},
		},
		imports: rubyImports,
		// The signature of a method, as Sorbet has it, stands between it and its comment.
		leading: func(n *sitter.Node, src []byte) bool {
			return is(n, "call") && child(n, "block") != nil && child(n, "receiver") == nil && text(child(n, "method"), src) == "sig"
		},
	}
}

// rubyMethod tells methods from functions, which lie in no class or module.
func rubyMethod(n *sitter.Node, src []byte) found {
	f := found{act: define, kind: "function", name: line(child(n, "name"), src)}
	for up := n.Parent(); up != nil; up = up.Parent() {
		if is(up, "class", "module", "singleton_class", "assignment") {
			f.kind = "method"
			break
		}
	}
	if object := child(n, "object"); object != nil && !is(object, "self") {
		f.kind, f.owner = "method", line(object, src)
	}
	return f
}

// rubyStruct finds classes that are made by a call: A = Struct.new(:b) do … end.
func rubyStruct(n *sitter.Node, src []byte) found {
	left, right := child(n, "left"), child(n, "right")
	if !is(left, "constant", "scope_resolution") || !is(right, "call") || child(right, "block") == nil {
		return found{}
	}
	switch line(child(right, "receiver"), src) + "." + line(child(right, "method"), src) {
	case "Struct.new", "Class.new", "Data.define":
		return found{act: holds, kind: "class", name: line(left, src)}
	case "Module.new":
		return found{act: holds, kind: "module", name: line(left, src)}
	}
	return found{}
}

// rubyCall looks into blocks, of which describe and class_methods are two, and
// into what is given the method it stands before.
func rubyCall(n *sitter.Node, src []byte) found {
	args := child(n, "arguments")
	if child(n, "block") == nil {
		if args != nil && is(args.NamedChild(0), "method", "singleton_method") {
			return found{act: wrap}
		}
		return found{}
	}
	if line(child(n, "method"), src) == "define_method" && args != nil {
		f := rubyMethod(n, src)
		f.name = strings.Trim(line(args.NamedChild(0), src), `:"'`)
		return f
	}
	return found{act: enter}
}

// rubyImports returns what is required: a path that begins with a dot is meant
// from the file.
func rubyImports(n *sitter.Node, src []byte) []string {
	args := child(n, "arguments")
	if args == nil || child(n, "receiver") != nil {
		return nil
	}
	method, arg := text(child(n, "method"), src), args.NamedChild(0)
	switch method {
	case "require", "require_relative", "load", "require_dependency":
	case "autoload":
		arg = args.NamedChild(1)
	default:
		return nil
	}
	if !is(arg, "string") || arg.NamedChildCount() != 1 {
		return nil
	}
	name := stringContent(arg, src)
	if method == "require_relative" && name != "" && !strings.HasPrefix(name, ".") {
		name = "./" + name
	}
	return []string{name}
}
