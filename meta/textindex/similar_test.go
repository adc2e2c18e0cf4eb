package textindex_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// claims is a chunk that has words no other has but one like it.
const claims = "func parseClaims(token string) { expiry := jwtExpiry(token); audience(token); issuer(token); return 20260203 }"

// shelf is a project of n plain chunks, and those of more.
func shelf(n int, more ...textindex.Doc) []textindex.Doc {
	docs := slices.Clone(more)
	for i := range n {
		id := fmt.Sprintf("f%d", i)
		docs = append(docs, textindex.Doc{
			Key: "c:" + id, Kind: textindex.Chunk, Memory: fold.ID(id), Language: "go",
			Body: fmt.Sprintf("func common(token string) { shared(%d); other(token); ordinary%d(token) }", i, i),
		})
	}
	return docs
}

func chunk(key, memory, text string) textindex.Doc {
	return textindex.Doc{Key: key, Kind: textindex.Chunk, Memory: fold.ID(memory), Language: "go", Body: text}
}

func alike(t *testing.T, x *textindex.Index, p textindex.Passage) []textindex.Alike {
	t.Helper()
	found, err := x.Alike(t.Context(), []textindex.Passage{p})
	if err != nil {
		t.Fatal(err)
	}
	return found[0]
}

func TestAlikeSharesRareWords(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "text"))
	apply(t, x, 1, shelf(80,
		chunk("c:own", "a", claims),
		chunk("c:twin", "a", claims), // of the same memory
		chunk("c:like", "b", "func checkClaims(token string) { jwtExpiry(token); audience(token); issuer(token); skew(token) }"),
		chunk("c:number", "c", "func stamp() { 20260203; x20260203 }"),
		chunk("c:name", "d", "func elsewhere(token string) { parseClaims(token) }"), // one identifier: one word
		textindex.Doc{Key: "m:note", Kind: textindex.Memory, Memory: "e", Title: "JWT", Body: "The audience of a token is checked with its issuer and jwtExpiry."},
		textindex.Doc{Key: "m:f", Kind: textindex.File, Memory: "b", Title: "Claims", Body: claims, Source: "file"},
	))
	got := alike(t, x, textindex.Passage{Memory: "a", Name: "parseClaims", Text: claims})
	var keys []string
	for i, a := range got {
		keys = append(keys, a.Key)
		if a.Share <= 0 || a.Share >= 1 || i > 0 && a.Share > got[i-1].Share {
			t.Errorf("%s has a share of %v", a.Key, a.Share)
		}
	}
	if want := "c:like m:note"; strings.Join(keys, " ") != want {
		t.Fatalf("Alike = %v, want %s", got, want)
	}
	words := strings.Join(got[0].Terms, " ")
	for _, w := range []string{"jwtExpiry", "audience", "issuer"} {
		if !strings.Contains(words, w) {
			t.Errorf("%q tells nothing of %s", words, w)
		}
	}
	if strings.Contains(words, "common") || strings.Contains(words, "20260203") || len(got[0].Terms) > 5 {
		t.Errorf("told are %q", words)
	}
	if got := alike(t, x, textindex.Passage{Memory: "a", Text: "token string"}); len(got) != 0 {
		t.Errorf("what is common makes alike: %v", got)
	}
}

// TestAlikeIsAFunctionOfWhatIsHeld compares an index that grew, with what was
// replaced and dropped since, with one that was made at once.
func TestAlikeIsAFunctionOfWhatIsHeld(t *testing.T) {
	own := []textindex.Doc{chunk("c:own", "a", claims), chunk("c:like", "b", strings.Replace(claims, "issuer", "subject", 1))}
	all := shelf(120, own...)
	grown := open(t, filepath.Join(t.TempDir(), "grown"))
	for i, d := range all {
		before := d
		before.Body = claims // makes its words common for a while
		apply(t, grown, int64(2*i+1), []textindex.Doc{before, chunk(fmt.Sprintf("c:gone%d", i), "gone", claims)})
	}
	for i := range all {
		apply(t, grown, int64(2*len(all)+i), all[i:i+1], fmt.Sprintf("c:gone%d", i))
	}
	fresh := open(t, filepath.Join(t.TempDir(), "fresh"))
	slices.Reverse(all)
	apply(t, fresh, 1, all)
	p := textindex.Passage{Memory: "a", Text: claims}
	want := alike(t, fresh, p)
	if len(want) != 1 || want[0].Key != "c:like" {
		t.Fatalf("Alike = %v", want)
	}
	if diff := cmp.Diff(want, alike(t, grown, p)); diff != "" {
		t.Errorf("an index that grew answers otherwise (-fresh +grown):\n%s", diff)
	}
}

// TestAlikeLeavesOutWhatManyFilesSay has few files of many chunks: what each file
// says once, such as what it imports, is rare among chunks, and common among
// files.
func TestAlikeLeavesOutWhatManyFilesSay(t *testing.T) {
	x := open(t, filepath.Join(t.TempDir(), "text"))
	const imports = "import filepath strconv governing compliance"
	var docs []textindex.Doc
	for i := range 12 {
		id := fmt.Sprintf("f%d", i)
		docs = append(docs, textindex.Doc{Key: "m:" + id, Kind: textindex.File, Memory: fold.ID(id), Title: id, Source: "file"})
		docs = append(docs, chunk("c:head"+id, id, imports))
		for j := range 20 {
			docs = append(docs, chunk(fmt.Sprintf("c:%s-%d", id, j), id, fmt.Sprintf("func own%d%s() {}", j, strings.Repeat("x", i+1))))
		}
	}
	apply(t, x, 1, docs)
	if got := alike(t, x, textindex.Passage{Memory: "f0", Text: imports}); len(got) != 0 {
		t.Errorf("what all files import makes alike: %v", got)
	}
}
