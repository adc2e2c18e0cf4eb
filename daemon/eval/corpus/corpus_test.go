package corpus_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/eval/corpus"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func function(name, comment string) string {
	return comment + "func " + name + "(n int) int {\n\ta := n\n\tb := a\n\tc := b\n\treturn c\n}\n"
}

func TestMineHidesWhatItAsks(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: runs a daemon")
	}
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"pump.go": "package pump\n\n" + function("Drain", "// Drain empties the quokka basin at night. It is slow.\n"),
		"new.go":  "package pump\n\n" + function("Fill", ""),
	})
	var past []usergit.FixtureCommit
	for i := range 40 {
		past = append(past, usergit.FixtureCommit{Message: fmt.Sprintf("Change number %d of the pump", i), Time: time.Unix(int64(1e9+i*60), 0), Files: []string{"pump.go"}})
	}
	past[39].Files = []string{"new.go"} // asked for by a commit that made it: nothing to find before
	if err := usergit.Replay(t.Context(), dir, past); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	c, questions, err := corpus.Mine(t.Context(), dir, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range questions {
		for _, p := range c.Past {
			if strings.TrimSpace(p.Message) == q.Text {
				t.Errorf("%q is asked and told", q.Text)
			}
		}
	}
	if len(c.Past) < 20 || len(questions) < 5 {
		t.Errorf("%d commits behind, %d questions", len(c.Past), len(questions))
	}
}

func TestMineBlanksComments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"pump.go": "package pump\n\n" + function("Drain", "// Drain empties the quokka basin at night. It is slow.\n")})
	if err := usergit.Replay(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	_, questions, err := corpus.Mine(t.Context(), dir, out, nil)
	if err != nil || len(questions) != 1 {
		t.Fatalf("Mine = %+v, %v; want the comment's question alone", questions, err)
	}
	q := questions[0]
	if q.Text != "empties the quokka basin at night" || q.Rel[0] != (eval.Target{Path: "pump.go", Start: 4, End: 9}) {
		t.Errorf("question %+v", q)
	}
	b, err := os.ReadFile(filepath.Join(out, "pump.go"))
	if err != nil || string(b) != "package pump\n\n\n"+function("Drain", "") {
		t.Errorf("the corpus holds %q, %v", b, err)
	}
}
