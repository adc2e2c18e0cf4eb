package index_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/index"
)

func TestAddCommitsKeepsTheNewest(t *testing.T) {
	ctx := t.Context()
	x, err := index.Open(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	past := func(names ...string) (all []index.Commit) {
		for _, n := range names {
			all = append(all, index.Commit{Oid: n, Message: "message of " + n, Files: []string{n + ".go"}})
		}
		return all
	}
	for _, step := range []struct {
		tip  string
		add  []index.Commit
		anew bool
		want []index.Commit
	}{
		{"", nil, false, nil},
		{"c", past("a", "b", "c"), false, past("a", "b", "c")},
		{"c", nil, false, past("a", "b", "c")},
		{"d", past("c", "d"), false, past("b", "c", "d")}, // known ones are not kept twice
		{"f", past("e", "f"), true, past("e", "f")},
	} {
		if step.tip != "" {
			if err := x.AddCommits(ctx, step.tip, step.add, step.anew, 3); err != nil {
				t.Fatal(err)
			}
		}
		tip, got, err := x.Commits(ctx)
		if err != nil || tip != step.tip || !cmp.Equal(got, step.want) {
			t.Errorf("%s: PastCommits = %q, %v, %v; want %v", fmt.Sprint(step.add), tip, got, err, step.want)
		}
	}
}
