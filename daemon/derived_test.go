package daemon

import (
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestDerivedIDs: memories whose ids follow from the slug get those of the new one, and
// no others do.
func TestDerivedIDs(t *testing.T) {
	t.Parallel()
	const oid, pull = "1111111111111111111111111111111111111111", "# Feed it\n\nPull request github.com/zoo/pool#7, merged into `main`.\n"
	for name, tc := range map[string]struct {
		m    fold.Memory
		want fold.ID
	}{
		"note":         {fold.Memory{ID: fold.NoteID("a", "x.md"), Path: "x.md", Note: true}, fold.NoteID("b", "x.md")},
		"file":         {fold.Memory{ID: fold.FileID("a", "x.go"), FilePath: "x.go"}, fold.FileID("b", "x.go")},
		"commit":       {fold.Memory{ID: fold.CommitID("a", oid), Commit: oid}, fold.CommitID("b", oid)},
		"pull request": {fold.Memory{ID: fold.PullID("a", "github.com/zoo/pool", 7), Type: "pr", Commit: oid, Body: pull}, fold.PullID("b", "github.com/zoo/pool", 7)},
		"its twin":     {fold.Memory{ID: fold.SlugID("a", "x"), Type: "pr", Body: pull}, ""},
		"an agent's":   {fold.Memory{ID: fold.SlugID("a", "x"), Body: "text"}, ""},
	} {
		if got, ok := derivedID(&tc.m, "a", "b"); got != tc.want || ok != (tc.want != "") {
			t.Errorf("%s: %q, %v, want %q", name, got, ok, tc.want)
		}
	}
}
