package eval_test

import (
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func TestCommentsAskForTheFunctionBelow(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("\tx++\n", 5)
	src := "package pump\n\n" +
		"// Drain empties the quokka basin at night. It is slow.\nfunc Drain() {\n" + body + "}\n" +
		"// Short asks too little\nfunc Short() {\n" + body + "}\n" +
		"// Tiny is about too few lines of code\nfunc Tiny() {}\n"
	chunks := []fold.Chunk{
		{NodeType: "function", NodeName: "Drain", StartLine: 2, EndLine: 10},
		{NodeType: "function", NodeName: "Short", StartLine: 11, EndLine: 18},
		{NodeType: "function", NodeName: "Tiny", StartLine: 19, EndLine: 20},
		{NodeType: "type", NodeName: "T", StartLine: 1, EndLine: 20},
		{NodeType: "function", NodeName: "Beyond", StartLine: 1, EndLine: 2000},
	}
	got := eval.Comments("pump.go", []byte(src), chunks)
	if len(got) != 1 {
		t.Fatalf("Comments = %+v, want that of Drain", got)
	}
	c, q := got[0], got[0].Question("here")
	if c.Text != "empties the quokka basin at night" || c.Start != 3 || c.End != 3 {
		t.Errorf("comment %+v", c)
	}
	if q.Set != "b" || q.Repo != "here" || q.Rel[0] != (eval.Target{Path: "pump.go", Start: 4, End: 10}) {
		t.Errorf("question %+v", q)
	}
	if b := string(c.Blank([]byte(src))); strings.Contains(b, "quokka") || strings.Count(b, "\n") != strings.Count(src, "\n") {
		t.Errorf("Blank = %q", b)
	}
}

func TestFairIsTheSameForTheSameFunctions(t *testing.T) {
	t.Parallel()
	var src strings.Builder
	var chunks []fold.Chunk
	line := 1
	for _, name := range []string{"A", "B", "C", "D", "E", "F"} {
		src.WriteString("// says what the function does\nfunc " + name + "() {\n\ta\n\tb\n\tc\n\td\n}\n")
		chunks = append(chunks, fold.Chunk{NodeType: "function", NodeName: name, StartLine: line, EndLine: line + 6})
		line += 7
	}
	all := eval.Comments("a.go", []byte(src.String()), chunks)
	if len(all) != 4 {
		t.Fatalf("%d comments of one file, want 4", len(all))
	}
	turned := []eval.Comment{all[3], all[1], all[0], all[2]}
	for i, c := range eval.Fair(turned, 3) {
		if c.Start != all[i].Start {
			t.Errorf("Fair depends on the order at %d", i)
		}
	}
}
