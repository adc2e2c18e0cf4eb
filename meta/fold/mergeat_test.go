package fold_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestMergeAtRefusesTwoMemories: what git hands over as a side may be another memory, which
// it took for the first renamed. Neither may then be lost for the other.
func TestMergeAtRefusesTwoMemories(t *testing.T) {
	t.Parallel()
	memory := func(id, text string) string {
		if id != "" {
			id = "id: " + id + "\n"
		}
		return "---\n" + id + "title: T\n---\n" + text
	}
	const a, b, uuid = "1f2e3d4c5b6a7988", "2f2e3d4c5b6a7988", "0B7C6E58-93C8-4B0E-9C7A-2F0F3C8D1E11"
	const base, left, right, both = "one\ntwo\nthree\n", "ONE\ntwo\nthree\n", "one\ntwo\nTHREE\n", "ONE\ntwo\nTHREE\n"
	for name, c := range map[string]struct{ base, ours, theirs, want string }{
		"one memory":                     {memory(a, base), memory(a, left), memory(a, right), memory(a, both)},
		"ours is another":                {memory(a, base), memory(b, left), memory(a, right), ""},
		"theirs is another":              {memory(a, base), memory(a, left), memory(b, right), ""},
		"ours has no id":                 {memory(a, base), memory("", left), memory(a, right), ""},
		"both are another":               {memory(a, base), memory(b, left), memory(b, base), memory(b, base+"\n> [!conflict]- Other version 2192e8955d5e1ad1\n> ONE\n")},
		"foreign ids":                    {memory(uuid, base), memory(uuid, left), memory(strings.ToLower(uuid), right), memory(uuid, both)},
		"a foreign another":              {memory(uuid, base), memory("other", left), memory(uuid, right), ""},
		"added twice":                    {"", memory(a, left), memory(b, right), ""},
		"a note":                         {memory("", base), memory("", left), memory("", right), memory("", both)},
		"an adopted note":                {memory("", base), memory("", left), memory(a, right), memory(a, both)},
		"adopted differing":              {memory("", base), memory(a, left), memory(b, right), ""},
		"ours is unreadable":             {memory(a, base), "---\nid: [\n---\n" + left, memory(a, right), memory(a, right)},
		"none is readable":               {memory(a, base), "---\nid: [\n---\n" + left, "---\nid: [\n---\n" + right, ""},
		"one is unreadable, one another": {memory(a, base), "---\nid: [\n---\n" + left, memory(b, right), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var old []byte
			if c.base != "" {
				old = []byte(c.base)
			}
			r, err := fold.MergeAt(old, []byte(c.ours), []byte(c.theirs), fold.MergeOptions{Path: "ideas/one.md"})
			if c.want == "" {
				if !errors.Is(err, fold.ErrQuarantined) {
					t.Errorf("MergeAt = %q, %v", r.Bytes, err)
				}
				return
			}
			// Of one id in two spellings either will do.
			if err != nil || !strings.EqualFold(string(r.Bytes), c.want) {
				t.Errorf("MergeAt = %q, %v, want %q", r.Bytes, err, c.want)
			}
		})
	}
}
