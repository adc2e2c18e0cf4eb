//go:build cgo

package syntax

import (
	grammar_lua "github.com/tree-sitter-grammars/tree-sitter-lua/bindings/go"
	sitter "github.com/tree-sitter/go-tree-sitter"
)

func luaTable() *table {
	return &table{
		language:  func() *sitter.Language { return sitter.NewLanguage(grammar_lua.Language()) },
		leads:     "comment",
		sep:       ".",
		methodSep: ":",
		rules: map[string]rule{
			"function_declaration": {inspect: luaFunction},
			"variable_declaration": {act: wrap},
			"assignment_statement": {inspect: luaAssigned},
			"field":                {inspect: luaField},
			"expression_list":      {act: enter},
			"table_constructor":    {act: enter},
			"return_statement":     {act: enter}, // the table that a module returns
			"do_statement":         {act: enter},
			"if_statement":         {act: enter},
			"else_statement":       {act: enter},
			"block":                {act: enter},
			// Files that are one call of a function.
			"function_call":       {act: enterLong},
			"arguments":           {act: enterLong},
			"function_definition": {act: enterLong},
		},
		calls: []string{"require", "dofile"},
	}
}

// luaFunction names a function by what it is put into: M.new, Queue:push.
func luaFunction(n *sitter.Node, src []byte) found {
	name := child(n, "name")
	f := found{act: define, kind: "function", name: line(name, src)}
	switch {
	case is(name, "dot_index_expression"):
		f.owner, f.name = line(child(name, "table"), src), line(child(name, "field"), src)
	case is(name, "method_index_expression"):
		f.kind, f.owner, f.name = "method", line(child(name, "table"), src), line(child(name, "method"), src)
	}
	return f
}

// luaAssigned finds functions, and tables of them, that are given to a name.
func luaAssigned(n *sitter.Node, src []byte) found {
	names, values := n.NamedChild(0), n.NamedChild(1)
	if !is(names, "variable_list") || !is(values, "expression_list") || names.NamedChildCount() != 1 {
		return found{act: enter}
	}
	name, value := names.NamedChild(0), values.NamedChild(0)
	if is(value, "table_constructor") {
		if !hasFunctions(value) {
			return found{}
		}
		return found{act: holds, kind: "module", name: line(name, src)}
	}
	if !is(value, "function_definition") {
		return found{act: enter}
	}
	f := found{act: define, kind: "function", name: line(name, src)}
	if is(name, "dot_index_expression") {
		f.owner, f.name = line(child(name, "table"), src), line(child(name, "field"), src)
	}
	return f
}

// luaField finds functions and tables of them in a table.
func luaField(n *sitter.Node, src []byte) found {
	name := text(child(n, "name"), src)
	switch value := child(n, "value"); {
	case is(value, "function_definition"):
		return found{act: define, kind: "function", name: name}
	case is(value, "table_constructor") && hasFunctions(value) && name != "":
		return found{act: holds, kind: "module", name: name}
	}
	return found{}
}

// hasFunctions reports whether a table holds functions under names.
func hasFunctions(t *sitter.Node) bool {
	c := t.Walk()
	defer c.Close()
	for ok := c.GotoFirstChild(); ok; ok = c.GotoNextSibling() {
		if f := c.Node(); is(f, "field") && child(f, "name") != nil && is(child(f, "value"), "function_definition") {
			return true
		}
	}
	return false
}
