package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/eval/corpus"
)

func TestListsOfWhatADaemonFinds(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: runs a daemon")
	}
	t.Parallel()
	tree := t.TempDir()
	for name, text := range map[string]string{
		"pump.go":   "package pump\n\n// Drain empties the quokka basin.\nfunc Drain(n int) int {\n\ta := n\n\tb := a\n\tc := b\n\treturn c\n}\n",
		"manual.md": "# Basins\n\nHow a quokka basin is drained.\n",
	} {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := corpus.Open(t.Context(), corpus.Options{Dir: t.TempDir()}, corpus.Corpus{Slug: "pump", Tree: tree, Scopes: map[string]string{"b": "*.go"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	q := eval.Query{QID: "b1", Set: "b", Repo: "pump", Text: "quokka basin", Rel: []eval.Target{{Path: "pump.go", Start: 3, End: 9}}}
	for whole, sets := range map[bool][2]string{false: {"b", "b by file"}, true: {"b of all", "b of all by file"}} {
		f, err := candidates(t.Context(), s, q, whole)
		if err != nil {
			t.Fatal(err)
		}
		lists := listsOf(q, f, whole)
		if len(lists) != 2 {
			t.Fatalf("%d lists of a question for chunks, want one of chunks and one of files", len(lists))
		}
		for i, l := range lists {
			if l.question.Set != sets[i] || l.files != (i == 1) {
				t.Errorf("list %d is of set %q, of files: %v", i, l.question.Set, l.files)
			}
			right, manual := 0, false
			for k, name := range l.names {
				path, _, _ := eval.ParseSpan(name)
				if manual = manual || path == "manual.md"; l.right[k] {
					right++
				}
				if l.right[k] != (path == "pump.go") {
					t.Errorf("%s, list %d: %q answers the question: %v", sets[i], i, name, l.right[k])
				}
			}
			if right != 1 || manual != whole {
				t.Errorf("%s: %d of %q answer the question; the manual is among them: %v", sets[i], right, l.names, manual)
			}
		}
	}
}
