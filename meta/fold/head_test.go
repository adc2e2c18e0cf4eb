package fold

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/adrg/frontmatter"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// libraryValues reads head with the YAML library alone.
func libraryValues(head string) (keys []string, values map[string]value, ok bool) {
	file, err := parser.ParseBytes([]byte(head), 0)
	if err != nil || len(file.Docs) != 1 {
		return nil, nil, false
	}
	var pairs []*ast.MappingValueNode
	switch body := file.Docs[0].Body.(type) {
	case *ast.MappingNode:
		pairs = body.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{body}
	default:
		return nil, nil, false
	}
	values = map[string]value{}
	anchors := map[string]value{}
	for _, p := range pairs {
		v, err := nodeValue(p.Value, anchors, 0)
		if err != nil {
			return nil, nil, false
		}
		key := p.Key.GetToken().Value
		keys = append(keys, key)
		values[key] = v
	}
	return keys, values, true
}

// FuzzHead holds that the scanner and the YAML library read alike: what the
// scanner reads by itself, the library reads as the same text.
func FuzzHead(f *testing.F) {
	for _, s := range []string{
		"title: A\n", "a: 'it''s'\nb: \"x\\n\\u00e9\"\n", "a: [b, 'c, d', \"e\"]\n", "a:\n- b\n- c # d\n", "a: b # c\nd: e#f\n", "a: ~\nb:\nc: null\n",
		"a: 0123\nb: 1e10\nc: no\nd: 2024-03-15\n", "a: [1, 2,\n  3]\n", "\"a b\": c\n'd': e\n", "a: http://x:80/\n", "a: -b\nc: ?d\ne: :f\n", "a: b: c\n", "a: [b, ]\n", "a: [\"b\"c]\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, head string) {
		if len(head) > 512 || strings.ContainsAny(head, "\t\r\x00") || !utf8.ValidString(head) || strings.Contains(head, "<<") {
			return // the library stumbles over tabs and bare carriage returns, and reads 0<< as <<
		}
		entries, err := readHead([]byte(head), 1)
		if err != nil || len(entries) == 0 {
			return
		}
		if slices.ContainsFunc(entries, func(e entry) bool { return !e.simple }) {
			return // the library was asked already
		}
		keys, values, ok := libraryValues(head)
		if !ok {
			t.Fatalf("readHead takes %q, the library does not", head)
		}
		for i, e := range entries {
			if i >= len(keys) || keys[i] != e.key {
				t.Fatalf("readHead(%q): key %q, the library has %q", head, e.key, keys)
			}
			v := values[e.key]
			if v.shape != e.value.shape || v.scalar.text != e.value.scalar.text || !slices.EqualFunc(v.items, e.value.items, func(a, b scalar) bool { return a.text == b.text }) {
				t.Errorf("readHead(%q): %s = %+v, the library reads %+v", head, e.key, e.value, v)
			}
		}
	})
}

// TestFrontmatterLibraryAgrees holds our fences against adrg/frontmatter where
// that is right: it cuts at an indented --- in a block scalar, and sees no
// frontmatter behind a byte order mark.
func TestFrontmatterLibraryAgrees(t *testing.T) {
	for _, text := range []string{
		"---\ntitle: A\n---\nbody\n", "---\r\ntitle: A\r\n---\r\nbody\r\n", "--- \ntitle: A\n---\t\nbody\n---\nmore\n", "no frontmatter\n", "# A\n\n---\n\nb\n",
		"---\ntitle: A\ntags:\n  - a\n---\n\n\nbody", "---\n---\nbody\n", "\n\n---\ntitle: A\n---\nbody\n", "----\ntitle: A\n----\n", "text\n---\ntitle: A\n---\n",
	} {
		var head []byte
		var none struct{}
		rest, err := frontmatter.Parse(strings.NewReader(text), &none, frontmatter.NewFormat("---", "---", func(b []byte, _ any) error {
			head = bytes.Clone(b)
			return nil
		}))
		if err != nil {
			t.Fatalf("Parse(%q): %v", text, err)
		}
		l, err := split([]byte(text))
		if err != nil {
			t.Fatalf("split(%q): %v", text, err)
		}
		ours := ""
		if l.has {
			ours = text[l.head:l.headEnd]
		}
		if strings.TrimSpace(lf(ours)) != strings.TrimSpace(lf(string(head))) || text[l.body:] != string(rest) {
			t.Errorf("split(%q) = %q, %q; the library has %q, %q", text, ours, text[l.body:], head, rest)
		}
	}
}

func BenchmarkFrontmatterLibrary(b *testing.B) {
	text := "---\nid: \"1f2e3d4c5b6a7988\"\ntitle: Authentication Service\naliases: [Authentication Service]\nmemory_type: codebase\nsource: file\nauthor: system\n" +
		"tags: [auth, security]\nkeywords: [validateToken, jwt, refresh]\ncontext: Implements JWT-based authentication.\nfile_path: src/auth/service.ts\ncreated_at: 2026-02-03T10:30:00Z\n---\nbody\n"
	b.ReportAllocs()
	for b.Loop() {
		var m struct {
			ID, Title, Source, Author, Context string
			Tags, Keywords, Aliases            []string
		}
		if _, err := frontmatter.Parse(strings.NewReader(text), &m); err != nil {
			b.Fatal(err)
		}
	}
}
