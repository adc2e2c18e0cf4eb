package describe

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
	"github.com/foldwatch/foldwatch/meta/fold"
)

var updateDescriptions = flag.Bool("update-descriptions", false, "rewrite the golden descriptions")

// describeFile describes a file of testdata/tree as the only commit
// would have it.
func describeFile(t *testing.T, files *imports.Files, p string) fold.Memory {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata/tree", p))
	if err != nil {
		t.Fatal(err)
	}
	cut := chunker.Cut(p, src, chunker.Options{})
	at := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	return Describe(Subject{
		Slug: "demo", Path: p, Language: cut.Language, Blob: "b1", Source: src, Chunks: cut.Chunks,
		Package: cut.Package, Doc: cut.Doc, Imports: cut.Imports, Tested: files.Tested(p), Created: at, Committed: at.AddDate(0, 1, 0),
		Resolve: func(imp string) (string, bool) { return files.Resolve(p, cut.Language, imp) },
	})
}

func testTree(t *testing.T) *imports.Files {
	t.Helper()
	root := "testdata/tree"
	var paths []string
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, p)
			paths = append(paths, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports.NewFiles(paths, func(p string) []byte {
		b, _ := os.ReadFile(filepath.Join(root, p))
		return b
	})
}

func TestDescribeGolden(t *testing.T) {
	if cut := chunker.Cut("a.py", []byte("def f():\n    return 1\n"), chunker.Options{}); cut.Strategy != "syntax" {
		t.Skip("built without the parsers that the golden files were made with")
	}
	files := testTree(t)
	for _, p := range []string{
		"auth/session.go", "web/src/auth/service.ts", "tools/report.py", "README.md", "deploy/app.yaml", "deploy/deploy.sh",
		"auth/session_test.go", "c/ring.h", "rs/src/parse.rs", "java/demo/Cart.java", "py/shop/__init__.py", "py/shop/prices.py", "py/shop/taxes.py",
		"web/src/index.ts", "web/src/http.test.ts", "web/package.json", ".github/workflows/check.yml", "db/schema.sql", "Dockerfile", "gen/names.go", "LICENSE", "go.mod",
	} {
		m := describeFile(t, files, p)
		got := "title: " + m.Title + "\ntags: " + strings.Join(m.Tags, ", ") + "\nkeywords: " + strings.Join(m.Keywords, ", ") +
			"\noriginal_date: " + m.OriginalDate + "\n\n" + m.Body
		golden := filepath.Join("testdata", strings.TrimPrefix(strings.ReplaceAll(p, "/", "_"), ".")+".golden")
		if *updateDescriptions {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("Describe(%s) =\n%s\nwant\n%s", p, got, want)
		}
	}
}

func TestDescribeKeepsTheLimits(t *testing.T) {
	files := testTree(t)
	m := describeFile(t, files, "auth/session.go")
	if n := utf8.RuneCountInString(m.Title); n == 0 || n > 100 {
		t.Errorf("title has %d runes", n)
	}
	if len(m.Keywords) > 15 || len(m.Tags) > 6 {
		t.Errorf("%d keywords, %d tags", len(m.Keywords), len(m.Tags))
	}
	if m.ID != "" || m.Source != fold.SourceFile || m.Type != "codebase" || m.Author != "system" || m.SourceBlob != "b1" {
		t.Errorf("memory = %+v", m)
	}
	if !m.CreatedAt.Before(m.UpdatedAt) {
		t.Errorf("created %v, updated %v", m.CreatedAt, m.UpdatedAt)
	}
	if len(m.Links) != 1 || m.Links[0].To != fold.FileID("demo", "store/store.go") || m.Links[0].Type != fold.LinkDependsOn {
		t.Errorf("links = %v", m.Links)
	}
}

func TestDescribeIsAFunctionOfItsInput(t *testing.T) {
	files := testTree(t)
	a := describeFile(t, files, "web/src/auth/service.ts")
	for range 20 {
		b := describeFile(t, files, "web/src/auth/service.ts")
		if a.Body != b.Body || strings.Join(a.Keywords, " ") != strings.Join(b.Keywords, " ") {
			t.Fatal("two descriptions of one file differ")
		}
	}
}

func TestDescribeSurvivesAnything(t *testing.T) {
	for _, src := range []string{"", "\x00\xff\xfe", "#", "---\n", "---\n---", "# \n", "//\n\n//", "/*", `"""`, strings.Repeat("(", 5000), "<title>", "A" + strings.Repeat("\u202e", 50)} {
		for _, lang := range []string{"", "go", "python", "markdown", "html", "text", "json", "yaml", "sql", "rust"} {
			chunks := []fold.Chunk{{NodeType: "class", NodeName: "A.B", Parent: "A", StartByte: -1, EndByte: 1 << 20}, {NodeType: "h2", NodeName: "::", Parent: "x"}}
			m := Describe(Subject{Slug: "s", Path: "a", Language: lang, Source: []byte(src), Chunks: chunks, Imports: []string{"", "use a::{", "from . import", "{", ";"}})
			if m.Title == "" || !utf8.ValidString(m.Body) || strings.ContainsRune(m.Body, '\u202e') {
				t.Errorf("Describe(%q as %q): title %q, body %q", src, lang, m.Title, m.Body)
			}
		}
	}
}

func TestDescribeQuotesNoSecret(t *testing.T) {
	key := "AKIA" + "QYLPMN5HHHFPZAM2"
	src := "# Deploys with " + key + " as its key.\nrun() {\n:\n}\n"
	m := Describe(Subject{
		Slug: "s", Path: "d.sh", Language: "shell", Source: []byte(src), Doc: "Deploys with " + key + " as its key.",
		Chunks: []fold.Chunk{{NodeType: "function", NodeName: "run", Doc: "Uses " + key + " to run."}},
	})
	if strings.Contains(m.Body+m.Title+m.Context, key) {
		t.Errorf("the description quotes a key:\n%s", m.Body)
	}
	if !strings.Contains(m.Body, "`run`") {
		t.Errorf("the description lost its names:\n%s", m.Body)
	}
}

func TestOriginalDate(t *testing.T) {
	for src, want := range map[string]string{
		"// Created: 2024-03-15\n":              "2024-03-15",
		"---\ndate: 2021/7/4\n---\n":            "2021-07-04",
		" * @date 2020.01.31\n":                 "2020-01-31",
		"# Created on 15th March 2024 by X":     "2024-03-15",
		"# Date: Mon Jan 2 15:04:05 2006":       "2006-01-02",
		"\"created\": \"2024-03-15T10:00:00Z\"": "2024-03-15",
		"# Written 7 Oct. 1999\n":               "1999-10-07",
		"# Date: 03/04/2024\n":                  "", // March or April
		"# Date 2016-02-30\n":                   "", // no such day
		"# Copyright 2009 The Authors\n":        "", // a year, and not the file's
		"// createdAt 2020-01-01\n":             "",
		"const updated = 2020-01-01\n":          "",
		"":                                      "",
	} {
		if got := originalDate([]byte(src)); got != want {
			t.Errorf("originalDate(%q) = %q, want %q", src, got, want)
		}
	}
}
