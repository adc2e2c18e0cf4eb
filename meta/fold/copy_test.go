package fold

import (
	"strings"
	"testing"
	"time"
)

func TestEncodeCopy(t *testing.T) {
	m := &Memory{
		ID: "1f2e3d4c5b6a7988", Title: "Zeit: \"heute\"", Type: "decision", Author: "Ann", Agent: "claude", Session: "s1", Keywords: []string{"secretive"},
		CreatedAt: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
		Body: "# Time\n\nSee [[f/0/f0123456789abcde|the other]], [[Other#A heading: two]], ![[gone.png]], [[#Here]] and [[Nothing]].\n\n" +
			"| a | b |\n|---|---|\n| [[Other\\|x]] | `[[Other]]` |\n\n```\n[[Other]]\n```\n\n---\n\n## Related\n\n- [[f/0/f0123456789abcde|Other]]\n",
		Links: []Link{{To: "f0123456789abcde", Type: LinkDependsOn}, {To: "0000000000000001", Type: LinkRelated}, {To: "0000000000000002", Type: LinkRelated}},
	}
	at := func(target string) CopyTarget {
		switch target {
		case "f/0/f0123456789abcde", "f0123456789abcde", "Other":
			return CopyTarget{File: "my other.md", Title: "The [other]"}
		case "0000000000000001":
			return CopyTarget{Title: "Not here"}
		}
		return CopyTarget{}
	}
	b := EncodeCopy(m, at)
	got := string(b)
	for _, want := range []string{
		"---\ntitle: \"Zeit: \\\"heute\\\"\"\ntype: decision\nauthor: Ann\ncreated_at: 2026-02-03T04:05:06Z\nfoldwatch: \"1f2e3d4c5b6a7988\"\nfoldwatch_hash: \"",
		"See [the other](<my other.md>), [The (other)](<my other.md#a-heading-two>), gone.png, [Here](#here) and Nothing.",
		"| [x](<my other.md>) | `[[Other]]` |", "```\n[[Other]]\n```",
		"## Related\n\n- Not here\n- depends on [The (other)](<my other.md>)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the copy lacks %q:\n%s", want, got)
		}
	}
	if strings.Count(got, "## Related") != 1 || strings.Contains(got, "claude") || strings.Contains(got, "secretive") || strings.HasSuffix(got, "\n\n") {
		t.Errorf("the copy has too much:\n%s", got)
	}
	id, hash, ok := CopyOf([]byte(strings.ReplaceAll(got, "\n", "\r\n")))
	if !ok || id != m.ID || len(hash) != 16 {
		t.Errorf("CopyOf = %q, %q, %v", id, hash, ok)
	}
	if _, again, _ := CopyOf(EncodeCopy(m, at)); again != hash {
		t.Errorf("hashes %s and %s of one memory", hash, again)
	}
	m.Body += "More.\n"
	if _, other, _ := CopyOf(EncodeCopy(m, at)); other == hash {
		t.Error("another text has the same hash")
	}
	for _, text := range []string{"", "---\n", "---\nid: x\n---\n", "---\nfoldwatch: \"nothex\"\nfoldwatch_hash: \"a\"\n---\n", "# foldwatch: 1f2e3d4c5b6a7988\n"} {
		if _, _, ok := CopyOf([]byte(text)); ok {
			t.Errorf("%q is taken for a copy", text)
		}
	}
}

func TestCopyName(t *testing.T) {
	for title, want := range map[string]string{
		"Keep sessions: a week!":     "keep-sessions-a-week-1f2e3d4c.md",
		"決定":                         "memory-1f2e3d4c.md",
		"../../x":                    "x-1f2e3d4c.md",
		strings.Repeat("long ", 100): "long-long-long-long-long-long-long-long-long-long-long-long-1f2e3d4c.md",
	} {
		if got := CopyName(&Memory{ID: "1f2e3d4c5b6a7988", Title: title}); got != want {
			t.Errorf("CopyName(%.20q) = %q, want %q", title, got, want)
		}
	}
}
