package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestOnlyTypedCommandsWriteTheUsersGit: what commits, or changes the configuration of
// a repository, is called by commands of the terminal, and by nothing that a route, a
// tool or a timer of the daemon leads to (git.md T2).
func TestOnlyTypedCommandsWriteTheUsersGit(t *testing.T) {
	t.Parallel()
	calls := writersOfUserGit(t, "../..")
	for _, name := range []string{"CommitPaths", "PublishFiles", "SetMergeDriver", "UnsetMergeDriver"} {
		typed := 0
		for _, file := range calls[name] {
			if strings.HasPrefix(file, "cmd/foldwatch/") {
				typed++
			} else {
				t.Errorf("%s calls %s, which is for a command that the user types", file, name)
			}
		}
		if typed == 0 {
			t.Errorf("no command calls %s: the search does not see the tree", name)
		}
	}
}

// writersOfUserGit returns the files outside package gitops that call a method which
// writes the user's git, by its name.
func writersOfUserGit(t *testing.T, root string) map[string][]string {
	t.Helper()
	calls := map[string][]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, name)
		rel = filepath.ToSlash(rel)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (rel == ".git" || rel == "testdata" || strings.HasPrefix(rel, "gitops")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if !importsGitops(f) {
			return nil // its methods of that name are others
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				calls[sel.Sel.Name] = append(calls[sel.Sel.Name], rel)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

func importsGitops(f *ast.File) bool {
	for _, i := range f.Imports {
		if strings.HasPrefix(strings.Trim(i.Path.Value, `"`), modulePath+"/gitops") {
			return true
		}
	}
	return false
}
