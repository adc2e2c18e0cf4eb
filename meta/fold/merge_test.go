package fold_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/foldwatch/foldwatch/meta/fold"
)

var mergeNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func mergeOptions() fold.MergeOptions {
	return fold.MergeOptions{Now: mergeNow, Title: titles, Project: "p", Path: ownPath}
}

// memory returns a file of ours with the given keys and body.
func memory(keys, body string) string {
	return "---\nid: \"1f2e3d4c5b6a7988\"\ntitle: T\nsource: agent\n" + keys + "---\n" + body
}

func bytesOrNil(s string) []byte {
	if s == "absent" {
		return nil
	}
	return []byte(s)
}

// merge3 merges both ways round and merges the result again.
func merge3(t interface {
	Helper()
	Fatalf(string, ...any)
	Errorf(string, ...any)
}, base, ours, theirs string,
) string {
	t.Helper()
	opt := mergeOptions()
	b, o, th := bytesOrNil(base), bytesOrNil(ours), bytesOrNil(theirs)
	got, err := fold.Merge3(b, o, th, opt)
	if err != nil {
		t.Fatalf("Merge3: %v", err)
	}
	swapped, err := fold.Merge3(b, th, o, opt)
	if err != nil || string(swapped.Bytes) != string(got.Bytes) || swapped.Deleted != got.Deleted {
		t.Errorf("Merge3 is not commutative: %v\n%s", err, cmp.Diff(string(got.Bytes), string(swapped.Bytes)))
	}
	if got.Deleted {
		return "absent"
	}
	// A side that meets the result again adds nothing. Where lines repeat, a
	// comparison of lines may see that otherwise, so random texts are exempt.
	for _, side := range [][]byte{o, th} {
		from := [][]byte{side, b}
		if _, random := t.(*rapid.T); random {
			from = from[:1]
		}
		for _, b := range from {
			if side == nil {
				continue
			}
			again, err := fold.Merge3(b, got.Bytes, side, opt)
			if err == nil && string(again.Bytes) == string(got.Bytes) {
				continue
			}
			t.Errorf("Merge3 with the result is not the result:\nbase %q\nours %q\ntheirs %q\n%s", base, ours, theirs, cmp.Diff(string(got.Bytes), string(again.Bytes)))
		}
	}
	return string(got.Bytes)
}

func TestMerge3(t *testing.T) {
	const early, late = "updated_at: 2026-02-01T00:00:00Z\n", "updated_at: 2026-02-02T00:00:00Z\n"
	lines := func(list ...string) string { return strings.Join(list, "\n") + "\n" }
	callout := func(text string) string {
		return "\n" + fold.Callout(fold.ContentHash([]byte(text))[:16], text)
	}
	for _, tc := range []struct{ name, base, ours, theirs, want string }{
		{"equal", "absent", "x\n", "x\n", "x\n"},
		{"one side", memory("", "a\n"), memory("", "b\n"), memory("", "a\n"), memory("", "b\n")},
		{"both deleted", memory("", "a\n"), "absent", "absent", "absent"},
		{"delete, untouched", memory("", "a\n"), "absent", memory("", "a\n"), "absent"},
		{"delete, edit", memory("", "a\n"), "absent", memory("", "b\n"), memory("", "b\n")},
		{"new on one side", "absent", memory("", "b\n"), "absent", memory("", "b\n")},
		{"tombstone, edit", memory("", "a\n"), memory("deleted: true\n", ""), memory("", "b\n"), memory("", "b\n")},
		{"broken side", memory("", "a\n"), memory("x: [\n", "c\n"), memory("", "b\n"), memory("", "b\n")},
		{"other id", memory("", "a\n"), "---\nid: \"0123456789abcdef\"\n---\nx\n", memory("", "b\n"), memory("", "b\n")},

		{"scalars of both", memory("author: a\ncontext: b\n", ""), memory("author: x\ncontext: b\n", ""), memory("author: a\ncontext: y\n", ""), memory("author: x\ncontext: y\n", "")},
		{"scalar, newer", memory("author: a\n"+early, ""), memory("author: x\n"+early, ""), memory("author: b\n"+late, ""), memory("author: b\n"+late, "")},
		{"scalar, tie", memory("author: a\n"+early, ""), memory("author: x\n"+late, ""), memory("author: y\n"+late, ""), memory("author: y\n"+late, "")},
		{"stamps", memory("", "a\n"), memory("created_at: 2026-01-02T00:00:00Z\nupdated_at: 2026-01-03T00:00:00Z\n", "a\n"), memory("created_at: 2026-01-01T00:00:00Z\nupdated_at: 2026-01-02T00:00:00Z\n", "a\n"), memory("created_at: 2026-01-01T00:00:00Z\nupdated_at: 2026-01-03T00:00:00Z\n", "a\n")},
		{"future", memory("", "a\n"), memory("updated_at: 2031-01-01T00:00:00Z\n", "a\n"), memory("updated_at: 2026-01-01T00:00:00Z\n", "a\n"), memory("updated_at: 2026-03-01T12:05:00Z\n", "a\n")},
		{"sets", memory("tags: [a, b, c]\n", ""), memory("tags: [c, b, z]\n", ""), memory("tags: [a, w, b]\n", ""), memory("tags: [b, w, z]\n", "")},
		{"sets without base", "absent", memory("tags: [b, a]\n", ""), memory("tags: [c]\n", ""), memory("tags: [a, b, c]\n", "")},
		{"block list", memory("tags:\n  - a # x\n", ""), memory("tags:\n  - a\n  - b\n", ""), memory("tags:\n  - a\n  - c\n", ""), memory("tags:\n  - a\n  - b\n  - c\n", "")},
		{"links", memory("related_to: [\"0000000000000001\"]\n", "b\n"), memory("related_to: [\"0000000000000001\", \"F0123456789ABCDE\"]\n", "b\n"), memory("related_to: [\"f0123456789abcde\", \"0000000000000002\"]\n", "b\n"), memory("related_to: [\"0000000000000002\", \"f0123456789abcde\"]\n", "b\n")},
		{"unknown keys", memory("", ""), memory("x: 1\n", ""), memory("y: {a: b}\n", ""), ""},
		{"unknown list", memory("x: [1, 2]\n", ""), memory("x: [1, 2, 3]\n", ""), memory("x: [2]\n", ""), memory("x: [2, 3]\n", "")},
		{"unknown map", memory("x: {a: 1}\n"+early, ""), memory("x: {a: 2}\n"+late, ""), memory("x: {a: 3}\n"+early, ""), memory("x: {a: 2}\n"+late, "")},
		{"deleted key, edited", memory("x: 1\n", "a\n"), memory("", "a\n"), memory("x: 2\n", "a\n"), memory("x: 2\n", "a\n")},
		{"deleted key", memory("x: 1\ny: 1\n", "a\n"), memory("y: 1\n", "a\n"), memory("x: 1\ny: 2\n", "a\n"), memory("y: 2\n", "a\n")},
		{"comments", memory("author: a\n", "b\n"), memory("# mine\nauthor: a\n", "b\n"), memory("author: z # why\n", "b\n"), memory("# mine\nauthor: z # why\n", "b\n")},

		{"lines", memory("", lines("a", "b", "c", "d")), memory("", lines("A", "b", "c", "d")), memory("", lines("a", "b", "c", "D")), memory("", lines("A", "b", "c", "D"))},
		{"list items", memory("", lines("x", "", "- m")), memory("", lines("x", "", "- m", "- z", "  more")), memory("", lines("x", "", "- m", "- a")), memory("", lines("x", "", "- m", "- a", "- z", "  more"))},
		{"same item", memory("", lines("- m")), memory("", lines("- m", "- q", "- r")), memory("", lines("- m", "- q", "- s")), memory("", lines("- m", "- q", "- r", "- s"))},
		{"conflict", memory(early, lines("a", "b", "c")), memory(late, lines("a", "ours", "c")), memory(early, lines("a", "theirs", "c")), memory(late, lines("a", "ours", "c")+callout("theirs"))},
		{"conflict, git", strings.Replace(memory(early, lines("a", "b", "c")), "agent", "git", 1), strings.Replace(memory(late, lines("a", "ours", "c")), "agent", "git", 1), strings.Replace(memory(early, lines("a", "theirs", "c")), "agent", "git", 1), strings.Replace(memory(late, lines("a", "ours", "c")), "agent", "git", 1)},
		{"notes of a git memory", strings.Replace(memory(early, lines("a", "## Notes", "b")), "agent", "git", 1), strings.Replace(memory(late, lines("a", "## Notes", "ours")), "agent", "git", 1), strings.Replace(memory(early, lines("a", "## Notes", "theirs")), "agent", "git", 1), strings.Replace(memory(late, lines("a", "## Notes", "ours")+callout("theirs")), "agent", "git", 1)},
		{"callouts are a set", memory("", "a\n"+callout("one")), memory("", "a\n"+callout("one")+callout("two")), memory("", "a\n"+callout("three")), ""},
		{"callout settled", memory("", "a\nb\n"+callout("one")), memory("", "a\nb\n"), memory("", "a\nB\n"+callout("one")), memory("", "a\nB\n")},
		{"both new", "absent", memory(early, lines("same", "ours")), memory(late, lines("same", "theirs")), memory(late, lines("same", "theirs")+callout("ours"))},
		{"CRLF", memory("", "a\nb\nc\n"), strings.ReplaceAll(memory(late, "a\nb\nC\n"), "\n", "\r\n"), memory("", "A\nb\nc\n"), strings.ReplaceAll(memory(late, "A\nb\nC\n"), "\n", "\r\n")},
		{"note", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC", "A\nb\nC\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.name == "note" {
				opt := mergeOptions()
				opt.Path = "notes/n.md"
				got, err := fold.Merge3([]byte(tc.base), []byte(tc.ours), []byte(tc.theirs), opt)
				if err != nil || string(got.Bytes) != tc.want {
					t.Errorf("Merge3 = %q, %v, want %q", got.Bytes, err, tc.want)
				}
				return
			}
			got := merge3(t, tc.base, tc.ours, tc.theirs)
			if tc.want != "" && got != tc.want {
				t.Errorf("Merge3: -want +got\n%s", cmp.Diff(tc.want, got))
			}
			switch tc.name {
			case "unknown keys":
				if !strings.Contains(got, "x: 1\n") || !strings.Contains(got, "y: {a: b}\n") {
					t.Errorf("Merge3 dropped an unknown key:\n%s", got)
				}
			case "callouts are a set":
				_, calls := fold.CutCallouts(got)
				var texts []string
				for _, text := range calls {
					texts = append(texts, text)
				}
				slices.Sort(texts)
				if !slices.Equal(texts, []string{"three", "two"}) {
					t.Errorf("callouts %q, want three and two", texts)
				}
			}
		})
	}
}

// TestMerge3RewritesTheBlock: links of both sides, one block.
func TestMerge3RewritesTheBlock(t *testing.T) {
	file := func(ids ...fold.ID) string {
		m := &fold.Memory{ID: "1f2e3d4c5b6a7988", Title: "T", Type: "general", Source: fold.SourceAgent, Body: "text\n"}
		for _, id := range ids {
			m.Links = append(m.Links, fold.Link{To: id, Type: fold.LinkRelated})
		}
		return string(fold.Encode(m, titles))
	}
	got := merge3(t, file(), file("f0123456789abcde"), file("9a8b7c6d5e4f3021"))
	if want := file("9a8b7c6d5e4f3021", "f0123456789abcde"); got != want {
		t.Errorf("Merge3: -want +got\n%s", cmp.Diff(want, got))
	}
	// A line that a person added to the block is a link of the frontmatter.
	added := file("f0123456789abcde") + "- depends on [[9a8b7c6d5e4f3021]]\n"
	got = merge3(t, file("f0123456789abcde"), added, strings.Replace(file("f0123456789abcde"), "text", "more text", 1))
	if !strings.Contains(got, "depends_on: [\"9a8b7c6d5e4f3021\"]\n") || !strings.Contains(got, "- depends on [[9/a/9a8b7c6d5e4f3021|JWT decision]]\n") || !strings.Contains(got, "more text") {
		t.Errorf("Merge3 lost a link:\n%s", got)
	}
}

// TestMerge3DescribesAnew holds "a description never overwrites a person".
func TestMerge3DescribesAnew(t *testing.T) {
	file := func(blob, stamp, tags, context, body string) string {
		return "---\nid: \"1f2e3d4c5b6a7988\"\ntitle: store.go\nmemory_type: codebase\nsource: file\ntags: [" + tags + "]\ncontext: " + context + "\nsource_blob: " + blob + "\nupdated_at: " + stamp + "\n---\n" + body
	}
	base := file("aaaa", "2026-01-01T00:00:00Z", "go", "Opens the store.", "# store.go\n\nOpens the store.\n\n## Symbols\n\n- `Open` opens\n- `Close` closes\n")
	ours := file("aaaa", "2026-01-01T00:00:00Z", "go, careful", "Opens the store. Slow on NFS.", "# store.go\n\nOpens the store.\nDo not call it twice.\n\n## Symbols\n\n- `Open` opens\n- `Close` closes\n- beware of `Close` in tests\n\n## Notes\n\nAsk Ann.\n")
	theirs := file("bbbb", "2026-02-01T00:00:00Z", "go, sqlite", "Opens and repairs the store.", "# store.go\n\nOpens and repairs the store.\n\n## Symbols\n\n- `Open` opens\n- `Close` closes it all\n- `Repair` repairs\n")
	got := merge3(t, base, ours, theirs)
	for _, want := range []string{
		"tags: [careful, go, sqlite]\n", "source_blob: bbbb\n", "updated_at: 2026-02-01T00:00:00Z\n", "Slow on NFS.",
		"Do not call it twice.\n", "Opens and repairs the store.\n", "- `Repair` repairs\n", "- `Close` closes it all\n", "- beware of `Close` in tests\n", "## Notes\n\nAsk Ann.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the merged description lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "- `Close` closes\n") {
		t.Errorf("the merged description keeps what is no more:\n%s", got)
	}
}

// TestMerge3Laws: commutative, idempotent, readable, nothing of a person lost.
func TestMerge3Laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := drawDraft(t, "base", nil)
		ours, theirs := drawDraft(t, "ours", &base), drawDraft(t, "theirs", &base)
		from := base.text()
		if rapid.IntRange(0, 5).Draw(t, "absent") == 0 {
			from = "absent"
		}
		got := merge3(t, from, ours.text(), theirs.text())
		m, err := fold.Decode("p", ownPath, []byte(got))
		if err != nil {
			t.Fatalf("Decode(Merge3): %v\n%s", err, got)
		}
		_, calls := fold.CutCallouts(m.Body)
		all := m.Body + fmt.Sprint(calls)
		if base.source != "agent" {
			return
		}
		for _, side := range []draft{ours, theirs} {
			for _, line := range side.body {
				if strings.HasPrefix(line, "token") && !slices.Contains(base.body, line) && !strings.Contains(all, line) {
					t.Errorf("line %q is lost\nbase %q\nours %q\ntheirs %q\ngot %s", line, base.text(), ours.text(), theirs.text(), got)
				}
			}
		}
	})
}

// draft is a memory under the hands of rapid.
type draft struct {
	source string
	stamp  int
	tags   []string
	author string
	extra  string
	body   []string
}

func (d draft) text() string {
	s := "---\nid: \"1f2e3d4c5b6a7988\"\ntitle: T\nsource: " + d.source + "\n"
	if d.author != "" {
		s += "author: " + d.author + "\n"
	}
	if len(d.tags) > 0 {
		s += "tags: [" + strings.Join(d.tags, ", ") + "]\n"
	}
	s += fmt.Sprintf("updated_at: 2026-02-%02dT00:00:00Z\n", d.stamp) + d.extra + "---\n"
	if len(d.body) > 0 {
		s += strings.Join(d.body, "\n") + "\n"
	}
	return s
}

// drawDraft makes a draft, or changes a copy of base.
func drawDraft(t *rapid.T, side string, base *draft) draft {
	word := rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e"})
	d := draft{source: "agent", stamp: 1}
	if base == nil {
		d.source = rapid.SampledFrom([]string{"agent", "agent", "git", "file"}).Draw(t, "source")
	} else {
		d = *base
		d.body, d.tags = slices.Clone(base.body), slices.Clone(base.tags)
		d.stamp = rapid.IntRange(1, 3).Draw(t, side+" stamp")
	}
	if base == nil || rapid.Bool().Draw(t, side+" keys") {
		d.author = word.Draw(t, side+" author")
		d.tags = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4, func(s string) string { return s }).Draw(t, side+" tags")
		d.extra = rapid.SampledFrom([]string{"", "x: 1\n", "x: [1, 2]\n", "x: [2, 3]\n", "x: {a: 1}\n", "x: 2\ny: 3\n", "# c\nx: 1\n", "y: |\n  text\n\nz: 1\n"}).Draw(t, side+" extra")
	}
	line := rapid.SampledFrom([]string{"", "same", "- item", "- other", "## Notes", "```", "plain"})
	for i := range rapid.IntRange(0, 4).Draw(t, side+" edits") {
		at := rapid.IntRange(0, len(d.body)).Draw(t, side+" at")
		text := line.Draw(t, side+" line")
		if rapid.Bool().Draw(t, side+" token") {
			text = fmt.Sprintf("token %s %d", side, i)
		}
		switch {
		case at < len(d.body) && rapid.Bool().Draw(t, side+" replace"):
			d.body[at] = text
		case at < len(d.body) && rapid.Bool().Draw(t, side+" delete"):
			d.body = slices.Delete(d.body, at, at+1)
		default:
			d.body = slices.Insert(d.body, at, text)
		}
	}
	return d
}

// TestMergeAnew: the description by other rules of the same source takes the
// place of the old one wherever no person wrote.
func TestMergeAnew(t *testing.T) {
	file := func(keywords, body string) []byte {
		return []byte("---\nid: \"1f2e3d4c5b6a7988\"\ntitle: store.go\nmemory_type: codebase\nsource: file\nkeywords: [" + keywords + "]\nsource_blob: aaaa\nupdated_at: 2026-01-01T00:00:00Z\n---\n" + body)
	}
	base := file("old, store", "# store.go\n\nStores things.\n\n## Parts\n\n- `Open`\n")
	ours := file("ada, old, store", "# store.go\n\nStores Ada's things.\n\n## Parts\n\n- `Open`\n\n## Notes\n\nSlow on NFS.\n")
	for _, text := range []string{"A zoo of things.", "Zoo of things."} { // which is larger does not decide
		theirs := file("new, store", "# store.go\n\n"+text+"\n\n## Key Components\n\n- `Open`\n")
		res, err := fold.Merge3(base, ours, theirs, fold.MergeOptions{Redescribed: true})
		if err != nil {
			t.Fatal(err)
		}
		got := string(res.Bytes)
		for _, want := range []string{"keywords: [ada, new, store]", "Stores Ada's things.", "## Key Components", "Slow on NFS."} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in the merge:\n%s", want, got)
			}
		}
		for _, not := range []string{"## Parts", "Stores things.", "old"} {
			if strings.Contains(got, not) {
				t.Errorf("%q is in the merge:\n%s", not, got)
			}
		}
	}
}
