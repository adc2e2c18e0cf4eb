package eval_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/meta/fold"
)

func TestReportIsPaired(t *testing.T) {
	qs := []eval.Query{
		{QID: "1", Set: "d", Repo: "r", Rel: []eval.Target{{ID: "m"}}},
		{QID: "2", Set: "d", Repo: "r", Rel: []eval.Target{{ID: "m"}}},
	}
	got := eval.Report(qs, eval.Run{"1": {"m"}}, eval.ReportOptions{Base: eval.Run{"1": {"x", "m"}}})
	if len(got) != 1 || got[0].Missing != 1 || got[0].Queries != 2 || got[0].Macro.NDCG10.Mean != .5 {
		t.Fatalf("Report = %+v", got)
	}
	want := (1 - 1/math.Log2(3)) / 2
	if gain := got[0].Gain.NDCG10.Mean; math.Abs(gain-want) > 1e-12 {
		t.Errorf("gain = %v, want %v", gain, want)
	}
	if eval.Report(qs, nil, eval.ReportOptions{})[0].Gain != nil {
		t.Error("a gain without a base")
	}
}

func TestReportOfConversations(t *testing.T) {
	qs := []eval.Query{
		{QID: "1", Set: "d", Repo: "c1", Cat: 2, Rel: []eval.Target{{ID: "c1/D1:3"}, {ID: "c1/D1:4"}}},
		{QID: "2", Set: "d", Repo: "c2", Cat: 1, Rel: []eval.Target{{ID: "c2/D7:1"}}},
		{QID: "3", Set: "d", Repo: "c2", Cat: 1, Rel: []eval.Target{{ID: "c2/D7:2"}}},
	}
	run := eval.Run{"1": {"c1/D1:9"}, "2": {"c2/D3:1", "c2/D3:2", "c2/D7:1"}}
	got := eval.Report(qs, run, eval.ReportOptions{})[0]
	var lines []string
	for _, c := range got.Categories {
		lines = append(lines, fmt.Sprintf("category %d: %d, MRR %.3f", c.Category, c.Queries, c.Figures.MRR10.Mean))
	}
	// Of the first question's session another turn is found, of the second's the
	// turn itself, behind one other session; nothing of the third's.
	lines = append(lines, fmt.Sprintf("sessions: MRR %.3f, recall@5 %.3f", got.Sessions.MRR10.Mean, got.Sessions.Recall5.Mean))
	want := []string{"category 1: 2, MRR 0.167", "category 2: 1, MRR 0.000", "sessions: MRR 0.500, recall@5 0.667"}
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	qs[0].Set, qs[0].Cat = "a", 0
	if got := eval.Report(qs[:1], run, eval.ReportOptions{})[0]; got.Sessions != nil || got.Categories != nil {
		t.Errorf("a set without categories has %v and %v", got.Sessions, got.Categories)
	}
}

func TestReportByFile(t *testing.T) {
	qs := []eval.Query{{QID: "1", Set: "b", Repo: "r", Rel: []eval.Target{{Path: "a.go", Start: 5, End: 9}}}}
	run := eval.Run{"1": {"b.go#L1-4", "b.go#L8-9", "a.go#L100-110"}}
	if s := eval.Report(qs, run, eval.ReportOptions{})[0].Macro.MRR10.Mean; s != 0 {
		t.Errorf("by lines: MRR %v, want 0", s)
	}
	if s := eval.Report(qs, run, eval.ReportOptions{ByFile: true})[0].Macro.MRR10.Mean; s != .5 {
		t.Errorf("by file: MRR %v, want .5", s)
	}
	if qs[0].Rel[0].Start != 5 {
		t.Error("Report changed the questions")
	}
}

func TestRunComesBack(t *testing.T) {
	qs := []eval.Query{{QID: "2", Set: "a", Repo: "r"}, {QID: "1", Set: "a", Repo: "r"}, {QID: "3", Set: "a", Repo: "r"}}
	run := eval.Run{"1": {"a<b>.go", "b.go#L1-2"}, "2": nil}
	var b bytes.Buffer
	if err := run.Write(&b, qs); err != nil {
		t.Fatal(err)
	}
	if want := "{\"qid\":\"2\",\"ids\":[]}\n{\"qid\":\"1\",\"ids\":[\"a<b>.go\",\"b.go#L1-2\"]}\n"; b.String() != want {
		t.Errorf("Write = %q, want %q", b.String(), want)
	}
	path := filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := eval.ReadRun(path)
	if want := (eval.Run{"1": run["1"], "2": {}}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("ReadRun = %v, %v; want %v", got, err, want)
	}
}

func TestReadQueriesNamesTheLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.jsonl")
	for text, want := range map[string]string{
		"{\"qid\":\"1\",\"set\":\"a\",\"repo\":\"r\"}\n\n{": "q.jsonl:3: ",
		"{\"qid\":\"1\",\"set\":\"a\"}\n":                   "question 1 has no",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := eval.ReadQueries(path); !errors.Is(err, fold.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadQueries(%q) = %v, want ErrInvalid with %q", text, err, want)
		}
	}
}

// TestReportCountsAsTheScorer scores runs made up at random, near the targets,
// with the sets' own scorer too: FOLDWATCH_EVAL is the folder of its source.
func TestReportCountsAsTheScorer(t *testing.T) {
	dir := os.Getenv("FOLDWATCH_EVAL")
	if dir == "" {
		t.Skip("SKIP: FOLDWATCH_EVAL does not name the folder of the evaluation sets")
	}
	scorer := filepath.Join(t.TempDir(), "scorer")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", scorer, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build scorer: %v\n%s", err, out)
	}
	for _, set := range []string{"a", "b", "c", "d"} {
		for _, byFile := range []bool{false, true} {
			t.Run(fmt.Sprint(set, byFile), func(t *testing.T) { compareWithScorer(t, scorer, dir, set, byFile) })
		}
	}
}

func compareWithScorer(t *testing.T, scorer, dir, set string, byFile bool) {
	questions := filepath.Join(dir, "data", "dev-"+set+".jsonl")
	qs, err := eval.ReadQueries(questions)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewSource(7))
	run, base := madeUp(random, qs), madeUp(random, qs)
	args := []string{"score", "-q", questions, "-run", writeRun(t, run, qs), "-base", writeRun(t, base, qs)}
	if byFile {
		args = append(args, "-file")
	}
	out, err := exec.CommandContext(t.Context(), scorer, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	report := eval.Report(qs, run, eval.ReportOptions{Base: base, ByFile: byFile})
	if got := asScorer(report); got != string(out) {
		t.Errorf("-scorer +ours:\n%s", cmp.Diff(string(out), got))
	}
}

// madeUp answers most questions with 20 results, some of them right, some
// nearly.
func madeUp(random *rand.Rand, qs []eval.Query) eval.Run {
	run := eval.Run{}
	for _, q := range qs {
		if random.Intn(30) == 0 {
			continue
		}
		var names []string
		for len(names) < 25 {
			near := qs[random.Intn(len(qs))].Rel
			if random.Intn(6) == 0 {
				near = q.Rel
			}
			r := near[random.Intn(len(near))]
			name := r.ID
			if name == "" {
				name = eval.Span(r.Path, max(r.Start+random.Intn(30)-15, 0), r.End+random.Intn(60)-20)
			}
			names = append(names, name)
		}
		run[q.QID] = names
	}
	return run
}

func writeRun(t *testing.T, run eval.Run, qs []eval.Query) string {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "run")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(run.Write(f, qs), f.Close()); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// asScorer prints reports as the scorer does.
func asScorer(reports []eval.SetReport) string {
	type column struct {
		name string
		of   func(eval.Figures) eval.Interval
	}
	columns := []column{
		{"nDCG@10", func(f eval.Figures) eval.Interval { return f.NDCG10 }},
		{"MRR@10", func(f eval.Figures) eval.Interval { return f.MRR10 }},
		{"R@5", func(f eval.Figures) eval.Interval { return f.Recall5 }},
		{"R@10", func(f eval.Figures) eval.Interval { return f.Recall10 }},
		{"R@20", func(f eval.Figures) eval.Interval { return f.Recall20 }},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-4s %-16s %6s", "set", "repo", "n")
	for _, c := range columns {
		fmt.Fprintf(&b, " %8s", c.name)
	}
	b.WriteString("\n")
	missing := 0
	for _, s := range reports {
		missing += s.Missing
		for _, r := range s.Repos {
			fmt.Fprintf(&b, "%-4s %-16s %6d", s.Set, r.Repo, r.Queries)
			for _, c := range columns {
				fmt.Fprintf(&b, " %8.3f", c.of(r.Figures).Mean)
			}
			b.WriteString("\n")
		}
		for _, c := range columns {
			m, g := c.of(s.Macro), c.of(*s.Gain)
			fmt.Fprintf(&b, "%-4s MACRO %-8s %.3f [%.3f, %.3f]   vs base %+.3f [%+.3f, %+.3f]\n",
				s.Set, c.name, m.Mean, m.Low, m.High, g.Mean, g.Low, g.High)
		}
	}
	if missing > 0 {
		fmt.Fprintf(&b, "%d queries have no line in the run (scored 0)\n", missing)
	}
	return b.String()
}
