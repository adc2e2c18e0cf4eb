package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/daemon/rank"
)

// drawn returns cases in which the right candidate is chosen by true weights and
// chance.
func drawn(n int, truth []float64) []Case {
	rng := rand.New(rand.NewPCG(1, 2))
	var cases []Case
	for i := range n {
		c := Case{Group: fmt.Sprint(i % 3)}
		best, at := math.Inf(-1), 0
		for k := range 20 {
			values, score := make([]float64, len(truth)), -math.Log(-math.Log(rng.Float64())) // Gumbel: draws by softmax
			for f := range values {
				values[f] = rng.Float64()
				score += truth[f] * values[f]
			}
			c.Candidates = append(c.Candidates, Candidate{Values: values})
			if score > best {
				best, at = score, k
			}
		}
		c.Candidates[at].Right = true
		cases = append(cases, c)
	}
	return cases
}

func TestFitFindsTheWeightsThatChose(t *testing.T) {
	truth := []float64{3, 0, -2, 5}
	opt := fitOptions{Rows: 1, Features: 4, Use: [][]bool{{true, true, true, true}}, L2: 1e-6}
	got := fitRows(drawn(3000, truth), opt)[0]
	for f, want := range truth {
		if math.Abs(got[f]-want) > .3 {
			t.Errorf("weight %d = %.2f, want about %.2f", f, got[f], want)
		}
	}
	opt.Use[0][1] = false
	if got := fitRows(drawn(50, truth), opt)[0]; got[1] != 0 {
		t.Errorf("weight that is not used = %v", got[1])
	}
	opt.L2 = 10
	for f, w := range fitRows(drawn(50, truth), opt)[0] {
		if math.Abs(w) > .1 {
			t.Errorf("weight %d under a heavy penalty = %v", f, w)
		}
	}
}

func TestFitIsReproducible(t *testing.T) {
	opt := fitOptions{Rows: 1, Features: 3, Use: [][]bool{{true, true, true}}, L2: penalty}
	first := fitRows(drawn(200, []float64{1, 2, 3}), opt)
	for range 3 {
		again := fitRows(drawn(200, []float64{1, 2, 3}), opt)
		for f := range first[0] {
			if math.Float64bits(first[0][f]) != math.Float64bits(again[0][f]) {
				t.Fatalf("weight %d = %v, then %v", f, first[0][f], again[0][f])
			}
		}
	}
}

func TestFitLeavesAloneWhatNothingTeaches(t *testing.T) {
	opt := fitOptions{Rows: 2, Features: 1, Use: [][]bool{{true}, {true}}, L2: penalty}
	all := Case{Candidates: []Candidate{{Values: []float64{1}, Right: true}}}
	none := Case{Candidates: []Candidate{{Values: []float64{1}}, {Values: []float64{0}}}}
	if d := cmp.Diff([][]float64{{0}, {0}}, fitRows([]Case{all, none}, opt)); d != "" {
		t.Errorf("weights: %s", d)
	}
	if d := cmp.Diff([][]float64{{0}, {0}}, fitRows(nil, opt)); d != "" {
		t.Errorf("weights without cases: %s", d)
	}
}

// asked are questions of two repositories whose answers have the best Body (set a)
// or Name (set b), and mislead by Words.
func asked(n int) []list {
	rng := rand.New(rand.NewPCG(3, 4))
	var lists []list
	for i := range n {
		set, tells := "a", rank.Body
		if i%2 == 1 {
			set, tells = "b", rank.Name
		}
		l := list{files: set == "a", question: eval.Query{QID: fmt.Sprint(i), Set: set, Repo: []string{"one", "two"}[i/2%2]}}
		right := rng.IntN(30)
		for k := range 30 {
			s := rank.Sample{Key: fmt.Sprintf("%02d", k)}
			s.Values[rank.Words] = rng.Float64()
			s.Values[tells] = rng.Float64() * .8
			if k == right {
				s.Values[tells] = 1
			}
			l.samples = append(l.samples, s)
			l.names = append(l.names, fmt.Sprintf("f%02d.go", k))
			l.right = append(l.right, k == right)
			if k == right {
				l.question.Rel = []eval.Target{{Path: fmt.Sprintf("f%02d.go", k)}}
			}
		}
		lists = append(lists, l)
	}
	return lists
}

func TestTableIsFittedAndHeldOut(t *testing.T) {
	lists := asked(200)
	table := fitTable(lists)
	if w := table[fileRow]; w[rank.Body] < 1 || w[rank.Name] != 0 || math.Abs(w[rank.Words]) > .5 {
		t.Errorf("weights of files = %v", w)
	}
	if w := table[codeRow]; w[rank.Name] < 1 || w[rank.Body] != 0 {
		t.Errorf("weights of code = %v", w)
	}
	sum := 0.0
	for _, w := range table[fileRow] {
		sum += max(w, 0)
	}
	if math.Abs(sum-2) > .02 {
		t.Errorf("positive weights add up to %v, want 2", sum)
	}
	lines, macro := figures(lists, crossValidate(lists))
	if len(lines) != 6 || len(macro) != 2 {
		t.Fatalf("figures = %q, %q", lines, macro)
	}
	r := crossValidate(lists)
	for _, report := range eval.Report(questions(lists), r.heldOut, eval.ReportOptions{Base: r.bm25}) {
		if report.Macro.NDCG10.Mean < .95 || report.Gain.NDCG10.Low <= 0 {
			t.Errorf("held out: %+v", report)
		}
	}
	first, err := table.source(lists, macro)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(lists) // maps of lists have no order either
	second, err := fitTable(asked(200)).source(lists, macro)
	if err != nil || string(first) != string(second) {
		t.Errorf("sources differ: %v\n%s\n%s", err, first, second)
	}
}

func TestOnlyWhatMayTeachIsUsed(t *testing.T) {
	if fitSets != "abc" {
		t.Errorf("fitted on sets %q; the licence of d allows evaluation only", fitSets)
	}
	for row := range rows {
		for _, f := range rank.Features() {
			if uses(row, f) && goNames[f] == "" {
				t.Errorf("row %d fits %v, which the table cannot name", row, f)
			}
		}
	}
	for _, f := range notFitted {
		if uses(fileRow, f) || uses(documentRow, f) || uses(codeRow, f) || uses(sectionRow, f) {
			t.Errorf("%v is fitted", f)
		}
	}
}
