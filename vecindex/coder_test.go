//go:build !windows

package vecindex

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCoderGraphOnlyServesByForce: what v0.6.1 of coder/hnsw finds is little, and
// the gate says so. Should a release be good enough this test is to be turned.
func TestCoderGraphOnlyServesByForce(t *testing.T) {
	const dim, n = 32, 1500
	all := clusters(rand.New(rand.NewPCG(41, 41)), n+20, dim)
	x := open(t, dim)
	put(t, x, 0, all[:1200])
	x.Serve(CoderGraph, nil)
	if err := x.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := x.Report()
	if r.Engine != CoderGraph || !r.Forced || r.Recall <= 0 || r.Recall > 1 {
		t.Errorf("%+v", r)
	}
	if r.Recall < gateRecall && !strings.Contains(r.Why, "would not") {
		t.Errorf("recall %.3f, why %q", r.Recall, r.Why)
	}
	t.Logf("%+v", r)
	put(t, x, 1200, all[1200:n])
	var drop []string
	for i := range 300 {
		drop = append(drop, fmt.Sprintf("c:%07d", 3*i))
	}
	if err := x.Apply(9, nil, drop); err != nil {
		t.Fatal(err)
	}
	put(t, x, 30, all[30:40]) // some of them come back
	for _, q := range all[n:] {
		for _, h := range x.Search(q, 10, nil) {
			if !x.Has(h.Key) {
				t.Errorf("found %s, which is gone", h.Key)
			}
		}
	}
	if hits := x.Search(all[1300], 1, nil); len(hits) != 1 || hits[0].Key != "c:0001300" {
		t.Errorf("what came later: %v", hits)
	}
	if err := x.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCoderGraphThatPanicsDoesNotEndTheProgram: a vector of another length makes
// the library panic.
func TestCoderGraphThatPanicsDoesNotEndTheProgram(t *testing.T) {
	const dim = 16
	all := clusters(rand.New(rand.NewPCG(42, 42)), 300, dim)
	x := open(t, dim)
	put(t, x, 0, all)
	c, err := buildCoder(t.Context(), x.t, 300)
	if err != nil {
		t.Fatal(err)
	}
	if rows := c.ask(make([]float32, 3), 5); rows != nil || !c.broken() || c.fits(x.t) {
		t.Fatalf("ask = %v, broken %v", rows, c.broken())
	}
	x.serves = served{way: c, effort: 50}
	if hits := x.Search(all[7], 1, nil); len(hits) != 1 || hits[0].Key != "c:0000007" {
		t.Errorf("with a broken graph: %v", hits)
	}
}
