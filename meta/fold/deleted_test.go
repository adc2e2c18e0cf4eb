package fold_test

import (
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestMarkedDeleted: a file that says `deleted: true` is no memory, an edit wins over
// it, and it wins over what nobody has touched.
func TestMarkedDeleted(t *testing.T) {
	id := fold.SlugID("app", "timeout")
	live := "---\n# why\nid: \"" + string(id) + "\"\ntitle: Timeout\nmemory_type: decision\nsource: agent\nmine: 1\ncreated_at: 2025-03-04T05:06:07Z\nupdated_at: 2026-01-02T03:04:05Z\nrelated_to: [\"f0123456789abcde\"]\n---\n# Timeout\n\ndeleted: not yet\n"
	marked := func(at string) []byte {
		return []byte("---\nid: \"" + string(id) + "\"\nmemory_type: decision\nsource: agent\ncreated_at: 2025-03-04T05:06:07Z\nupdated_at: " + at + "\ndeleted: true\n---\n")
	}
	b, again := marked("2026-03-04T05:06:07Z"), marked("2026-03-04T06:06:07Z")
	if fold.MarkedDeleted([]byte(live)) || fold.MarkedDeleted(nil) {
		t.Error("a memory is taken for deleted")
	}
	if !fold.MarkedDeleted(b) {
		t.Errorf("%q is not taken for deleted", b)
	}
	edit := []byte(strings.Replace(live, "not yet", "by no means", 1))
	for _, sides := range [][2][]byte{{edit, b}, {b, edit}} {
		if r, err := fold.Merge3([]byte(live), sides[0], sides[1], fold.MergeOptions{}); err != nil || string(r.Bytes) != string(edit) {
			t.Errorf("an edit against a deletion = %q, %v, want the edit", r.Bytes, err)
		}
		if r, err := fold.MergeAt([]byte(live), sides[0], sides[1], fold.MergeOptions{Path: id.Path()}); err != nil || string(r.Bytes) != string(edit) {
			t.Errorf("by the merge driver = %q, %v, want the edit", r.Bytes, err)
		}
	}
	if r, err := fold.Merge3([]byte(live), []byte(live), b, fold.MergeOptions{}); err != nil || string(r.Bytes) != string(b) {
		t.Errorf("a stale copy against a deletion = %q, %v, want the deletion", r.Bytes, err)
	}
	// Brought back on one side, deleted once more on the other.
	if r, err := fold.Merge3(b, edit, again, fold.MergeOptions{}); err != nil || !strings.HasSuffix(string(r.Bytes), "by no means\n") || strings.Contains(string(r.Bytes), "deleted: true") {
		t.Errorf("a memory brought back against a later deletion = %q, %v, want the memory", r.Bytes, err)
	}
}
