//go:build !windows

package vecindex

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestCoderGraphOnlyServesByForce: what v0.6.1 of coder/hnsw finds is little, and
// the check says so. Should a release be good enough this test is to be turned.
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
	if r.Recall < minRecall && !strings.Contains(r.Why, "too little") {
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
	e, err := buildCoder(t.Context(), x.state.table)
	if err != nil {
		t.Fatal(err)
	}
	c := e.(*coderGraph)
	if rows := c.nearest(make([]float32, 3), 5); rows != nil || !c.broken.Load() || c.fits(x.state.table) {
		t.Fatalf("nearest = %v, broken %v", rows, c.broken.Load())
	}
	x.state.serving.Store(&serving{engine: c, effort: 50})
	if hits := x.Search(all[7], 1, nil); len(hits) != 1 || hits[0].Key != "c:0000007" {
		t.Errorf("with a broken graph: %v", hits)
	}
}

// TestEngineThatBreaksInASearchIsBuiltAgain: a search that meets a broken graph is
// answered by the scan, and wakes the builder. After three times the scan stays.
func TestEngineThatBreaksInASearchIsBuiltAgain(t *testing.T) {
	const dim, n = 16, 200
	all := clusters(rand.New(rand.NewPCG(55, 55)), n, dim)
	x := open(t, dim)
	put(t, x, 0, all)
	x.Serve(CoderGraph, nil)
	for i := range maxPanics {
		if err := x.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		e, ok := x.state.serving.Load().engine.(*coderGraph)
		if !ok {
			t.Fatalf("%+v", x.Report())
		}
		e.broken.Store(true)
		if hits := x.Search(all[7], 1, nil); len(hits) != 1 || hits[0].Key != "c:0000007" {
			t.Errorf("broken %d times: %v", i+1, hits)
		}
		for deadline := time.Now().Add(20 * time.Second); x.state.serving.Load().engine == e; {
			if time.Now().After(deadline) {
				t.Fatal("the broken graph stays")
			}
			if err := x.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := x.Report()
	if want := "no faster engine: " + errPanicked.Error(); r.Engine != Exact || r.Why != want {
		t.Errorf("%+v, want why %q", r, want)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}
