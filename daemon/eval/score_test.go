package eval_test

import (
	"math"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/daemon/eval"
)

func TestScoreWholeFiles(t *testing.T) {
	q := eval.Query{Set: "a", Rel: []eval.Target{{Path: "a.go"}, {Path: "b.go"}}}
	got := q.Score([]string{"x.go#L1-9", "x.go#L20-30", "a.go#L4-8", "b.go"})
	want := eval.Scores{
		NDCG10: (1/math.Log2(3) + 1/math.Log2(4)) / (1 + 1/math.Log2(3)),
		MRR10:  .5, Recall5: 1, Recall10: 1, Recall20: 1,
	}
	if got != want {
		t.Errorf("Score = %+v, want %+v: lines of one file are one result", got, want)
	}
}

func TestScoreLines(t *testing.T) {
	q := eval.Query{Set: "b", Rel: []eval.Target{{Path: "a.go", Start: 10, End: 29}}}
	for name, want := range map[string]float64{
		"a.go#L10-29":    1, // exact
		"a.go#L20-60":    1, // half of it
		"a.go#L21-60":    0, // less than half
		"a.go#L1-120":    1, // as long as may be
		"a.go#L1-121":    0, // longer
		"a.go":           0, // the whole file
		"b.go#L10-29":    0,
		"a.go#L10-bogus": 0,
		"a.go#L30-40":    0,
	} {
		if got := q.Score([]string{name}).NDCG10; got != want {
			t.Errorf("Score(%s) = %v, want %v", name, got, want)
		}
	}
}

func TestScoreLooksAtTwenty(t *testing.T) {
	q := eval.Query{Set: "d", Rel: []eval.Target{{ID: "m"}}}
	names := make([]string, 0, 21)
	for i := range 19 {
		names = append(names, strings.Repeat("x", i+1))
	}
	if s := q.Score(append(names, "m")); s.NDCG10 != 0 || s.MRR10 != 0 || s.Recall10 != 0 || s.Recall20 != 1 {
		t.Errorf("the 20th result: %+v, want recall@20 alone", s)
	}
	if s := q.Score(append(names, "y", "m")); s != (eval.Scores{}) {
		t.Errorf("the 21st result: %+v, want nothing", s)
	}
	if s := (eval.Query{Set: "d"}).Score([]string{"m"}); s != (eval.Scores{}) {
		t.Errorf("a question without targets: %+v, want nothing", s)
	}
}

func TestMacroCountsGroupsTheSame(t *testing.T) {
	in := eval.Macro([][]float64{{1, 1, 0, 0}, {1}, nil})
	if in.Mean != .75 || in.Low < .5 || in.High > 1 || in.Low >= in.Mean || in.High <= in.Mean {
		t.Errorf("Macro = %+v, want .75 in an interval", in)
	}
	if again := eval.Macro([][]float64{{1, 1, 0, 0}, {1}}); again != in {
		t.Errorf("Macro = %+v, then %+v: not the same interval twice", in, again)
	}
	if in := eval.Macro(nil); in != (eval.Interval{}) {
		t.Errorf("Macro of nothing = %+v", in)
	}
}

func TestSpanComesBack(t *testing.T) {
	for _, name := range []string{"a.go", "a b/c.go#L1-20", "x#L9.go#L2-3"} {
		p, s, e := eval.ParseSpan(name)
		if got := eval.Span(p, s, e); got != name {
			t.Errorf("Span(ParseSpan(%q)) = %q", name, got)
		}
	}
	if p, s, e := eval.ParseSpan("a.go#L4-L8"); p != "a.go" || s != 4 || e != 8 {
		t.Errorf("ParseSpan = %q, %d, %d", p, s, e)
	}
}
