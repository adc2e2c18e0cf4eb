package remember_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/remember"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// shelve writes a memory file, edits its text, and has the index know it.
func shelve(t *testing.T, d *remember.Service, store *gitops.Store, m fold.Memory, edit ...string) remember.Seen {
	t.Helper()
	m.Source, m.Path, m.Aliases = fold.SourceAgent, m.ID.Path(), []string{m.Title}
	if m.CreatedAt.IsZero() {
		m.CreatedAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	m.UpdatedAt = m.CreatedAt
	b := []byte(strings.NewReplacer(edit...).Replace(string(fold.Encode(&m, nil))))
	if _, err := store.Put(t.Context(), gitops.Write{ID: m.ID, New: b}); err != nil {
		t.Fatal(err)
	}
	now, err := fold.Decode("app", m.Path, b)
	if err != nil {
		t.Fatal(err)
	}
	row := index.Row{Memory: *now, Described: "fold", ContentHash: fold.ContentHash(b)}
	if _, err := d.Index.Apply(t.Context(), []index.Change{{Memory: &row, Links: now.WrittenLinks(nil), SetLinks: true}}); err != nil {
		t.Fatal(err)
	}
	return remember.Seen{ID: m.ID, Hash: row.ContentHash}
}

const (
	keepID fold.ID = "aaaaaaaaaaaaaaaa"
	goneID fold.ID = "bbbbbbbbbbbbbbbb"
	thirdA fold.ID = "cccccccccccccccc"
	thirdB fold.ID = "dddddddddddddddd"
)

// TestMergeLosesNothing merges two memories that differ in every part.
func TestMergeLosesNothing(t *testing.T) {
	t.Parallel()
	d, store := openDoor(t, nil)
	ctx, sc := t.Context(), fold.LocalScope()
	sc.Author = "claude"
	keep := shelve(t, d, store, fold.Memory{
		ID: keepID, Title: "Session storage", Type: "decision", Tags: []string{"a", "b", "c", "d", "e"}, Keywords: []string{"redis"}, Author: "ann",
		Links: []fold.Link{{From: keepID, To: goneID, Type: fold.LinkRelated}, {From: keepID, To: thirdA, Type: fold.LinkDependsOn}},
		Body:  "# Session storage\n\nSessions are in Redis.\n\n- item one\n- item two\n\n```sh\nredis-cli\n```\n",
	})
	gone := shelve(t, d, store, fold.Memory{
		ID: goneID, Title: "Where sessions are", Type: "decision", Tags: []string{"b", "f", "g"}, Keywords: []string{"sessions"}, Author: "bob", Context: "Asked in review.",
		CreatedAt: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC), Pinned: true, Importance: .7,
		Links: []fold.Link{{From: goneID, To: thirdB, Type: fold.LinkReferences}, {From: goneID, To: keepID, Type: fold.LinkRelated}},
		Body:  "# Where sessions are\n\nSessions   are in\nRedis.\n\n- item two\n- item three\n\nThey expire.\n\n```sh\nredis-cli -n 1\n```\n",
	}, "pinned: true\n", "pinned: true\nticket: OPS-1 # of the team\n")
	shelve(t, d, store, fold.Memory{ID: thirdA, Title: "Third", Type: "general", Links: []fold.Link{{From: thirdA, To: goneID, Type: fold.LinkDependsOn}}, Body: "# Third\n\nSee [[b/b/bbbbbbbbbbbbbbbb|it]].\n"})

	plan, err := d.PlanMerge(ctx, keep, gone)
	if err != nil || len(plan.Writes) != 3 {
		t.Fatalf("PlanMerge = %+v, %v", plan, err)
	}
	reply, rev, err := d.Merge(ctx, sc, keep, gone)
	if err != nil || rev == "" || reply.ID != string(keepID) || !reply.Durable || !reply.Committed {
		t.Fatalf("Merge = %+v, %q, %v", reply, rev, err)
	}
	b, err := store.Read(keepID.Path())
	if err != nil || fold.ContentHash(b) != reply.ContentHash {
		t.Fatal(err)
	}
	text := string(b)
	for _, want := range []string{
		"aliases: [Session storage, Where sessions are]\n", "tags: [a, b, c, d, e, f]\n", "keywords: [redis, sessions]\n", "author: ann\n", "context: Asked in review.\n",
		"created_at: 2025-01-02T03:04:05Z\n", "pinned: true\n", "importance: 0.7\n", "supersedes: [\"bbbbbbbbbbbbbbbb\"]\n",
		"references: [\"dddddddddddddddd\"]\n", "depends_on: [\"cccccccccccccccc\"]\n",
		"## From “Where sessions are”, which this supersedes\n\n- tags: g\n- author: bob\n\n- item three\n\nThey expire.\n\n```sh\nredis-cli -n 1\n```\n\n```yaml\nticket: OPS-1 # of the team\n```\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if strings.Count(text, "Redis.") != 1 || strings.Contains(text, "related_to") || t.Failed() {
		t.Errorf("the merged memory:\n%s", text)
	}
	if _, err := store.Read(goneID.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the superseded one: %v", err)
	}
	third, err := store.Read(thirdA.Path())
	if err != nil || !strings.Contains(string(third), "depends_on: [\"aaaaaaaaaaaaaaaa\"]") || !strings.Contains(string(third), "[[a/a/aaaaaaaaaaaaaaaa|it]]") {
		t.Errorf("what linked to it, %v:\n%s", err, third)
	}
	again, rev, err := d.Merge(ctx, sc, keep, gone)
	if err != nil || rev != "" || again.ContentHash != reply.ContentHash {
		t.Errorf("a second time: %+v, %q, %v", again, rev, err)
	}
}

// TestMergeOfWhatChangedIsRefused: both versions are told, and nothing is written.
func TestMergeOfWhatChangedIsRefused(t *testing.T) {
	t.Parallel()
	d, store := openDoor(t, nil)
	keep := shelve(t, d, store, fold.Memory{ID: keepID, Title: "A", Type: "decision", Body: "# A\n\nOne.\n"})
	gone := shelve(t, d, store, fold.Memory{ID: goneID, Title: "B", Type: "decision", Body: "# B\n\nTwo.\n"})
	for i, seen := range [][2]remember.Seen{{{ID: keep.ID, Hash: "x"}, gone}, {keep, {ID: gone.ID, Hash: "x"}}} {
		_, _, err := d.Merge(t.Context(), fold.LocalScope(), seen[0], seen[1])
		ce, ok := errors.AsType[*fold.ConflictError](err)
		if !ok || ce.ID != seen[i].ID || ce.Want != "x" || len(ce.Current) == 0 {
			t.Fatalf("Merge = %v", err)
		}
		if i == 0 && !strings.Contains(string(ce.Yours), "Two.") {
			t.Errorf("what would have been stored: %q", ce.Yours)
		}
	}
	if _, _, err := d.Merge(t.Context(), fold.LocalScope(), keep, remember.Seen{ID: thirdA}); !errors.Is(err, fold.ErrNotFound) {
		t.Errorf("with one that is not there: %v", err)
	}
	if _, _, err := d.Merge(t.Context(), fold.LocalScope(), keep, keep); !errors.Is(err, fold.ErrInvalid) {
		t.Errorf("with itself: %v", err)
	}
	for _, s := range []remember.Seen{keep, gone} {
		if err := d.Unchanged(t.Context(), s); err != nil {
			t.Error(err)
		}
	}
}
