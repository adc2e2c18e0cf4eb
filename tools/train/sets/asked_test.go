package sets_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/eval/corpus"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/tools/train/sets"
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

func open(t *testing.T, corpora ...corpus.Corpus) *corpus.Searcher {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s, err := corpus.Open(ctx, corpus.Options{Dir: t.TempDir()}, corpora...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func answer(t *testing.T, s *corpus.Searcher, q eval.Query, channels ...recall.Channel) []string {
	t.Helper()
	names, err := s.Answer(t.Context(), q, channels)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func function(name, comment string) string {
	return comment + "func " + name + "(n int) int {\n\ta := n\n\tb := a\n\tc := b\n\treturn c\n}\n"
}

// The sets are made up: their corpus program copies one folder.
var madeUpSets = map[string]string{
	"go.mod": "module scorer\n\ngo 1.21\n",
	"corpus.go": `package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	for i, a := range os.Args {
		if a == "-out" {
			text := "package pump\n\n\n` + strings.ReplaceAll(strings.TrimSpace(function("Drain", "")), "\n", `\n`) + `\n"
			if err := os.WriteFile(filepath.Join(os.Args[i+1], "pump.go"), []byte(text), 0o644); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
}
`,
	"data/manifest.json": `{"repos": [
		{"name": "pump", "github": "x/pump", "commit": "COMMIT", "obtain": []},
		{"name": "valve", "github": "x/valve", "commit": "c0", "obtain": [{"how": "apt-get download valve", "covers": "b", "exact": true}]}]}`,
	"data/dev-a.jsonl":        `{"qid":"a1","set":"a","repo":"pump","text":"empty the quokka basin","rel":[{"path":"pump.go"}]}` + "\n",
	"data/dev-b.jsonl":        `{"qid":"b1","set":"b","repo":"pump","text":"drain","rel":[{"path":"pump.go","start":4,"end":9}]}` + "\n" + `{"qid":"b2","set":"b","repo":"valve","text":"shut","rel":[{"path":"v.go"}]}` + "\n",
	"data/dev-c.jsonl":        "",
	"data/dev-d.jsonl":        `{"qid":"d1","set":"d","repo":"conv-1","text":"Where did Ann see the wombat?","rel":[{"id":"conv-1/D1:2"}],"cat":1}` + "\n",
	"data/history-pump.jsonl": `{"text":"Drain the quokka basin","files":["pump.go","gone.go"]}` + "\n",
	"data/locomo-memories.jsonl": `{"id":"conv-1/D1:1","conv":"conv-1","session":1,"date":"1:56 pm on 8 May, 2023","speaker":"Bob","text":"What did you see?"}` + "\n" +
		`{"id":"conv-1/D1:2","conv":"conv-1","session":1,"date":"1:56 pm on 8 May, 2023","speaker":"Ann","text":"A wombat, by the river.","caption":"a wombat"}` + "\n",
}

func TestSetsAreAskedOfScratchCheckouts(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: runs a daemon")
	}
	t.Parallel()
	dir, clones, cache := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(clones, "x+pump"), map[string]string{"pump.go": "package pump\n"})
	if err := usergit.Replay(t.Context(), filepath.Join(clones, "x+pump"), nil); err != nil {
		t.Fatal(err)
	}
	rev := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD")
	rev.Dir = filepath.Join(clones, "x+pump")
	commit, err := rev.Output()
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, madeUpSets)
	write(t, dir, map[string]string{"data/manifest.json": strings.ReplaceAll(madeUpSets["data/manifest.json"], "COMMIT", strings.TrimSpace(string(commit)))})
	all, err := sets.ReadSets(dir)
	if err != nil {
		t.Fatal(err)
	}
	corpora, missing, err := all.Prepare(t.Context(), cache, sets.Choice{History: true, Clones: clones})
	if err != nil {
		t.Fatal(err)
	}
	if len(missing) != 1 || missing[0].Repo != "valve" || missing[0].Sets != "b" || !strings.Contains(missing[0].Why, "neither a Go module nor an npm package") {
		t.Errorf("missing = %+v, want valve, and why", missing)
	}
	s := open(t, corpora...)
	for _, step := range []struct {
		qid      string
		channels []recall.Channel
		want     string
	}{
		{"a1", nil, "[pump.go]"}, // by the past commit alone
		{"a1", []recall.Channel{recall.Words}, "[]"},
		{"b1", nil, "[pump.go#L4-9]"},
		{"d1", []recall.Channel{recall.Words}, "[conv-1/D1:2 conv-1/D1:1]"},
	} {
		q := all.Queries("")[slices.IndexFunc(all.Queries(""), func(q eval.Query) bool { return q.QID == step.qid })]
		if got := fmt.Sprint(answer(t, s, q, step.channels...)); got != step.want {
			t.Errorf("%s by %v = %s, want %s", step.qid, step.channels, got, step.want)
		}
	}
}
