package textindex

import (
	"math/rand/v2"
	"testing"
)

// TestNamesTellSegmentsApart asks for more documents of more segments than have room,
// in no order.
func TestNamesTellSegmentsApart(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(11, 12))
	var segments []*segment
	for i := range 3 {
		docs := make([]Doc, 4000)
		for n := range docs {
			docs[n] = Doc{Key: randomDoc(rnd, 5000*i+n).Key, Kind: kinds[n%len(kinds)], Memory: randomDoc(rnd, n).Memory}
		}
		segments = append(segments, gatherAll(t, docs, 4000))
	}
	var kept keyCache
	for range 40_000 {
		s := segments[rnd.IntN(len(segments))]
		doc := uint32(rnd.IntN(int(s.Count())))
		key, memory := kept.of(s, doc)
		if want := string(s.value(s.ownerOf(doc), ownerMemory)); key != s.key(doc) || string(memory) != want {
			t.Fatalf("document %d is %q of %q, want %q of %q", doc, key, memory, s.key(doc), want)
		}
	}
	if n := len(kept.slots); n != 1<<keyCacheBits {
		t.Errorf("%d documents are kept", n)
	}
}
