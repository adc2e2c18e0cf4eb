package fold_test

import (
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

func TestBury(t *testing.T) {
	id := fold.SlugID("app", "timeout")
	live := "---\n# why\nid: \"" + string(id) + "\"\ntitle: Timeout\nmemory_type: decision\nsource: agent\nmine: 1\ncreated_at: 2025-03-04T05:06:07Z\nupdated_at: 2026-01-02T03:04:05Z\nrelated_to: [\"f0123456789abcde\"]\n---\n# Timeout\n\ndeleted: not yet\n"
	if _, ok := fold.Buried([]byte(live)); ok {
		t.Errorf("Buried(%q) = true", live)
	}
	at := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
	b, err := fold.Bury("app", id.Path(), []byte(live), at)
	if err != nil {
		t.Fatal(err)
	}
	if since, ok := fold.Buried(b); !ok || !since.Equal(at.Truncate(time.Second)) {
		t.Errorf("Buried(%q) = %v, %v, want %v", b, since, ok, at)
	}
	m, err := fold.Decode("app", id.Path(), b)
	if err != nil || m.Body != "" || m.ID != id || m.Type != "decision" || m.Source != fold.SourceAgent || !m.CreatedAt.Equal(at.AddDate(-1, 0, 0).Truncate(time.Second)) {
		t.Errorf("Bury = %q, %v, want what memory it was, of what kind and when", b, err)
	}
	if strings.Contains(string(b), "Timeout") || strings.Contains(string(b), "why") || strings.Contains(string(b), "mine") || strings.Contains(string(b), "f0123456789abcde") {
		t.Errorf("Bury = %q, want nothing of what somebody wrote", b)
	}
	if _, err := fold.Bury("app", "note.md", []byte("# Note\n"), at); err == nil {
		t.Error("a note without frontmatter was buried")
	}
	if b, _ := fold.Bury("app", id.Path(), []byte(live), at.AddDate(-9, 0, 0)); !strings.Contains(string(b), "2026-01-02T03:04:05Z") {
		t.Errorf("Bury by a clock that is behind = %q, want the time of the last edit", b)
	}
	edit := []byte(strings.Replace(live, "not yet", "by no means", 1))
	for _, sides := range [][2][]byte{{edit, b}, {b, edit}} {
		if r, err := fold.Merge3([]byte(live), sides[0], sides[1], fold.MergeOptions{}); err != nil || string(r.Bytes) != string(edit) {
			t.Errorf("an edit against a tombstone = %q, %v, want the edit", r.Bytes, err)
		}
		if r, err := fold.MergeAt([]byte(live), sides[0], sides[1], fold.MergeOptions{Path: id.Path()}); err != nil || string(r.Bytes) != string(edit) {
			t.Errorf("by the merge driver = %q, %v, want the edit", r.Bytes, err)
		}
	}
	if r, err := fold.Merge3([]byte(live), []byte(live), b, fold.MergeOptions{}); err != nil || string(r.Bytes) != string(b) {
		t.Errorf("a stale copy against a tombstone = %q, %v, want the tombstone", r.Bytes, err)
	}
	// Brought back on one side, deleted once more on the other.
	again, err := fold.Bury("app", id.Path(), b, at.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := fold.Merge3(b, edit, again, fold.MergeOptions{}); err != nil || !strings.HasSuffix(string(r.Bytes), "by no means\n") || strings.Contains(string(r.Bytes), "deleted: true") {
		t.Errorf("a memory brought back against a later tombstone = %q, %v, want the memory", r.Bytes, err)
	}
}
