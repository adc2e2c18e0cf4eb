package fold_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/google/go-cmp/cmp"
)

func TestDecodeReadsWhatWasWritten(t *testing.T) {
	text := front("title: no\naliases: [0123, 1e10, \"yes\", ~]\ntype: decision\nsource: git\nauthor: 12:30\ntags: ['#a', b, b, \"\"]\ncontext: |\n  one\n  ---\n  two\n" +
		"original_date: 2024-03-15\ncreated_at: 2026-02-03T12:30:00+02:00\nupdated_at: 2026-02-03 10:30\nimportance: 0.5\npinned: yes\nrelated_to: F0123456789ABCDE\nmine: {a: [b]}\n")
	m, err := fold.Decode("p", ownPath, []byte(strings.ReplaceAll(text, "\n", "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	stamp := time.Date(2026, 2, 3, 10, 30, 0, 0, time.UTC)
	want := &fold.Memory{
		ID: "1f2e3d4c5b6a7988", Path: ownPath, Title: "no", Aliases: []string{"0123", "1e10", "yes"}, Type: "decision", Source: fold.SourceGit, Author: "12:30",
		Tags: []string{"a", "b"}, Context: "one\n---\ntwo\n", OriginalDate: "2024-03-15", CreatedAt: stamp, UpdatedAt: stamp, Importance: .5, Pinned: true,
		Links: []fold.Link{{From: "1f2e3d4c5b6a7988", To: "f0123456789abcde", Type: fold.LinkRelated, Weight: 1}}, Body: "# T\n",
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("Decode: -want +got\n%s", diff)
	}
}

func TestDecodeNotes(t *testing.T) {
	for _, tc := range []struct{ path, text, title, foreign string }{
		{"Note.md", "text\n", "Note", ""},
		{"a/b c/Note.md", "# Heading #\n\ntext\n", "Heading", ""},
		{"Note.md", "```\n# no\n```\n## Second\n# First\n", "First", ""},
		{"Note.md", "---\nid: 550E8400-e29b_x\ntitle: T\n---\n# H\n", "T", "550E8400-e29b_x"},
		{"Note.md", "---\nid: 0123\n---\n", "Note", "0123"},
		{"moved/1f2e3d4c5b6a7988.md", "---\nid: \"1f2e3d4c5b6a7988\"\ntitle: T\n---\n", "T", "1f2e3d4c5b6a7988"},
		{"Note.md", "", "Note", ""},
		{"Note.md", "\n\n---\ntitle: T\n---\nbody\n", "T", ""},
		{"Note.md", "#tag\n", "Note", ""},
	} {
		m, err := fold.Decode("p", tc.path, []byte(tc.text))
		if err != nil {
			t.Errorf("Decode(%q, %q): %v", tc.path, tc.text, err)
			continue
		}
		if m.Title != tc.title || m.Foreign != tc.foreign || !m.Note || m.ID != fold.NoteID("p", tc.path) || m.Source != fold.SourceAgent || m.Type != "general" {
			t.Errorf("Decode(%q, %q) = %+v", tc.path, tc.text, m)
		}
	}
	for _, id := range []string{"../../x", "/etc/passwd", "a b", strings.Repeat("a", 65), "[a]", "ü"} {
		if _, err := fold.Decode("p", "n.md", []byte("---\nid: "+id+"\n---\n")); !errors.Is(err, fold.ErrQuarantined) {
			t.Errorf("Decode with id %q: %v, want ErrQuarantined", id, err)
		}
	}
}

func TestDecodePaths(t *testing.T) {
	own := []byte(front(""))
	for _, path := range []string{
		"", "x", "../n.md", "/n.md", "a//n.md", ".obsidian/n.md", ".trash/n.md", "a/.n.md", "1/2/3/4/5/6/7/8/n.md", "caf\xe9.md", "CON.md", "aux/n.md", "com1.x.md", "a./n.md", "a\\n.md", "a:b.md",
		strings.Repeat("n", 300) + ".md", "\u200c.git/n.md", "a\x00.md", "project.toml", "f/f/1f2e3d4c5b6a7988.md", "1/F/1F2E3D4C5B6A7988.md", ".md",
	} {
		if _, err := fold.Decode("p", path, own); !errors.Is(err, fold.ErrQuarantined) {
			t.Errorf("Decode(%q): %v, want ErrQuarantined", path, err)
		}
	}
	for _, path := range []string{"n.md", "1/2/3/4/5/6/7/n.md", "日本/メモ.md", "Why?.md", "👩‍👩‍👧.md", "console.md", "a b.c.md", "project.toml"} {
		if err := fold.ValidPath(path); err != nil {
			t.Errorf("ValidPath(%q): %v", path, err)
		}
	}
	if a, b := fold.NoteID("p", "caf\u00e9.md"), fold.NoteID("p", "cafe\u0301.md"); a != b {
		t.Errorf("NoteID differs between composed and decomposed names: %s, %s", a, b)
	}
	if id, ok := fold.OwnPath(ownPath); !ok || id != "1f2e3d4c5b6a7988" {
		t.Errorf("OwnPath = %s, %v", id, ok)
	}
}

func TestRelatedBlock(t *testing.T) {
	const block = "\n---\n\n## Related\n\n"
	for _, tc := range []struct {
		name, body, want string
		links            int
	}{
		{"ours", "text\n" + block + "- [[f/0/f0123456789abcde|T]]\n", "text\n", 0},
		{"of seed 000", "text\n" + block + "- [[f/0/f0123456789abcde.md|f0123456789abcde]]\n", "text\n", 1},
		{"with type", "text\n" + block + "- depends on [[F0123456789abcde]]\n\n\n", "text\n", 1},
		{"only the block", strings.TrimPrefix(block, "\n") + "- [[f/0/f0123456789abcde]]\n", "", 0},
		{"a word after it", "text\n" + block + "- [[f/0/f0123456789abcde]] see\n", "same", 0},
		{"a title", "text\n" + block + "- [[Some note]]\n", "same", 0},
		{"a line of text", "text\n" + block + "- [[f/0/f0123456789abcde]]\nmine\n", "same", 0},
		{"no rule", "text\n\n## Related\n\n- [[f/0/f0123456789abcde]]\n", "same", 0},
		{"no items", "text\n" + block, "text\n\n---\n\n## Related\n", 0},
		{"in a fence", "```\n" + block + "- [[f/0/f0123456789abcde]]\n", "same", 0},
		{"two links", "text\n" + block + "- [[f/0/f0123456789abcde]] [[f/0/f0123456789abcde]]\n", "same", 0},
	} {
		m, err := fold.Decode("p", ownPath, []byte("---\nid: \"1f2e3d4c5b6a7988\"\n---\n"+tc.body))
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		want := tc.want
		if want == "same" {
			want = tc.body
		}
		if m.Body != want || len(m.Links) != tc.links {
			t.Errorf("%s: body %q, links %v; want %q and %d", tc.name, m.Body, m.Links, want, tc.links)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	nested := strings.Replace(example, "---\n# Auth", "plugin:\n  a: [1, 2]\n  b: {c: d}\n---\n# Auth", 1)
	for _, bc := range []struct{ name, text string }{{"own", example}, {"nested", nested}, {"body 16 KB", example[:strings.Index(example, "\n---\n\n## Rel")] + strings.Repeat("some words of text\n", 900)}} {
		b.Run(bc.name, func(b *testing.B) {
			text := []byte(bc.text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := fold.Decode("p", ownPath, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkMerge3(b *testing.B) {
	side := func(change string) []byte {
		var s strings.Builder
		for i := range 300 {
			fmt.Fprintf(&s, "line %d\n", i)
			if i%50 == 0 {
				s.WriteString(change)
			}
		}
		return []byte(front("") + s.String())
	}
	base, ours, theirs := side(""), side("ours\n"), side("theirs\n")
	for b.Loop() {
		if _, err := fold.Merge3(base, ours, theirs, fold.MergeOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
