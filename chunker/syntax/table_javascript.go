//go:build cgo

package syntax

import (
	"strings"

	sitter "github.com/tree-sitter/go-tree-sitter"
	grammar_javascript "github.com/tree-sitter/tree-sitter-javascript/bindings/go"
)

func javascriptTable() *table {
	return &table{
		language: func() *sitter.Language { return sitter.NewLanguage(grammar_javascript.Language()) },
		leads:    "comment decorator",
		sep:      ".",
		rules:    javascriptRules(),
		calls:    []string{"require(", "import("},
		imports:  javascriptImports,
	}
}

// javascriptRules are shared with TypeScript.
func javascriptRules() map[string]rule {
	return map[string]rule{
		"import_statement":               {imports: true},
		"export_statement":               {act: wrap, imports: true},
		"function_declaration":           {act: define, kind: "function"},
		"generator_function_declaration": {act: define, kind: "function"},
		"class_declaration":              {act: holds, kind: "class"},
		"class_body":                     {act: enter},
		"method_definition": {member: "method", inspect: func(n *sitter.Node, src []byte) found {
			// Methods of an object literal belong to no class; ['a'] is a.
			return found{act: define, kind: "function", name: strings.Trim(text(child(n, "name"), src), "[]'\"")}
		}},
		"field_definition":      {inspect: valueNamed("property"), member: "method"},
		"lexical_declaration":   {act: wrap},
		"variable_declaration":  {act: wrap},
		"variable_declarator":   {inspect: valueNamed("name")},
		"expression_statement":  {act: wrap},
		"assignment_expression": {inspect: assigned},
		// export default () => {}, and files that are one call of a function.
		"arrow_function":           {inspect: exported},
		"function_expression":      {inspect: exported},
		"class":                    {inspect: exported},
		"call_expression":          {act: enterLong},
		"arguments":                {act: enterLong},
		"parenthesized_expression": {act: enterLong},
		"statement_block":          {act: enterLong},
		// Handlers by their names, and components of Vue without setup.
		"object": {inspect: objectOf},
		"pair":   {inspect: paired},
	}
}

func javascriptImports(n *sitter.Node, src []byte) []string {
	source := child(n, "source")
	if source == nil {
		return nil
	}
	return []string{quoted(text(source, src))}
}

// valueNamed finds functions and classes that are the value of what the field
// names: const f = () => {}, and fields of classes.
func valueNamed(field string) func(*sitter.Node, []byte) found {
	return func(n *sitter.Node, src []byte) found {
		name := child(n, field)
		if name == nil || is(name, "object_pattern", "array_pattern") {
			return found{}
		}
		f := valued(child(n, "value"), strings.Trim(text(name, src), "[]'\""))
		if f.act == 0 && is(n, "variable_declarator") && (isFunctionType(child(n, "type")) || wrapsFunction(child(n, "value"))) {
			f = found{act: define, kind: "function", name: text(name, src)}
		}
		return f
	}
}

// isFunctionType reports whether a type annotation says that what it stands at can
// be called: const map: { <A>(a: A): B } = dual(2, …).
func isFunctionType(annotation *sitter.Node) bool {
	if !is(annotation, "type_annotation") {
		return false
	}
	t := annotation.NamedChild(0)
	if is(t, "object_type") {
		t = t.NamedChild(0)
		for is(t, "comment") {
			t = t.NextNamedSibling()
		}
		return is(t, "call_signature")
	}
	return is(t, "function_type")
}

// wrapsFunction reports whether a value is a call that is given a function:
// memo(() => …), wrap(async function () {}).
func wrapsFunction(value *sitter.Node) bool {
	if !is(value, "call_expression") {
		return false
	}
	args := child(value, "arguments")
	if args == nil {
		return false
	}
	c := args.Walk()
	defer c.Close()
	for ok := c.GotoFirstChild(); ok; ok = c.GotoNextSibling() {
		if is(c.Node(), "arrow_function", "function_expression", "generator_function") {
			return true
		}
	}
	return false
}

func valued(value *sitter.Node, name string) found {
	switch {
	case is(value, "arrow_function", "function_expression", "generator_function"):
		return found{act: define, kind: "function", name: name}
	case is(value, "class"):
		return found{act: define, kind: "class", name: name}
	case is(value, "object") && holdsFunctions(value, 2):
		return found{act: holdsLong, kind: "module", name: name}
	}
	return found{}
}

// objectOf looks into a long object of functions. One that is exported as it is
// has a header of its own; what is given to a name got one by that.
func objectOf(n *sitter.Node, _ []byte) found {
	switch {
	case !holdsFunctions(n, 2):
		return found{}
	case is(n.Parent(), "export_statement"):
		return found{act: holdsLong, kind: "module", name: "default"}
	case is(n.Parent(), "arguments"): // export default defineComponent({…})
		return found{act: enterLong}
	}
	return found{act: enter} // what holds it decided
}

// paired finds functions, and objects of them, in an object that is looked into.
func paired(n *sitter.Node, src []byte) found {
	f := valued(child(n, "value"), strings.Trim(text(child(n, "key"), src), "[]'\""))
	if f.act == holdsLong {
		f.act = holds // methods: {…}
	}
	return f
}

// holdsFunctions reports whether an object holds functions under names, or, if
// depth is more than 1, an object that does.
func holdsFunctions(object *sitter.Node, depth int) bool {
	c := object.Walk()
	defer c.Close()
	for ok := c.GotoFirstChild(); ok; ok = c.GotoNextSibling() {
		n := c.Node()
		switch value := child(n, "value"); {
		case is(n, "method_definition"):
			return true
		case !is(n, "pair"):
		case is(value, "arrow_function", "function_expression", "generator_function"),
			depth > 1 && is(value, "object") && holdsFunctions(value, depth-1):
			return true
		}
	}
	return false
}

// assigned finds module.exports.f = function () {} and A.prototype.f = ….
func assigned(n *sitter.Node, src []byte) found {
	left := child(n, "left")
	if !is(left, "identifier", "member_expression") {
		return found{}
	}
	name := line(left, src)
	name = strings.TrimPrefix(strings.TrimPrefix(name, "module."), "exports.")
	if name == "exports" {
		name = "default"
	}
	f := valued(child(n, "right"), strings.ReplaceAll(name, ".prototype.", "."))
	if owner, method, ok := strings.Cut(name, ".prototype."); ok && f.name != "" {
		f.kind, f.owner, f.name = "method", owner, method
	}
	return f
}

// exported finds what an export statement holds without a name. A function that
// fills the file is looked into.
func exported(n *sitter.Node, src []byte) found {
	name := text(child(n, "name"), src)
	if up := n.Parent(); !is(up, "export_statement") {
		return found{act: enterLong}
	}
	if name == "" {
		name = "default"
	}
	if is(n, "class") {
		return found{act: holds, kind: "class", name: name}
	}
	return found{act: define, kind: "function", name: name}
}
