package fold_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestEditKeysKeepsEverythingElse sets, changes, deletes and adds keys of each
// adversarial note. What the edit put there is cut out again, and the rest must
// be the bytes that were there.
func TestEditKeysKeepsEverythingElse(t *testing.T) {
	notes := adversarial()
	if len(notes) < 40 {
		t.Fatalf("%d notes, want at least 40", len(notes))
	}
	edits := []fold.KeyEdit{
		{Key: "title", Value: "Wholly other: title"},
		{Key: "title"},
		{Key: "tags", Value: []string{"one", "two words", "three, four", "no", "12"}},
		{Key: "tags"},
		{Key: "context", Value: "Line.\nLine two."},
		{Key: "context"},
		{Key: "id", Value: "0123456789012345"},
		{Key: "pinned", Value: true},
		{Key: "importance", Value: 0.25},
		{Key: "updated_at", Value: time.Date(2026, 2, 3, 10, 30, 0, 0, time.UTC)},
		{Key: "my own key", Value: "v"},
	}
	for name, text := range notes {
		t.Run(name, func(t *testing.T) {
			for _, edit := range edits {
				b := []byte(text)
				if _, err := fold.Decode("p", "n.md", b); err != nil {
					t.Fatalf("Decode: %v", err)
				}
				out, err := fold.EditKeys(b, edit)
				if err != nil {
					t.Fatalf("EditKeys(%v): %v", edit, err)
				}
				if string(b) != text {
					t.Fatalf("EditKeys(%v) wrote into its argument", edit)
				}
				checkOutside(t, text, string(out), edit)
				again, err := fold.EditKeys(out, edit)
				if err != nil || !bytes.Equal(again, out) {
					t.Errorf("EditKeys(%v) twice: %v\n%s", edit, err, cmp.Diff(string(out), string(again)))
				}
			}
		})
	}
}

// checkOutside holds that before and after are equal outside of one span of
// whole lines, that the span was the key's, and that the body is untouched.
func checkOutside(t *testing.T, before, after string, edit fold.KeyEdit) {
	t.Helper()
	was, err := fold.KeyLines([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	is, err := fold.KeyLines([]byte(after))
	if err != nil {
		t.Fatalf("after %v: %v\n%q", edit, err, after)
	}
	a, b := was[edit.Key], is[edit.Key]
	if edit.Value != nil && b == [2]int{} {
		t.Fatalf("key %s is not there after the edit\n%q", edit.Key, after)
	}
	if edit.Value == nil && b != [2]int{} {
		t.Fatalf("key %s is there after it was deleted\n%q", edit.Key, after)
	}
	restA := before[:a[0]] + before[a[1]:]
	restB := after[:b[0]] + after[b[1]:]
	if len(was) == 0 && len(is) == 1 { // a frontmatter may be new
		restB = strings.NewReplacer("---\r\n---\r\n", "", "---\n---\n", "").Replace(restB[:min(len(restB), 16)]) + restB[min(len(restB), 16):]
		restA = strings.NewReplacer("---\r\n---\r\n", "", "---\n---\n", "").Replace(restA[:min(len(restA), 16)]) + restA[min(len(restA), 16):]
	}
	// A key put after a last line without an end needs one.
	if strings.TrimRight(restA, "\r\n") != strings.TrimRight(restB, "\r\n") {
		t.Errorf("%v changed more than its key:\nbefore %q\nafter  %q", edit, before, after)
	}
}

func TestEditKeysKeepsCommentAndForm(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		edit     fold.KeyEdit
		want     string
	}{
		{"inline comment", "---\ntitle: A # why\n---\n", fold.KeyEdit{Key: "title", Value: "B"}, "---\ntitle: B # why\n---\n"},
		{"comment after quotes", "---\ntitle: 'A'   # why\n---\n", fold.KeyEdit{Key: "title", Value: "B"}, "---\ntitle: B   # why\n---\n"},
		{"comment of null", "---\ntitle: # why\n---\n", fold.KeyEdit{Key: "title", Value: "B"}, "---\ntitle: B # why\n---\n"},
		{"block list", "---\ntags:\n  - a\n  - b\n---\n", fold.KeyEdit{Key: "tags", Value: []string{"c"}}, "---\ntags:\n  - c\n---\n"},
		{"flow list", "---\ntags: [a]\n---\n", fold.KeyEdit{Key: "tags", Value: []string{"b", "c"}}, "---\ntags: [b, c]\n---\n"},
		{"CRLF", "---\r\ntitle: A\r\n---\r\n", fold.KeyEdit{Key: "tags", Value: []string{"b"}}, "---\r\ntitle: A\r\ntags: [b]\r\n---\r\n"},
		{"in our order", "---\nid: \"x\"\nzzz: 1\ntags: [b]\n---\n", fold.KeyEdit{Key: "title", Value: "T"}, "---\nid: \"x\"\ntitle: T\nzzz: 1\ntags: [b]\n---\n"},
		{"new frontmatter", "body\n", fold.KeyEdit{Key: "title", Value: "T"}, "---\ntitle: T\n---\nbody\n"},
		{"new frontmatter, BOM", "\ufeffbody\r\n", fold.KeyEdit{Key: "title", Value: "T"}, "\ufeff---\r\ntitle: T\r\n---\r\nbody\r\n"},
		{"delete one", "---\na: 1\ntitle: A\nb: 2\n---\n", fold.KeyEdit{Key: "title"}, "---\na: 1\nb: 2\n---\n"},
		{"ids are quoted", "---\ntitle: A\n---\n", fold.KeyEdit{Key: "related_to", Value: []string{"1234567890123456"}}, "---\ntitle: A\nrelated_to: [\"1234567890123456\"]\n---\n"},
		{"numbers are quoted", "---\ntitle: A\n---\n", fold.KeyEdit{Key: "title", Value: "1e10"}, "---\ntitle: \"1e10\"\n---\n"},
	} {
		got, err := fold.EditKeys([]byte(tc.in), tc.edit)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %v; -want +got\n%s", tc.name, err, cmp.Diff(tc.want, string(got)))
		}
	}
}

func TestEditKeysRefusesWhatOthersNeed(t *testing.T) {
	in := "---\ntitle: &t A\naliases: *t\n---\n"
	if _, err := fold.EditKeys([]byte(in), fold.KeyEdit{Key: "title", Value: "B"}); err == nil {
		t.Error("EditKeys replaced an anchor that another key needs")
	}
	if _, err := fold.EditKeys([]byte(in), fold.KeyEdit{Key: "title", Value: 12}); err == nil {
		t.Error("EditKeys took an int")
	}
}

// TestUpdateOfNothingIsNothing: no change of a memory is no change of a byte.
func TestUpdateOfNothingIsNothing(t *testing.T) {
	for name, text := range adversarial() {
		m, err := fold.Decode("p", "n.md", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c := *m
		got, err := fold.Update([]byte(text), m, &c, nil)
		if err != nil || string(got) != text {
			t.Errorf("%s: Update: %v\n%s", name, err, cmp.Diff(text, string(got)))
		}
	}
}

// TestUpdateThenDecode: what Update writes is what Decode reads.
func TestUpdateThenDecode(t *testing.T) {
	notes := adversarial()
	names := make([]string, 0, len(notes))
	for name := range notes {
		names = append(names, name)
	}
	slices.Sort(names)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "note")
		b := []byte(notes[name])
		old, err := fold.Decode("p", "n.md", b)
		if err != nil {
			t.Fatal(err)
		}
		m := *old
		drawFields(t, &m)
		if m.Body != old.Body && m.Title == old.Title {
			m.Title = "x" // it may have come from the body
		}
		got, err := fold.Update(b, old, &m, titles)
		if err != nil {
			t.Fatalf("%s: Update: %v", name, err)
		}
		back, err := fold.Decode("p", "n.md", got)
		if err != nil {
			t.Fatalf("%s: Decode(Update): %v\n%s", name, err, got)
		}
		if diff := cmp.Diff(&m, back); diff != "" {
			t.Errorf("%s: -want +got\n%s\n%q", name, diff, got)
		}
	})
}

// drawFields changes some fields of m to values that Decode would return.
func drawFields(t *rapid.T, m *fold.Memory) {
	text := rapid.SampledFrom([]string{"x", "no", "0123", "1e10", "a: b", "a #b", "it's", `q"q\`, "- a", "[x]", "多言語", "🦊", "a\nb", "  a  ", "key:", "@x", "2024-01-02", "a, b", "\x1b[0m", "null", "~", "#t", "*a", "&a", "!a", "|", ">", "%", "{a}", "?", "-", "x\u2028y"})
	item := rapid.SampledFrom([]string{"x", "no", "0123", "a: b", "a #b", "it's", `q"q\`, "a, b", "[x]", "多言語", "🦊", "key:", "two words", "null", "~", "*a", "- a"})
	list := rapid.SliceOfNDistinct(item, 1, 4, func(s string) string { return s })
	if rapid.Bool().Draw(t, "title") {
		m.Title = strings.TrimSpace(text.Draw(t, "title text"))
	}
	if rapid.Bool().Draw(t, "tags") {
		m.Tags = list.Draw(t, "tag list")
	}
	if rapid.Bool().Draw(t, "keywords") {
		m.Keywords = list.Draw(t, "keyword list")
	}
	if rapid.Bool().Draw(t, "context") {
		m.Context = text.Draw(t, "context text")
	}
	if rapid.Bool().Draw(t, "body") {
		m.Body = rapid.SampledFrom([]string{"", "# T\n", "# T\n\ntext\n", "a\n\n---\n\nb\n", "```\nopen\n", "\n\nx\n", "body\nmore\nlast\n"}).Draw(t, "body text")
	}
	if rapid.Bool().Draw(t, "links") {
		m.Links = nil
		for i := range rapid.IntRange(0, 3).Draw(t, "n") {
			typ := rapid.SampledFrom([]fold.LinkType{fold.LinkRelated, fold.LinkSupersedes}).Draw(t, "type")
			m.Links = append(m.Links, fold.Link{From: m.ID, To: fold.ID(fmt.Sprintf("%016x", i)), Type: typ, Weight: 1})
		}
		slices.SortStableFunc(m.Links, func(a, b fold.Link) int { return strings.Compare(string(a.Type), string(b.Type)) })
	}
	m.Pinned = rapid.Bool().Draw(t, "pinned")
	if rapid.Bool().Draw(t, "stamp") {
		m.UpdatedAt = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), 0).UTC()
	}
}

func TestUpdateRewritesTheBlock(t *testing.T) {
	b := []byte(example)
	old, err := fold.Decode("p", ownPath, b)
	if err != nil {
		t.Fatal(err)
	}
	m := *old
	m.Links = append(slices.Clone(old.Links), fold.Link{To: "00112233445566aa", Type: "blocked_by", Context: "until the release"})
	got, err := fold.Update(b, old, &m, titles)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(example, "depends_on: [\"9a8b7c6d5e4f3021\"]\n", "depends_on: [\"9a8b7c6d5e4f3021\"]\nlinks: [\"blocked_by 00112233445566aa until the release\"]\n", 1) +
		"- blocked by [[0/0/00112233445566aa]]\n"
	if string(got) != want {
		t.Errorf("Update: -want +got\n%s", cmp.Diff(want, string(got)))
	}
	m.Links = nil
	if got, err = fold.Update(b, old, &m, titles); err != nil || strings.Contains(string(got), "## Related") || !strings.HasSuffix(string(got), "main class\n") {
		t.Errorf("Update without links: %v\n%s", err, got)
	}
}

// Below a code fence that nobody closes, our block would be text.
func TestUpdateToAnOpenFenceMovesLinksUp(t *testing.T) {
	in := "---\ntitle: A\nrelated_to: [\"f0123456789abcde\"]\n---\ntext\n\n---\n\n## Related\n\n" +
		"- [[f/0/f0123456789abcde|One]]\n* depends on [[9a8b7c6d5e4f3021]]\n"
	old, err := fold.Decode("p", "n.md", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	m := *old
	m.Body = "```\nopen\n"
	got, err := fold.Update([]byte(in), old, &m, titles)
	if err != nil {
		t.Fatal(err)
	}
	back, err := fold.Decode("p", "n.md", got)
	if err != nil || back.Body != m.Body || len(back.Links) != 2 {
		t.Errorf("body %q with links %v, %v, want %q with two\n%s", back.Body, back.Links, err, m.Body, got)
	}
}

func TestUpdateKeepsLinesOfTheBody(t *testing.T) {
	b := []byte("---\r\ntitle: A\r\n---\r\none\r\ntwo  \nthree\r\n\r\n\r\n")
	old, err := fold.Decode("p", "n.md", b)
	if err != nil {
		t.Fatal(err)
	}
	m := *old
	m.Body = "one\ntwo  \nnew\nthree\n"
	got, err := fold.Update(b, old, &m, nil)
	if want := "---\r\ntitle: A\r\n---\r\none\r\ntwo  \nnew\r\nthree\r\n\r\n\r\n"; err != nil || string(got) != want {
		t.Errorf("Update = %q, %v, want %q", got, err, want)
	}
}
