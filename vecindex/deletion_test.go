package vecindex

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// TestMassDeletionWhileTheGraphServes drops a fifth of the vectors, which stay in
// the graph as tombstones, then nearly all, which makes a new table and a new
// graph, then all, and puts them again; searches go on beside it. What is dropped
// is never found, and the bound of recall holds after each step, at once and once settled.
func TestMassDeletionWhileTheGraphServes(t *testing.T) {
	const n, dim = 1400, 16
	r := rand.New(rand.NewPCG(96, 96))
	all := clusters(r, n+20, dim)
	queries := all[n:]
	x := open(t, dim)
	put(t, x, 0, all[:n])
	x.Serve(Graph, nil)
	key := func(i int) string { return fmt.Sprintf("c:%07d", i) }
	live := map[string]bool{}
	for i := range n {
		live[key(i)] = true
	}
	check := func(what string) {
		t.Helper()
		var want, got [][]Hit
		for _, q := range queries {
			want = append(want, x.by(&serving{}, q, 10, nil))
			hits := x.Search(q, 10, nil)
			if len(hits) != min(10, len(live)) {
				t.Fatalf("%s: %d hits of %d vectors", what, len(hits), len(live))
			}
			for _, h := range hits {
				if !live[h.Key] {
					t.Fatalf("%s: found %s, which is gone", what, h.Key)
				}
			}
			got = append(got, hits)
		}
		if recall := recallOf(want, got); len(live) > 0 && recall < minRecall {
			t.Errorf("%s: recall %.3f", what, recall)
		}
	}
	settled := func(what string) {
		t.Helper()
		check(what + ", at once")
		if err := x.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(what + ", settled")
		if e := x.Report(); len(live) > 0 && (e.Engine != Graph || e.Recall < minRecall) {
			t.Errorf("%s: %+v", what, e)
		}
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 2000 {
			select {
			case <-stop:
				return
			default:
				x.Search(queries[i%len(queries)], 10, nil)
			}
		}
	})
	defer wg.Wait()
	defer close(stop)
	drop := func(share float64) {
		t.Helper()
		var keys []string
		for i := range n {
			if live[key(i)] && r.Float64() < share {
				keys = append(keys, key(i))
				delete(live, key(i))
			}
		}
		if err := x.Apply(x.Seq()+1, nil, keys); err != nil {
			t.Fatal(err)
		}
	}
	settled("built")
	first := graphOf(x)
	drop(.2)
	settled("a fifth dropped")
	if dead := x.Dead(); dead < n/10 || graphOf(x) != first {
		t.Errorf("%d tombstones; the same graph: %t", dead, graphOf(x) == first)
	}
	drop(.9)
	settled("nearly all dropped")
	if dead, g := x.Dead(), graphOf(x); dead != 0 || g == nil || g == first || int(g.nodes.Load()) != len(live) {
		t.Errorf("%d tombstones, graph %v of %d vectors", dead, g, len(live))
	}
	drop(1)
	settled("all dropped")
	put(t, x, 0, all[:n/2])
	for i := range n / 2 {
		live[key(i)] = true
	}
	settled("put again")
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}
