package fold_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/google/go-cmp/cmp"
)

func calloutOf(text string) string {
	return "\n" + fold.Callout(fold.ContentHash([]byte(text))[:16], text)
}

// TestPromote: each callout becomes a memory of its own, and the file is what
// it was without them.
func TestPromote(t *testing.T) {
	plain := strings.ReplaceAll(memory("# mine\ntags: [b, a]\n", "text\n\n```\ncode\n```\n"), "\n", "\r\n")
	with := plain + strings.ReplaceAll(calloutOf("Retry three times.")+calloutOf("- one\n- two"), "\n", "\r\n")
	m, err := fold.Decode("p", ownPath, []byte(with))
	if err != nil {
		t.Fatal(err)
	}
	rest, made, err := fold.Promote([]byte(with), m)
	if err != nil || string(rest) != plain {
		t.Errorf("Promote: %v -want +got\n%s", err, cmp.Diff(plain, string(rest)))
	}
	var got []string
	for _, p := range made {
		text := fold.Encode(p, nil)
		back, err := fold.Decode("p", p.Path, text)
		if err != nil || back.Type != fold.TypeConflict || len(back.Links) != 1 || back.Links[0].To != m.ID || back.Links[0].Type != fold.LinkConflictsWith {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		got = append(got, back.Title+" "+strings.TrimSpace(strings.TrimPrefix(back.Body, "# "+back.Title)))
	}
	slices.Sort(got)
	if want := []string{"Other version: Retry three times. Retry three times.", "Other version: one - one\n- two"}; !slices.Equal(got, want) {
		t.Errorf("Promote made %q, want %q", got, want)
	}
	m, _ = fold.Decode("p", ownPath, rest)
	if again, made, err := fold.Promote(rest, m); err != nil || len(made) > 0 || string(again) != string(rest) {
		t.Errorf("Promote twice: %v, %d memories", err, len(made))
	}
}

// TestPromoteIsTheSameEverywhere: what a replica did to the memory meanwhile
// does not show in what it makes of a callout, nor in the merge of both.
func TestPromoteIsTheSameEverywhere(t *testing.T) {
	merged := memory("updated_at: 2026-02-01T00:00:00Z\n", "text\n"+calloutOf("lost"))
	later := strings.Replace(memory("updated_at: 2026-02-03T00:00:00Z\ntags: [new]\n", "text\nmore\n"+calloutOf("lost")), "title: T", "title: Other", 1)
	var files, rests [][]byte
	for _, text := range []string{merged, later} {
		m, err := fold.Decode("p", ownPath, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		rest, made, err := fold.Promote([]byte(text), m)
		if err != nil || len(made) != 1 {
			t.Fatalf("Promote: %v, %d memories", err, len(made))
		}
		files, rests = append(files, fold.Encode(made[0], nil)), append(rests, rest)
	}
	if string(files[0]) != string(files[1]) {
		t.Errorf("two replicas make two memories: %s", cmp.Diff(string(files[0]), string(files[1])))
	}
	got := merge3(t, merged, string(rests[0]), later)
	if got != string(rests[1]) {
		t.Errorf("the callout is back: %s", cmp.Diff(string(rests[1]), got))
	}
}

// TestPromoteLeaves what cannot stand alone where it is.
func TestPromoteLeaves(t *testing.T) {
	// A mark of git is quoted in a callout, and would hold a memory back.
	with := memory("", "text\n"+calloutOf("<<<<<<< ours\nx"))
	m, err := fold.Decode("p", ownPath, []byte(with))
	if err != nil {
		t.Fatal(err)
	}
	if rest, made, err := fold.Promote([]byte(with), m); err != nil || len(made) > 0 || string(rest) != with {
		t.Errorf("Promote: %v, %d memories, %q", err, len(made), rest)
	}
	local := memory("visibility: local\n", "text\n"+calloutOf("mine"))
	m, err = fold.Decode("p", ownPath, []byte(local))
	if err != nil {
		t.Fatal(err)
	}
	if _, made, err := fold.Promote([]byte(local), m); err != nil || len(made) != 1 || made[0].Visibility != "local" {
		t.Errorf("what stays here is promoted to %+v, %v", made, err)
	}
}
