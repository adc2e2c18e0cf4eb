package fold_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func seedFiles(f *testing.F, add func(text string)) {
	f.Helper()
	add(example)
	for _, text := range adversarial() {
		add(text)
	}
	for _, text := range hostile() {
		if len(text) < 4096 {
			add(text)
		}
	}
}

// FuzzDecode: what decodes encodes, and decodes to the same again.
func FuzzDecode(f *testing.F) {
	seedFiles(f, func(text string) { f.Add(true, []byte(text)); f.Add(false, []byte(text)) })
	f.Fuzz(func(t *testing.T, own bool, b []byte) {
		path := "n.md"
		if own {
			path = ownPath
		}
		start := time.Now()
		m, err := fold.Decode("p", path, b)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("Decode took %v", took)
		}
		if err != nil {
			return
		}
		text := fold.Encode(m, titles)
		if len(text) > fold.MaxFile || len(text)-len(m.Body) > fold.MaxFrontmatter {
			return
		}
		got, err := fold.Decode("p", path, text)
		if err != nil {
			t.Fatalf("Decode(Encode): %v\n%q\nfrom %q", err, text, b)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("Decode(Encode): -want +got\n%s\n%q\nfrom %q", diff, text, b)
		}
		if again := fold.Encode(got, titles); !bytes.Equal(again, text) {
			t.Errorf("Encode twice: %q, then %q", text, again)
		}
	})
}

// FuzzEditKeys: one key has the value that was given, the other bytes stay.
func FuzzEditKeys(f *testing.F) {
	seedFiles(f, func(text string) { f.Add([]byte(text), "title", "a: b #c"); f.Add([]byte(text), "context", "x\ny") })
	f.Fuzz(func(t *testing.T, b []byte, key, value string) {
		if _, err := fold.Decode("p", "n.md", b); err != nil {
			return
		}
		value = strings.ToValidUTF8(strings.ReplaceAll(value, "\x00", ""), "")
		edit := fold.KeyEdit{Key: key, Value: value}
		out, err := fold.EditKeys(b, edit)
		if err != nil {
			return
		}
		checkOutside(t, string(b), string(out), edit)
		back, err := fold.EditKeys(out, edit)
		if err != nil || !bytes.Equal(back, out) {
			t.Errorf("EditKeys twice: %v\n%q\n%q", err, out, back)
		}
		if key == "context" {
			if m, err := fold.Decode("p", "n.md", out); err == nil && m.Context != value {
				t.Errorf("context %q, want %q in %q", m.Context, value, out)
			}
		}
	})
}

// FuzzEncode: any text in any field survives.
func FuzzEncode(f *testing.F) {
	f.Add("Title", "a, b", "context", "# T\n\ntext\n", "blocked by", "why")
	f.Add("no", "0123", "a: b", "\n\n---\n\n## Related\n\n- [[f/0/f0123456789abcde|x]]\n", "", "")
	f.Add("\u2028", "#x", "a\r\nb", "```\nopen\r\n", "related", "a \"b\"")
	f.Fuzz(func(t *testing.T, title, tag, context, body, typ, why string) {
		m := &fold.Memory{
			ID: "1f2e3d4c5b6a7988", Path: ownPath, Title: "T" + title, Type: "general", Source: fold.SourceAgent, Tags: []string{tag}, Context: context, Body: body,
			Links: []fold.Link{{To: "f0123456789abcde", Type: fold.LinkType(typ), Context: why}},
		}
		text := fold.Encode(m, titles)
		got, err := fold.Decode("p", ownPath, text)
		if err != nil {
			if strings.Contains(body, "<<<<<<<") || strings.Contains(body, "=======") || strings.Contains(body, ">>>>>>>") || len(text) > 60<<10 {
				return
			}
			t.Fatalf("Decode(Encode): %v\n%q", err, text)
		}
		if len(got.Links) == 0 || got.Links[0].To != "f0123456789abcde" && len(got.Links) < 2 {
			t.Errorf("the link is lost: %q", text)
		}
		if !bytes.Equal(fold.Encode(got, titles), text) {
			t.Errorf("Encode twice: %q, then %q", text, fold.Encode(got, titles))
		}
		clean := strings.ToValidUTF8(strings.ReplaceAll(context, "\x00", ""), "\ufffd")
		if got.Context != clean {
			t.Errorf("context %q, want %q", got.Context, clean)
		}
	})
}

// FuzzWikiLinks: links lie in the text, in order, and rewriting changes only
// targets.
func FuzzWikiLinks(f *testing.F) {
	for _, s := range []string{"[[a|b]] `[[c]]` ![[d#e]]", "| [[a\\|b]] |", "```\n[[a]]\n```\n[[b#^c]]", "> ```\n[[a]]", "[[[a]]]\\[[b]]", "``[[`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		links := fold.WikiLinks(body)
		at := 0
		for _, l := range links {
			if l.Start < at || l.End > len(body) || !strings.Contains(body[l.Start:l.End], l.Target) {
				t.Fatalf("WikiLinks(%q): %+v", body, l)
			}
			at = l.End
		}
		none := func(string) (string, bool) { return "", false }
		if got := fold.RewriteLinks(body, none); got != body {
			t.Errorf("RewriteLinks without a change: %q, want %q", got, body)
		}
		got := fold.WikiLinks(fold.RewriteLinks(body, func(string) (string, bool) { return "f/0/f0123456789abcde", true }))
		for i := range links {
			if links[i].Target != "" {
				links[i].Target = "f/0/f0123456789abcde"
			}
		}
		same := cmp.Diff(links, got, cmpopts.IgnoreUnexported(fold.WikiLink{}), cmpopts.IgnoreFields(fold.WikiLink{}, "Start", "End", "Alias"))
		if same != "" {
			t.Errorf("RewriteLinks(%q): -want +got\n%s", body, same)
		}
	})
}

// FuzzMerge3: commutative, idempotent, and readable if both sides are.
func FuzzMerge3(f *testing.F) {
	f.Add([]byte(memory("", "a\n")), []byte(memory("tags: [a]\n", "a\nb\n")), []byte(memory("tags: [b]\n", "c\na\n")))
	f.Add([]byte("a\n"), []byte("b\n"), []byte("c"))
	f.Add([]byte{}, []byte(example), []byte(strings.Replace(example, "jwt", "jwk", 1)))
	notes := adversarial()
	for _, a := range []string{"CRLF", "anchors", "merge key", "literal keep", "Obsidian", "comments", "BOM", "related, ours"} {
		for _, b := range []string{"plain", "no frontmatter", "flow over lines", "quoted keys", "ends with fence"} {
			f.Add([]byte(notes["plain"]), []byte(notes[a]), []byte(notes[b]))
		}
	}
	f.Fuzz(func(t *testing.T, base, ours, theirs []byte) {
		opt := fold.MergeOptions{Now: mergeNow, Title: titles, Project: "p", Path: "n.md"}
		got, err := fold.Merge3(base, ours, theirs, opt)
		if err != nil {
			t.Fatal(err)
		}
		swapped, err := fold.Merge3(base, theirs, ours, opt)
		if err != nil || !bytes.Equal(got.Bytes, swapped.Bytes) || got.Deleted != swapped.Deleted {
			t.Errorf("not commutative: %v\n%q\n%q", err, got.Bytes, swapped.Bytes)
		}
		if again, err := fold.Merge3(ours, got.Bytes, ours, opt); err != nil || !bytes.Equal(again.Bytes, got.Bytes) {
			t.Errorf("not idempotent: %v\n%q\n%q", err, got.Bytes, again.Bytes)
		}
		_, errO := fold.Decode("p", "n.md", ours)
		_, errT := fold.Decode("p", "n.md", theirs)
		if errO == nil && errT == nil {
			if _, err := fold.Decode("p", "n.md", got.Bytes); err != nil {
				t.Errorf("the merge of two memories is none: %v\n%q\n%q\n%q", err, ours, theirs, got.Bytes)
			}
		}
	})
}
