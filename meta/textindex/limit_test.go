package textindex

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A limit cuts off what comes behind it, and changes nothing before: whatever was
// not even scored would have been cut off.
func TestALimitOnlyCutsOff(t *testing.T) {
	x, err := Open(filepath.Join(t.TempDir(), "text"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func() string { return fmt.Sprintf("word%c", 'a'+int(26*rnd.Float64()*rnd.Float64()*rnd.Float64())) } // common and rare ones
	var docs []Doc
	var drop []string
	for i := range 4000 {
		d := Doc{Memory: fold.ID(fmt.Sprintf("%016x", i/4)), Path: pick() + "/" + pick() + ".go", Source: "file", Kind: Chunk}
		d.Key, d.Symbol = fmt.Sprintf("c:%016x", i), pick()
		if i%4 == 0 {
			d.Key, d.Kind = "m:"+string(d.Memory), File
		}
		for range 3 + rnd.IntN(20) {
			d.Body += pick() + " "
		}
		docs = append(docs, d)
		if i%50 == 1 {
			drop = append(drop, d.Key)
		}
	}
	for seq, part := range slices.Collect(slices.Chunk(docs, 1500)) {
		if err := x.Apply(t.Context(), int64(seq+1), part, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Apply(t.Context(), 9, nil, drop); err != nil {
		t.Fatal(err)
	}
	synonyms := []Synonym{{"wordb", .2}, {"wordq", .19}, {"words", .15}}
	for _, text := range []string{"worda wordt", "wordx worda wordc", "wordy wordz", "worda", "wordt wordu word wordd"} {
		all, err := x.Search(t.Context(), Query{Text: text, Synonyms: synonyms, Limit: maxLimit})
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{1, 7, 30} {
			var want []Hit
			for _, kind := range kinds {
				of := slices.DeleteFunc(slices.Clone(all), func(h Hit) bool { return h.Kind != kind })
				want = append(want, of[:min(limit, len(of))]...)
			}
			got, err := x.Search(t.Context(), Query{Text: text, Synonyms: synonyms, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%q, the best %d, not as among all (-all +limited):\n%s", text, limit, diff)
			}
		}
	}
}

// What cannot be among the best any more is not scored.
func TestNarrowLeavesTheBest(t *testing.T) {
	const docs, n = 10_000, 20
	rnd := rand.New(rand.NewPCG(3, 4))
	acc := &accumulator{}
	acc.reset(docs)
	var all []float64
	for d := range uint32(docs) {
		y := acc.of(d)
		y.fielded = 1 + rnd.Float32()*float32(d%40)
		all = append(all, float64(y.fielded))
	}
	c := &kindSearch{search: &search{ctx: context.Background(), snapshot: &snapshot{docs: docs}, acc: acc}, k: chunkKind}
	slices.Sort(all)
	slices.Reverse(all)
	if got := nth(slices.Clone(all), n); got != all[n-1] {
		t.Errorf("nth = %v, want %v", got, all[n-1])
	}
	for _, ahead := range []float64{100, 5, 1} {
		c.narrow(n, ahead)
		for d := range uint32(docs) {
			if total := c.total(d); !acc.eligible.has(d) && total+ahead >= all[n-1] {
				t.Fatalf("%v ahead: document %d is left out with %v of %v", ahead, d, total, all[n-1])
			}
		}
	}
	if len(acc.eligibleDocs) > docs/4 || len(c.top(n)) < n {
		t.Errorf("%d of %d documents are left for the best %d", len(acc.eligibleDocs), docs, n)
	}
}
