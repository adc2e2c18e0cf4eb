package main

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// ARCHITECTURE.md is only worth reading while it is true: every name it puts
// between backquotes as pkg.Name, pkg.Type.Method or Type.Method must exist in
// the tree, every package of its table must be a folder, and every package of
// the tree must be in the table.
func TestArchitectureNamesExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	names := declaredNames(t, "../..")
	for _, missing := range missingNames(string(text), names) {
		t.Errorf("ARCHITECTURE.md names `%s`, which does not exist in the tree", missing)
	}
}

func TestArchitectureTableIsComplete(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "|") {
			rows = append(rows, line)
		}
	}
	table := strings.Join(rows, "")
	seen := map[string]bool{}
	for _, u := range importsBelow(t, "../..") {
		seen[u.pkg] = true
	}
	for pkg := range seen {
		if pkg != "testdata/rig" && !strings.Contains(table, "`"+pkg+"`") {
			t.Errorf("package %s is not in the table of ARCHITECTURE.md", pkg)
		}
	}
}

func TestMissingNamesFindsSeededDefect(t *testing.T) {
	names := map[string]bool{"fold.Memory": true, "Store.Put": true, "gitops.Store.Put": true}
	got := missingNames("see `fold.Memory`, `gitops.Store.Put`, `Store.Put`, `fold.Nothing`, `Store.Steal` and `fold/a.md`, `git.md`", names)
	if strings.Join(got, " ") != "fold.Nothing Store.Steal" {
		t.Errorf("missingNames = %q, want [fold.Nothing Store.Steal]", got)
	}
}

// missingNames returns the backquoted names of text that are not in names. A
// name counts if its last part is a Go identifier in upper case; file names
// such as `git.md` do not.
func missingNames(text string, names map[string]bool) []string {
	quoted := regexp.MustCompile("`([A-Za-z][A-Za-z0-9]*(?:\\.[A-Za-z][A-Za-z0-9]*){1,2})(?:\\(\\))?`")
	exported := regexp.MustCompile(`\.[A-Z][A-Za-z0-9]*$`)
	var missing []string
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		if exported.MatchString(m[1]) && !names[m[1]] {
			missing = append(missing, m[1])
		}
	}
	return missing
}

// declaredNames returns what the module declares as pkg.Name, pkg.Type.Method
// and Type.Method, where pkg is the package's own name.
func declaredNames(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	eachGoFile(t, root, 0, func(rel string, f *ast.File) {
		if strings.HasSuffix(rel, "_test.go") {
			return
		}
		pkg := f.Name.Name
		if pkg == "main" {
			pkg = path.Base(path.Dir(rel))
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil && len(d.Recv.List) == 1 {
					name = receiver(d.Recv.List[0].Type) + "." + name
					names[name] = true
				}
				names[pkg+"."+name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						names[pkg+"."+s.Name.Name] = true
						if it, ok := s.Type.(*ast.InterfaceType); ok {
							for _, m := range it.Methods.List {
								for _, n := range m.Names {
									names[pkg+"."+s.Name.Name+"."+n.Name] = true
									names[s.Name.Name+"."+n.Name] = true
								}
							}
						}
					case *ast.ValueSpec:
						for _, n := range s.Names {
							names[pkg+"."+n.Name] = true
						}
					}
				}
			}
		}
	})
	return names
}

// receiver returns the name of a method's type without star and parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
