package textindex

import (
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	api "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/words"
)

// randomDoc is a document of a few words out of many.
func randomDoc(r *rand.Rand, n int) Doc {
	text := func(most int) string {
		var b strings.Builder
		for range r.IntN(most + 1) {
			fmt.Fprintf(&b, "w%c%c%s ", 'a'+rune(r.IntN(26)), 'a'+rune(r.IntN(4)), strings.Repeat("x", r.IntN(3)))
		}
		return b.String()
	}
	d := Doc{
		Key: fmt.Sprintf("k%d", n), Kind: kinds[r.IntN(len(kinds))], Memory: fold.ID(fmt.Sprint("m", r.IntN(20))),
		Body: text(80), Symbol: text(3), Path: text(2), Source: "file", Updated: time.Unix(int64(r.IntN(50)), 0),
	}
	if n%3 == 0 {
		d.Key = fmt.Sprintf("c:%016x", n)
	}
	if r.IntN(4) == 0 {
		d.Title, d.Context, d.Tags, d.Keywords = text(4), text(30), []string{text(1), "Tag"}, []string{text(2)}
	}
	if r.IntN(50) == 0 {
		d.Body = strings.Repeat(d.Body+" often", 300) // counts of more than one byte
	}
	return d
}

// gatherAll makes one segment of docs, gathered in parts of at most per.
func gatherAll(t testing.TB, docs []Doc, per int) *segment {
	t.Helper()
	var results []index.Document
	for i, part := range slices.Collect(slices.Chunk(docs, per)) {
		g := &analyzer{}
		g.reset(i, len(part))
		for j := range part {
			results = append(results, g.add(&part[j], slices.Index(kinds[:], part[j].Kind)))
		}
	}
	rand.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] }) // as Bleve does
	s, err := buildSegment(results)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A stored is what a segment says of one document.
type stored struct {
	Kind    Kind
	Owner   string
	Lengths [exact]uint32
	Counts  map[string]counts // by channel and term
}

// ownerIn returns a copy of one owner of s.
func ownerIn(s *segment, n uint32) owner {
	o := owner{updated: s.updated(n), dates: s.dates(n)}
	for i, text := range o.texts() {
		*text = string(s.value(n, i))
	}
	return o
}

// contents reads a whole segment, without the documents of drop.
func contents(s *segment, drop *roaring.Bitmap) map[string]stored {
	out := map[string]stored{}
	for doc := range uint32(s.Count()) {
		if drop != nil && drop.Contains(doc) {
			continue
		}
		k, n := s.kindOf(doc)
		d := stored{Kind: kinds[k], Owner: fmt.Sprintf("%+v", ownerIn(s, s.ownerOf(doc))), Counts: map[string]counts{}}
		for f := range d.Lengths {
			d.Lengths[f] = s.length(k, f, n)
		}
		out[s.key(doc)] = d
	}
	for k := range kinds {
		for ch := range channels {
			for c := (cursor{rest: s.dicts[k][ch].stream}); c.next(); {
				for p := c.list.walk(); p.next(); {
					if d, ok := out[s.key(s.first[k]+p.doc)]; ok && (drop == nil || !drop.Contains(s.first[k]+p.doc)) {
						d.Counts[fmt.Sprint(ch, string(c.term))] = p.counts
					}
				}
			}
		}
	}
	return out
}

// want is what a segment should say of docs, counted the long way.
func want(docs []Doc) map[string]stored {
	out := map[string]stored{}
	for _, d := range docs {
		s := stored{Kind: d.Kind, Owner: fmt.Sprintf("%+v", d.owner()), Counts: map[string]counts{}}
		for f, text := range [exact]string{d.Body, d.Symbol, d.Path, d.Title, d.Context, strings.Join(d.Tags, " ; "), strings.Join(d.Keywords, " ; ")} {
			terms := words.Analyze(text)
			if text != "" || f == body {
				s.Lengths[f] = uint32(max(len(terms), 1))
			}
			for _, term := range terms {
				key := fmt.Sprint(channelWords, term)
				s.Counts[key] = s.Counts[key].and(f)
			}
			for _, form := range words.Exact(text) { // the text has no other languages than prose
				key := fmt.Sprint(channelExact, string(exactKey(nil, hash([]byte(form)))))
				s.Counts[key] = s.Counts[key].and(body)
			}
		}
		out[d.Key] = s
	}
	return out
}

func TestSegmentHoldsWhatWasGathered(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(1, seed))
	for _, n := range []int{1, 7, 300} {
		var docs []Doc
		for i := range n {
			docs = append(docs, randomDoc(r, i))
		}
		s := gatherAll(t, docs, 1+n/2)
		if d := cmp.Diff(want(docs), contents(s, nil)); d != "" {
			t.Fatalf("%d documents: -want +got %s", n, d)
		}
		checkFind(t, s, docs)
	}
}

// checkFind looks every key and every term of docs up, and some that are not
// there.
func checkFind(t *testing.T, s *segment, docs []Doc) {
	t.Helper()
	for _, d := range docs {
		doc, ok := s.find(d.Key)
		if !ok || s.key(doc) != d.Key {
			t.Fatalf("find(%s) = %d, %v", d.Key, doc, ok)
		}
	}
	for _, key := range []string{"", "k", "c:", "c:00ff", "k99999", "c:000000000000ffff"} {
		if doc, ok := s.find(key); ok {
			t.Errorf("find(%q) = %d", key, doc)
		}
	}
	for k := range kinds {
		for ch, dict := range s.dicts[k] {
			for c := (cursor{rest: dict.stream}); c.next(); {
				if got, ok := dict.find(c.term); !ok || got.count != c.list.count || got.last != c.list.last {
					t.Fatalf("find(%q) = %+v, %v, want %+v", c.term, got, ok, c.list)
				}
				for _, other := range []string{string(c.term) + "\x00", string(c.term[:len(c.term)-1]) + "\xff\xff"} {
					if _, ok := dict.find([]byte(other)); ok {
						t.Fatalf("kind %d channel %d: find(%q) found", k, ch, other)
					}
				}
			}
			if _, ok := dict.find(nil); ok {
				t.Error("find of nothing found something")
			}
		}
	}
}

func TestMergeKeepsWhatIsLive(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(2, seed))
	var segments []api.Segment
	var drops []*roaring.Bitmap
	live := map[string]stored{}
	for i := range 5 {
		var docs []Doc
		for j := range 60 {
			docs = append(docs, randomDoc(r, 1000*i+j))
		}
		s := gatherAll(t, docs, 100)
		segments = append(segments, memorySegment{s})
		drop := roaring.New()
		for doc := range uint32(60) {
			if i%2 == 1 && r.IntN(3) == 0 || i == 3 { // the fourth is dropped whole
				drop.Add(doc)
			}
		}
		if i == 4 {
			drop = nil
		}
		drops = append(drops, drop)
		maps.Copy(live, contents(s, drop))
	}
	path := filepath.Join(t.TempDir(), "merged.zap")
	numbers, size, err := plugin{}.Merge(segments, drops, path, make(chan struct{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || uint64(info.Size()) != size+sumBytes {
		t.Errorf("file of %d bytes, %v, Merge says %d", info.Size(), err, size)
	}
	if _, sum, last, err := sumFile(path, crc32.IEEETable); err != nil || sum != last {
		t.Errorf("sum %x, at its end %x, %v", sum, last, err)
	}
	opened, err := plugin{}.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	s, err := ownSegment(opened)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(live, contents(s, nil)); d != "" {
		t.Errorf("-live +merged %s", d)
	}
	for i, in := range segments {
		for doc, n := range numbers[i] {
			gone := drops[i] != nil && drops[i].Contains(uint32(doc))
			old, err := in.DocID(uint64(doc))
			if err != nil || gone != (n == dropped) {
				t.Fatalf("segment %d: document %d is now %d, dropped %v, %v", i, doc, n, gone, err)
			}
			if !gone && s.key(uint32(n)) != string(old) {
				t.Errorf("segment %d: document %d is now %d, %s, was %s", i, doc, n, s.key(uint32(n)), old)
			}
		}
	}
	closed := make(chan struct{})
	close(closed)
	if !isClosed(closed) || isClosed(make(chan struct{})) {
		t.Error("isClosed is wrong")
	}
}

// A file that is no segment, or one that says its parts lie elsewhere, is
// refused before anything is read through it.
func TestOpenSegmentRefusesOther(t *testing.T) {
	dir := t.TempDir()
	docs := []Doc{{Key: "k", Kind: Memory, Body: "some words of a memory", Memory: "m"}}
	good := gatherAll(t, docs, 1).data
	n := 0
	try := func(data []byte) error {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := openSegment(path)
		if err == nil {
			err = errors.Join(s.Close(), errors.New("opened"))
		}
		return err
	}
	if err := try(good); err == nil || err.Error() != "opened" {
		t.Errorf("whole segment: %v", err)
	}
	for cut := 1; cut < len(good); cut += 7 {
		if err := try(good[:len(good)-cut]); !errors.Is(err, errLayout) {
			t.Errorf("%d bytes cut off: %v, want errLayout", cut, err)
		}
	}
	// Every number of the layout, made too large.
	size := 0
	(&layout{}).each(func(*uint64) { size += 8 })
	start := len(good) - sumBytes - len(layoutMagic) - 4 - size
	for at := start; at < start+size; at += 8 {
		bad := slices.Clone(good)
		bad[at+6] = 0x7F
		if _, err := newSegment(bad); !errors.Is(err, errLayout) {
			// A column or dictionary that is not there may lie anywhere.
			if l, perr := parseLayout(bad); perr != nil || !l.within(uint64(start)) {
				t.Errorf("number at %d too large: %v", at-start, err)
			}
		}
	}
}

func TestCountsAreCutNotMixed(t *testing.T) {
	var c counts
	for range 70_000 {
		c = c.and(body)
	}
	for range 300 {
		c = c.and(title)
	}
	c = c.and(keywords)
	for f, n := range map[int]uint64{body: bodyMost, title: fieldMost, keywords: 1, symbol: 0, about: 0} {
		if got := c.of(f); got != n {
			t.Errorf("field %d: %d, want %d", f, got, n)
		}
	}
	b := appendPosting(nil, 9, c)
	p := postings{rest: b, left: 1}
	if !p.next() || p.doc != 9 || p.counts != c || p.next() || len(p.rest) != 0 {
		t.Errorf("read back %+v, want %x of 9", p, c)
	}
}

// Two strings, or owners, of one hash are told apart.
func TestOwnersOfOneHash(t *testing.T) {
	o := newOwnerTable()
	o.strings[hash([]byte("b"))] = o.value([]byte("a"))
	if a, b := o.value([]byte("a")), o.value([]byte("b")); a == b || b != o.value([]byte("b")) {
		t.Errorf("numbers of two strings: %d and %d", a, b)
	}
	first := o.number(&owner{memory: "m", path: "p"})
	for h := range o.numbers {
		o.numbers[h+1] = first
	}
	if n := o.number(&owner{memory: "m", path: "q"}); n == first {
		t.Errorf("numbers of two owners: %d and %d", first, n)
	}
	if n := o.number(&owner{memory: "m", path: "p"}); n != first {
		t.Errorf("number of the first owner: %d, was %d", n, first)
	}
}

// A merge holds no more in memory than openStore says: a little for each
// document, and nothing for what stands in it.
func TestMergeTakesLittleMemory(t *testing.T) {
	const segments, each, most = 8, 1000, 400
	var in []api.Segment
	for i := range segments {
		var docs []Doc
		for j := range each {
			id := fold.FileID("p", fmt.Sprint(i, j))
			docs = append(docs, Doc{
				Key: "m:" + string(id), Kind: Memory, Memory: id, Path: "fold/" + string(id) + ".md", Updated: time.Unix(int64(i*each+j), 0),
				Title: "a title", Body: strings.Repeat(fmt.Sprintf("word%d other%d ", j%97, i), 40),
			})
		}
		in = append(in, memorySegment{gatherAll(t, docs, each)})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := (plugin{}).Merge(in, nil, filepath.Join(t.TempDir(), "merged.zap"), nil, nil); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	// What was outgrown is counted too.
	if n := (after.TotalAlloc - before.TotalAlloc - 2*flushAt) / (segments * each); n > 2*most {
		t.Errorf("%d bytes were allocated for each document, want %d", n, 2*most)
	} else {
		t.Logf("%d bytes were allocated for each document", n)
	}
}

// TestSortHashed compares the sorting of joined forms by digits with the one
// that compares, for lists that use the one and the other.
func TestSortHashed(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{0, 1, 255, 256, 5000} {
		list := make([]hashed, n)
		for i := range list {
			list[i] = hashed{r.Uint64() & (1<<exactBits - 1), uint32(i)}
			if i > 0 && r.IntN(3) == 0 {
				list[i].hash = list[r.IntN(i)].hash
			}
		}
		want := slices.Clone(list)
		sort.SliceStable(want, func(i, j int) bool { return want[i].hash < want[j].hash })
		if got := sortHashed(list, make([]hashed, n)); !slices.Equal(got, want) {
			t.Errorf("%d forms are not in order", n)
		}
	}
}
