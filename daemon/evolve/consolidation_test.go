package evolve_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/foldwatch/foldwatch/daemon/evolve"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/state"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// A shelf is memories with the vectors that the builtin embedder gives them.
type shelf struct {
	t     testing.TB
	maker evolve.Consolidation
	ids   []fold.ID
	text  map[fold.ID]string
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// newShelf holds rows, each updated a minute after the one before.
func newShelf(t testing.TB, rows ...index.Row) *shelf {
	t.Helper()
	x, err := index.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	e := embed.Builtin()
	vectors, err := vecindex.Open(filepath.Join(t.TempDir(), "vectors"), e.Identity().String(), e.Identity().Dim)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vectors.Close() })
	s := &shelf{t: t, text: map[fold.ID]string{}, maker: evolve.Consolidation{Index: x, Vectors: vectors, Now: func() time.Time { return epoch }}}
	var changes []index.Change
	var texts []string
	for i := range rows {
		r := &rows[i]
		if r.ID == "" {
			r.ID = fold.ContentID(fmt.Sprint(i, r.Title, r.Body), 0)
		}
		r.Path, r.CreatedAt, r.UpdatedAt = r.ID.Path(), epoch, epoch.Add(time.Duration(i)*time.Minute)
		r.ContentHash = fold.ContentHash([]byte(r.Title + r.Body))
		if r.Source == "" {
			r.Source = fold.SourceAgent
		}
		r.Described = "fold"
		changes = append(changes, index.Change{Memory: r, Links: r.Links, SetLinks: true})
		texts = append(texts, strings.Join([]string{r.Title, "", r.Body, r.Context, strings.Join(r.Keywords, " "), strings.Join(r.Tags, " ")}, "\n"))
		s.ids, s.text[r.ID] = append(s.ids, r.ID), r.Title+": "+r.Body
	}
	if _, err := x.Apply(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	vs, err := e.Embed(t.Context(), texts, embed.Document)
	if err != nil {
		t.Fatal(err)
	}
	var put []vecindex.Vec
	for i, v := range vs {
		if v != nil {
			put = append(put, vecindex.Vec{Key: "m:" + string(s.ids[i]), Memory: s.ids[i], V: v})
		}
	}
	if err := vectors.Apply(1, put, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shelf) propose() []state.Proposal {
	s.t.Helper()
	made, whole, err := s.maker.Propose(s.t.Context(), s.ids)
	if err != nil || !whole {
		s.t.Fatalf("Propose = %v, %v", whole, err)
	}
	return made
}

// near counts the memories as near as those that say the same.
func (s *shelf) near(id fold.ID) (n int) {
	v, ok := s.maker.Vectors.Vector("m:" + string(id))
	if !ok {
		return 0
	}
	for _, h := range s.maker.Vectors.Search(v, 16, &vecindex.Filter{Memories: true, Not: map[fold.ID]bool{id: true}}) {
		if h.Score >= evolve.Near {
			n++
		}
	}
	return n
}

func said(title, text string) index.Row {
	return index.Row{Memory: fold.Memory{Title: title, Type: "decision", Body: "# " + title + "\n\n" + text + "\n"}}
}

const (
	sessions = "Sessions are kept in Redis and expire after 30 minutes without use; the login service renews them."
	reworded = "Sessions are kept in Redis, and they expire after 30 minutes without use: the login service will renew them.\n\n- runbook: docs/sessions.md"
)

// TestNearDuplicatesAreProposed finds the pair that says the same, keeps the one that
// says more, and says why.
func TestNearDuplicatesAreProposed(t *testing.T) {
	t.Parallel()
	s := newShelf(t, said("Session storage", reworded), said("Session storage", sessions), said("Login errors", "The login page asks for a captcha after three wrong passwords."))
	made := s.propose()
	if len(made) != 1 {
		t.Fatalf("%d proposals: %+v", len(made), made)
	}
	p := made[0]
	if p.Kind != state.ProposeMerge || p.Maker != evolve.MakerConsolidation || p.Memories[0].ID != s.ids[0] || p.Memories[1].ID != s.ids[1] {
		t.Errorf("proposed %+v", p)
	}
	if p.Confidence < .9 || p.Confidence > 1 || !strings.Contains(p.Reason, "and more") || !strings.Contains(p.Evidence, "cosine 0.9") {
		t.Errorf("confidence %v, reason %q, evidence %q", p.Confidence, p.Reason, p.Evidence)
	}
	again := newShelf(t, said("Session storage", sessions), said("Session storage", sessions)).propose()
	if len(again) != 1 || !strings.Contains(again[0].Reason, "newer") {
		t.Errorf("of two that say the same: %+v", again)
	}
}

// TestOthersAreNotProposed shows what words keep apart although the vectors are as
// near, and what is never merged.
func TestOthersAreNotProposed(t *testing.T) {
	t.Parallel()
	with := func(row index.Row, set func(m *fold.Memory)) index.Row {
		set(&row.Memory)
		return row
	}
	base := said("Session storage", sessions)
	base.ID = "0123456789abcdef"
	rows := []index.Row{base}
	what := map[string]string{}
	for name, other := range map[string]index.Row{
		"topic":   said("Session storage", "Sessions of the login service: Redis evicts them when it is full, and the service asks users to log in again."),
		"number":  said("Session storage", strings.ReplaceAll(sessions, "30", "60")),
		"denial":  said("Session storage", strings.ReplaceAll(sessions, "renews", "never renews")),
		"not":     said("Session storage", strings.ReplaceAll(sessions, "are kept", "are not kept")),
		"subject": said("Session storage", strings.ReplaceAll(sessions, "Redis", "Valkey")),
		"order":   said("Session storage", "The login service renews Redis after use; minutes without 30 sessions expire and are kept in them."),
		"type":    with(said("Session storage", sessions), func(m *fold.Memory) { m.Type = "bug_fix" }),
		"local":   with(said("Session storage", sessions), func(m *fold.Memory) { m.Visibility = "local" }),
		"source":  with(said("Session storage", sessions), func(m *fold.Memory) { m.Source = fold.SourceFile }),
		"git":     with(said("Session storage", sessions), func(m *fold.Memory) { m.Source = fold.SourceGit }),
		"note":    with(said("Session storage", sessions), func(m *fold.Memory) { m.Note = true }),
		"session": with(said("Session storage", sessions), func(m *fold.Memory) { m.Session = "s1" }),
		"revert":  said("Revert session storage", sessions),
		"conflict": with(said("Session storage", sessions), func(m *fold.Memory) {
			m.ID = "fedcba9876543211"
			m.Links = []fold.Link{{From: m.ID, To: base.ID, Type: fold.LinkConflictsWith, Weight: 1}}
		}),
		"old": with(said("Session storage", sessions), func(m *fold.Memory) {
			m.ID = "fedcba9876543210"
			m.Links = []fold.Link{{From: m.ID, To: base.ID, Type: fold.LinkSupersedes, Weight: 1}}
		}),
	} {
		if other.ID == "" {
			other.ID = fold.SlugID("app", name)
		}
		what[string(other.ID)] = name
		rows = append(rows, other)
	}
	s := newShelf(t, rows...)
	if near := s.near(base.ID); near < 8 {
		t.Errorf("only %d are near: words decide about few", near)
	}
	for _, p := range s.propose() {
		for i, e := range p.Memories {
			if e.ID == base.ID {
				t.Errorf("%s: proposed: %s", what[string(p.Memories[1-i].ID)], p.Evidence)
			}
		}
	}
	fact := with(said("Port", "The gateway listens on port eight thousand and eighty."), func(m *fold.Memory) { m.Type = "fact" })
	if made := newShelf(t, fact, fact).propose(); len(made) > 0 {
		t.Error("facts are proposed to be merged")
	}
}

// TestStandingOfAProposal: one is dropped when a memory changed, and known to be done
// when a crash kept that from being noted.
func TestStandingOfAProposal(t *testing.T) {
	t.Parallel()
	p := state.Proposal{Kind: state.ProposeMerge, Memories: []state.ProposalEnd{{ID: "a", Hash: "1"}, {ID: "b", Hash: "2"}}}
	row := func(id fold.ID, hash string, links ...fold.Link) index.Row {
		return index.Row{Memory: fold.Memory{ID: id, Links: links}, ContentHash: hash}
	}
	for name, tc := range map[string]struct {
		rows map[fold.ID]index.Row
		want evolve.Standing
	}{
		"as it was":   {map[fold.ID]index.Row{"a": row("a", "1"), "b": row("b", "2")}, evolve.Current},
		"one changed": {map[fold.ID]index.Row{"a": row("a", "1"), "b": row("b", "3")}, evolve.Changed},
		"one is gone": {map[fold.ID]index.Row{"a": row("a", "1")}, evolve.Changed},
		"done":        {map[fold.ID]index.Row{"a": row("a", "3", fold.Link{To: "b", Type: fold.LinkSupersedes})}, evolve.Done},
	} {
		if got := evolve.StandingOf(p, tc.rows); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestFalseProposals counts what is proposed among texts that nobody wrote twice:
// turns of conversations, and messages of commits, of the evaluation sets, each once.
func TestFalseProposals(t *testing.T) {
	dir := os.Getenv("FOLDWATCH_EVAL")
	if dir == "" {
		t.Skip("SKIP: FOLDWATCH_EVAL does not name the folder of the evaluation sets")
	}
	for _, name := range []string{"locomo-memories.jsonl", "history-hugo.jsonl", "history-traefik.jsonl"} {
		f, err := os.Open(filepath.Join(dir, "data", name))
		if err != nil {
			t.Skipf("SKIP: %v", err)
		}
		defer f.Close()
		var rows []index.Row
		had := map[string]bool{}
		for in := bufio.NewScanner(f); in.Scan(); {
			var line struct{ Text string }
			if err := json.Unmarshal(in.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			letters := strings.Map(func(r rune) rune {
				if unicode.IsLetter(r) || unicode.IsDigit(r) {
					return unicode.ToLower(r)
				}
				return -1
			}, line.Text)
			if had[letters] {
				continue
			}
			had[letters] = true
			title, _, _ := strings.Cut(line.Text, "\n")
			rows = append(rows, said(title[:min(len(title), 60)], line.Text))
		}
		s := newShelf(t, rows...)
		near, at := 0, time.Now()
		for _, id := range s.ids {
			near += s.near(id)
		}
		searched := time.Since(at)
		at = time.Now()
		made := s.propose()
		took := time.Since(at)
		for _, p := range made {
			t.Logf("%s:\n  %.200q\n  %.200q", p.Evidence, s.text[p.Memories[0].ID], s.text[p.Memories[1].ID])
		}
		t.Logf("CONSOLIDATE %s memories=%d near=%d proposed=%d per_memory=%v (search alone %v)", name, len(rows), near/2, len(made),
			took/time.Duration(len(rows)), searched/time.Duration(len(rows)))
		if len(made)*500 > len(rows) {
			t.Errorf("%s: %d proposals among %d texts that all differ", name, len(made), len(rows))
		}
	}
}
