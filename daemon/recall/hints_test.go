package recall

import (
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

func TestCuesOfAQuestion(t *testing.T) {
	at := func(day string) time.Time {
		d, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	statements := map[fold.ID]index.Statement{
		"ann asks":  {Author: "Ann Lee", At: at("2026-05-08"), Text: "Where is the wombat?\n\n[a wombat by a river.]\n"},
		"bob tells": {Author: "Bob", At: at("2026-05-09"), Text: "It left? It did, last Saturday."},
		"ann tells": {Author: "Ann Lee", At: at("2026-06-03"), Text: "It may be by the river."},
		"agent":     {Author: "agent", At: at("2026-07-01"), Text: "Wombats are nocturnal."},
	}
	for _, tc := range []struct {
		query string
		want  map[fold.ID]rank.Hint
	}{
		{"where is the wombat", map[fold.ID]rank.Hint{"ann asks": {Asks: 1}}},
		{"What does Ann say?", map[fold.ID]rank.Hint{"ann asks": {Person: 1, Asks: 1}, "ann tells": {Person: 1}}},
		{"What did Ann and Bob see?", map[fold.ID]rank.Hint{"ann asks": {Asks: 1}}},
		{"Is Annual the name the agent has?", map[fold.ID]rank.Hint{"ann asks": {Asks: 1}}},
		{"When did it leave?", map[fold.ID]rank.Hint{"ann asks": {Asks: 1}, "bob tells": {Time: 1}}},
		{"what happens when it left", map[fold.ID]rank.Hint{"ann asks": {Asks: 1}}},
		{"What left in May 2026?", map[fold.ID]rank.Hint{"ann asks": {Asks: 1, Time: 1}, "bob tells": {Time: 1}, "ann tells": {Time: .5}}},
		{"What left on 8 May, 2026?", map[fold.ID]rank.Hint{"ann asks": {Asks: 1, Time: 1}, "bob tells": {Time: .5}}},
		{"What left last month?", map[fold.ID]rank.Hint{"ann asks": {Asks: 1}, "ann tells": {Time: 1}, "agent": {Time: .5}}},
	} {
		t.Run(tc.query, func(t *testing.T) {
			got := hintsOf(tc.query, statements, at("2026-07-20"))
			if len(got) != len(tc.want) {
				t.Errorf("cues %v, want %v", got, tc.want)
			}
			for id, want := range tc.want {
				if got[id] != want {
					t.Errorf("cue of %s is %+v, want %+v", id, got[id], want)
				}
			}
		})
	}
}

func TestSpanOfAQuestion(t *testing.T) {
	now := time.Date(2026, 3, 4, 15, 30, 0, 0, time.FixedZone("", 3600)) // a Wednesday
	for _, tc := range []struct{ query, from, to string }{
		{"what on 2026-02-03?", "2026-02-03", "2026-02-04"},
		{"what on 3rd of February 2026", "2026-02-03", "2026-02-04"},
		{"what on February 3, 2026", "2026-02-03", "2026-02-04"},
		{"what in December, 2025", "2025-12-01", "2026-01-01"},
		{"what today", "2026-03-04", "2026-03-05"},
		{"what yesterday", "2026-03-03", "2026-03-04"},
		{"what did we do Last Week", "2026-02-23", "2026-03-02"},
		{"what this week", "2026-03-02", "2026-03-09"},
		{"what last month", "2026-02-01", "2026-03-01"},
		{"what two months ago", "2026-01-01", "2026-02-01"},
		{"what 3 days ago", "2026-03-01", "2026-03-02"},
		{"what a year ago", "2025-01-01", "2026-01-01"},
		{"what on 31 February 2026", "", ""},
		{"what on 2026-13-45", "", ""},
		{"may I ask you 3 things", "", ""},
		{"what happened", "", ""},
	} {
		text := func(at time.Time) string {
			if at.IsZero() {
				return ""
			}
			return at.Format(time.DateOnly)
		}
		from, to := timeSpan(tc.query, now)
		if text(from) != tc.from || text(to) != tc.to {
			t.Errorf("spanOf(%q) = %s to %s, want %s to %s", tc.query, text(from), text(to), tc.from, tc.to)
		}
	}
}
