//go:build cgo

package syntax

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	sitter "github.com/tree-sitter/go-tree-sitter"
)

// treeParser makes a sitter.Tree of the pointer that C returned.
func TestTreeIsOnePointer(t *testing.T) {
	if got := unsafe.Sizeof(sitter.Tree{}); got != unsafe.Sizeof(uintptr(0)) {
		t.Fatalf("a sitter.Tree has %d bytes: treeParser.parse must be written anew", got)
	}
}

// Every kind and field that a table names exists in its grammar, or else a rule
// would silently never fire after an update of the grammar.
func TestTablesNameWhatGrammarsHave(t *testing.T) {
	for lang, newTable := range tables {
		table := newTable()
		l := table.language()
		for kind, r := range table.rules {
			if l.IdForNodeKind(kind, true) == 0 {
				// TypeScript shares the rules of JavaScript.
				if kind == "field_definition" {
					continue
				}
				t.Errorf("%s: no node kind %q", lang, kind)
			}
			for _, field := range []string{r.name, r.body} {
				if field != "" && l.FieldIdForName(field) == 0 {
					t.Errorf("%s: no field %q", lang, field)
				}
			}
		}
		for kind := range strings.FieldsSeq(table.leads) {
			if l.IdForNodeKind(kind, true) == 0 {
				t.Errorf("%s: no node kind %q, which is said to lead", lang, kind)
			}
		}
	}
}

// A parse may be late at any moment, also when the tree is being balanced: the
// next one must not go on there (it ended the process).
func TestParserAfterAnyDeadline(t *testing.T) {
	src := []byte(strings.Repeat("([{\n", 2_000) + strings.Repeat("}])\n", 2_000))
	p := newTreeParser()
	defer p.close()
	lang := javascriptTable().language()
	late := 0
	for deadline := 2 * time.Millisecond; deadline < 10*time.Second; deadline = deadline * 21 / 20 {
		tree, isLate := p.parse(lang, src, deadline)
		if isLate {
			late++
		}
		small, _ := p.parse(lang, []byte("f()"), time.Minute)
		if small == nil {
			t.Fatalf("a parse after one with a deadline of %v failed", deadline)
		}
		small.Close()
		if tree != nil {
			tree.Close()
			break
		}
	}
	if late < 10 {
		t.Errorf("%d parses were late: too few to tell", late)
	}
}

// After a parse that took too long the next one begins anew, and gives memory
// back: a forgotten tree costs 1 MB here.
func TestParserAfterDeadline(t *testing.T) {
	src, err := os.ReadFile("../testdata/go/sample.go")
	if err != nil {
		t.Fatal(err)
	}
	var long []byte
	for range 100 {
		long = append(long, src...)
	}
	p := newTreeParser()
	defer p.close()
	lang := goTable().language()
	if tree, late := p.parse(lang, long, time.Nanosecond); tree != nil || !late {
		t.Fatalf("parse within a nanosecond: tree %v, late %v", tree, late)
	}
	before := resident()
	for range 40 {
		tree, late := p.parse(lang, long, time.Minute)
		if tree == nil || late {
			t.Fatalf("parse after a deadline: tree %v, late %v", tree, late)
		}
		if got := int(tree.RootNode().EndByte()); got != len(long) {
			t.Fatalf("the tree has %d bytes, the file %d", got, len(long))
		}
		tree.Close()
	}
	if grown := resident() - before; grown > 24<<20 {
		t.Errorf("40 parses took %d MB", grown>>20)
	}
}

// resident returns how many bytes of memory this process has, 0 if that is not
// known.
func resident() int {
	b, err := os.ReadFile("/proc/self/statm")
	var size, pages int
	if _, scanErr := fmt.Sscan(string(b), &size, &pages); err != nil || scanErr != nil {
		return 0
	}
	return pages * os.Getpagesize()
}
