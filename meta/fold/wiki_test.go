package fold_test

import (
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestWikiLinks(t *testing.T) {
	type link = fold.WikiLink
	for _, tc := range []struct {
		body string
		want []link
	}{
		{"[[Note]]", []link{{Target: "Note"}}},
		{"[[a/b/1f2e3d4c5b6a7988|T]] and [[x.md]]", []link{{Target: "a/b/1f2e3d4c5b6a7988", Alias: "T"}, {Target: "x.md"}}},
		{"[[Note#Heading|alias]]", []link{{Target: "Note", Heading: "Heading", Alias: "alias"}}},
		{"[[Note#A#B]]", []link{{Target: "Note", Heading: "A#B"}}},
		{"[[Note#^block]]", []link{{Target: "Note", Block: "block"}}},
		{"[[#Here]] [[#^b]]", []link{{Heading: "Here"}, {Block: "b"}}},
		{"![[img.png|100]]", []link{{Target: "img.png", Alias: "100", Embed: true}}},
		{"| [[Note\\|alias]] | x |", []link{{Target: "Note", Alias: "alias"}}},
		{"[[ Note ]]", []link{{Target: "Note"}}},
		{"[[a]][[b]]", []link{{Target: "a"}, {Target: "b"}}},
		{"[[[a]]]", []link{{Target: "a"}}},
		{"[[a [[b]]", []link{{Target: "b"}}},
		{"[[a\nb]]", nil},
		{"[[]] [[ ]] [[|x]]", nil},
		{"\\[[a]]", nil},
		{"`[[a]]` [[b]]", []link{{Target: "b"}}},
		{"``[[a]] ` [[b]]`` [[c]]", []link{{Target: "c"}}},
		{"`open [[a]]", []link{{Target: "a"}}},
		{"`two\nlines [[a]]` [[b]]", []link{{Target: "b"}}},
		{"`one\n\n[[a]]`", []link{{Target: "a"}}},
		{"\\`[[a]]`", []link{{Target: "a"}}},
		{"```\n[[a]]\n```\n[[b]]", []link{{Target: "b"}}},
		{"~~~\n[[a]]\n```\n[[b]]\n~~~\n[[c]]", []link{{Target: "c"}}},
		{"````\n```\n[[a]]\n````\n[[b]]", []link{{Target: "b"}}},
		{"- ```\n  [[a]]\n  ```\n- [[b]]", []link{{Target: "b"}}},
		{"> ```\n> [[a]]\n\n[[b]]", []link{{Target: "b"}}},
		{"```a`b``` [[c]]", []link{{Target: "c"}}},
		{"[[認証|🦊]]", []link{{Target: "認証", Alias: "🦊"}}},
		{"a\r\n[[b]]\r\n", []link{{Target: "b"}}},
	} {
		got := fold.WikiLinks(tc.body)
		if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(link{}), cmpopts.IgnoreFields(link{}, "Start", "End")); diff != "" {
			t.Errorf("WikiLinks(%q): -want +got\n%s", tc.body, diff)
		}
		for _, l := range got {
			text := tc.body[l.Start:l.End]
			if !strings.HasSuffix(text, "]]") || l.Embed != strings.HasPrefix(text, "!") {
				t.Errorf("WikiLinks(%q): a link at %q", tc.body, text)
			}
		}
	}
}

// TestWikiLinksTakesLinearTime: eight times the text takes less than 24 times as long;
// if it took time by the square, it would be 64. The fastest of some tries counts,
// since others work on the machine.
func TestWikiLinksTakesLinearTime(t *testing.T) {
	const small = 128 << 10
	took := func(unit string, size int) time.Duration {
		text := strings.Repeat(unit, size/len(unit))
		start := time.Now()
		fold.WikiLinks(text)
		return time.Since(start)
	}
	for _, unit := range []string{"[[", "]]", "[[a", "`", "` `` ", "[[a|", "\\", "![[", "> ", "[[a]]", "- ```\n"} {
		once, eight := time.Hour, time.Hour
		for try := 0; try == 0 || eight >= 24*once && try < 8; try++ {
			once, eight = min(once, took(unit, small)), min(eight, took(unit, 8*small))
		}
		if eight >= 24*once {
			t.Errorf("WikiLinks on %q: %v for %d bytes, %v for eight times as many", unit, once, small, eight)
		}
	}
}

func TestRewriteLinks(t *testing.T) {
	rename := func(target string) (string, bool) {
		if strings.EqualFold(target, "old") {
			return "1/f/1f2e3d4c5b6a7988", true
		}
		return "", false
	}
	for _, tc := range []struct{ in, want string }{
		{"[[Old]]", "[[1/f/1f2e3d4c5b6a7988|Old]]"},
		{"[[old#H|a]] [[new]]", "[[1/f/1f2e3d4c5b6a7988#H|a]] [[new]]"},
		{"[[Old#H]]", "[[1/f/1f2e3d4c5b6a7988#H|Old#H]]"},
		{"![[Old]]", "![[1/f/1f2e3d4c5b6a7988]]"},
		{"| [[Old]] | [[Old\\|x]] |", "| [[1/f/1f2e3d4c5b6a7988\\|Old]] | [[1/f/1f2e3d4c5b6a7988\\|x]] |"},
		{"`[[Old]]` [[ Old ]]", "`[[Old]]` [[ 1/f/1f2e3d4c5b6a7988 |Old]]"},
		{"nothing", "nothing"},
	} {
		if got := fold.RewriteLinks(tc.in, rename); got != tc.want {
			t.Errorf("RewriteLinks(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestLinkTarget(t *testing.T) {
	for _, tc := range []struct{ title, want string }{
		{"Title", "[[f/0/f0123456789abcde|Title]]"},
		{"", "[[f/0/f0123456789abcde]]"},
		{"a|b]]c\nd", "[[f/0/f0123456789abcde|a-b))c d]]"},
		{"x[0]", "[[f/0/f0123456789abcde|x(0)]]"},
		{"[tag] text", "[[f/0/f0123456789abcde|[tag] text]]"},
		{"`code`", "[[f/0/f0123456789abcde|'code']]"},
	} {
		got := fold.LinkTarget("f0123456789abcde", tc.title)
		if got != tc.want {
			t.Errorf("LinkTarget(%q) = %q, want %q", tc.title, got, tc.want)
		}
		if links := fold.WikiLinks(got); len(links) != 1 || links[0].Target != "f/0/f0123456789abcde" {
			t.Errorf("WikiLinks(LinkTarget(%q)) = %v", tc.title, links)
		}
	}
}

func TestResolver(t *testing.T) {
	const auth, jwt, note, deep, twin = fold.ID("f0123456789abcde"), fold.ID("9a8b7c6d5e4f3021"), fold.ID("00000000000000aa"), fold.ID("00000000000000bb"), fold.ID("00000000000000cc")
	r := fold.NewResolver([]fold.ResolverEntry{
		{ID: deep, Path: "x/y/Plan.md", Title: "Deep plan"},
		{ID: auth, Path: "f/0/f0123456789abcde.md", Title: "Authentication", Aliases: []string{"Auth"}},
		{ID: jwt, Title: "JWT decision"},
		{ID: note, Path: "notes/Plan.md", Title: "The plan", Foreign: "550E8400-e29b"},
		{ID: twin, Path: "Authentication.md", Title: "Plan"},
	})
	for _, tc := range []struct {
		target string
		want   fold.ID
	}{
		{"f0123456789abcde", auth},
		{"F0123456789ABCDE", auth},
		{"f/0/f0123456789abcde", auth},
		{"fold/f/0/f0123456789abcde.md", auth},
		{"f0123456789abcde.md", auth},
		{"9a8b7c6d5e4f3021", jwt},
		{"jwt DECISION", jwt},
		{"auth", auth},
		{"Authentication", twin}, // a file of that name comes before a title, as in Obsidian
		{"Plan", note},           // the shortest path
		{"plan.md", note},
		{"y/plan", deep},
		{"x/y/Plan", deep},
		{"notes/plan", note},
		{"fold/notes/plan.md", note},
		{"../notes/Plan", note},
		{"The  plan", note},
		{"550e8400-E29B", note},
		{"Plan#Heading", note},
		{"aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa"}, // dangles
	} {
		if got, ok := r.Resolve(tc.target); !ok || got != tc.want {
			t.Errorf("Resolve(%q) = %s, %v, want %s", tc.target, got, ok, tc.want)
		}
	}
	for _, target := range []string{"", "nothing", "0/1/f0123456789abcde", "z/plan", "img.png"} {
		if got, ok := r.Resolve(target); ok {
			t.Errorf("Resolve(%q) = %s, want none", target, got)
		}
	}
}

func TestResolverComparesComposedNames(t *testing.T) {
	r := fold.NewResolver([]fold.ResolverEntry{{ID: "00000000000000aa", Path: "cafe\u0301.md"}})
	if _, ok := r.Resolve("CAF\u00c9"); !ok {
		t.Error("a decomposed file name is not found by its composed form")
	}
}

func TestWrittenLinks(t *testing.T) {
	text := "---\nid: \"1f2e3d4c5b6a7988\"\ntitle: T\nrelated_to: [\"F0123456789abcde\", \"[[JWT]]\"]\nlinks: [\"blocked_by 00000000000000aa until then\", \"related f0123456789abcde why\"]\n---\n" +
		"See [[f0123456789abcde#H|x]], [[f/0/f0123456789abcde]], [[JWT]], [[nobody]] and [[1f2e3d4c5b6a7988]].\n"
	m, err := fold.Decode("p", ownPath, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := m.WrittenLinks(func(target string) (fold.ID, bool) { return "9a8b7c6d5e4f3021", target == "JWT" })
	link := func(to fold.ID, typ fold.LinkType, context string) fold.Link {
		return fold.Link{From: m.ID, To: to, Type: typ, Context: context, Weight: 1}
	}
	want := []fold.Link{
		link("9a8b7c6d5e4f3021", "related", ""), link("f0123456789abcde", "references", ""), link("9a8b7c6d5e4f3021", "references", ""),
		link("f0123456789abcde", "related", "why"), link("00000000000000aa", "blocked_by", "until then"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("WrittenLinks: -want +got\n%s", diff)
	}
}
