package syntax

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/chunker/source"
)

// maxNesting is how deep brackets may lie in one another: go/parser recurses.
const maxNesting = 1000

// parseGo finds what is in a Go file with the parser of the standard library.
// It returns nil if not even a package clause was found, if brackets are nested
// deeper than it is safe to recurse, or, if sound is set, if there is any error.
func parseGo(src []byte, maxLines int, sound bool) *Outline {
	if nesting(src) > maxNesting {
		return nil
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.ParseComments|parser.SkipObjectResolution) // keeps what is sound
	if err != nil && sound || f == nil || f.Name == nil || f.Name.Name == "" || f.Name.Name == "_" {
		return nil
	}
	g := &goFile{file: fset.File(f.FileStart), src: src, maxLines: maxLines, out: newOutline(src)}
	g.out.Package = f.Name.Name
	if f.Doc != nil && !source.IsLicence(f.Doc.Text()) {
		g.out.Doc = source.CommentDoc(f.Doc.Text())
	}
	for _, s := range f.Imports {
		if path, err := strconv.Unquote(s.Path.Value); err == nil {
			g.out.Imports = append(g.out.Imports, path)
		}
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if sp, ok := g.span(c.Pos(), c.End()); ok {
				g.out.leads = append(g.out.leads, sp)
			}
		}
	}
	for _, d := range f.Decls {
		g.decl(d)
	}
	g.out.breaks = func() []source.Break { return g.breaks(f) }
	return g.out
}

// nesting returns how many opening brackets there are, in code or not, before
// their closing ones, at most.
func nesting(src []byte) int {
	depth, deepest := 0, 0
	for _, c := range src {
		switch c {
		case '(', '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
	}
	return deepest
}

type goFile struct {
	file     *token.File
	src      []byte
	maxLines int
	out      *Outline
}

func (g *goFile) span(from, to token.Pos) (span, bool) {
	if !from.IsValid() || !to.IsValid() || int(from) < g.file.Base() || int(to) > g.file.Base()+g.file.Size() {
		return span{}, false
	}
	s := span{g.file.Offset(from), g.file.Offset(to)}
	return s, s.start < s.end && s.end <= len(g.src)
}

// add appends an item. From and to are its bounds; doc is where the definition
// proper begins, before which its comment stands.
func (g *goFile) add(from, doc, to token.Pos, kind, name string) {
	if s, ok := g.span(from, to); ok && name != "" {
		if n := len(g.out.items); n > 0 && g.out.items[n-1].end > s.start {
			return // a broken file
		}
		owner, _, found := strings.Cut(name, ".")
		if !found {
			owner = ""
		}
		inner := s.start
		if in, ok := g.span(doc, to); ok {
			inner = in.start
		}
		g.out.items = append(g.out.items, item{span: s, inner: inner, kind: kind, name: name, owner: owner, parent: -1})
	}
}

func (g *goFile) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || len(d.Recv.List) == 0 {
			g.add(d.Pos(), d.Pos(), d.End(), "function", d.Name.Name)
			return
		}
		name := d.Name.Name
		if recv := receiver(d.Recv.List[0].Type); recv != "" {
			name = recv + "." + name
		}
		g.add(d.Pos(), d.Pos(), d.End(), "method", name)
	case *ast.GenDecl:
		if d.Tok != token.TYPE {
			return
		}
		for i, s := range d.Specs {
			t, ok := s.(*ast.TypeSpec)
			if !ok {
				continue
			}
			from, to := t.Pos(), t.End()
			if i == 0 {
				from = d.Pos()
			}
			if i == len(d.Specs)-1 {
				to = d.End()
			}
			g.add(from, t.Pos(), to, typeKind(t), t.Name.Name)
		}
	}
}

func typeKind(t *ast.TypeSpec) string {
	switch t.Type.(type) {
	case *ast.StructType:
		return "struct"
	case *ast.InterfaceType:
		return "interface"
	}
	return "type"
}

// receiver returns the name of the type of a method without star and parameters.
func receiver(e ast.Expr) string {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// breaks returns where long declarations may be divided.
func (g *goFile) breaks(f *ast.File) []source.Break {
	var found []source.Break
	depth := 0
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			depth--
			return false
		}
		s, ok := g.span(n.Pos(), n.End())
		if !ok {
			depth++
			return true
		}
		if _, isComment := n.(*ast.CommentGroup); !isComment && depth > 0 {
			found = append(found, source.Break{At: lineStart(g.src, s.start), Rank: depth})
		}
		if g.file.Line(n.End())-g.file.Line(n.Pos()) < g.maxLines/2 {
			return false
		}
		depth++
		return true
	})
	return source.SortBreaks(found)
}
