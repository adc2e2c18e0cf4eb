package rank_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/foldwatch/foldwatch/daemon/rank"
)

func TestConchFusesThreeSearches(t *testing.T) {
	got := rank.Conch(rank.Recall{
		Words:      []rank.Scored{{Key: "a", Score: 3}, {Key: "b", Score: 9}, {Key: "nothing", Score: 0}, {Key: "bad", Score: math.NaN()}},
		Near:       []rank.Scored{{Key: "a", Score: .9}, {Key: "far", Score: .3}, {Key: "c", Score: .31}},
		Associated: []rank.Scored{{Key: "d", Score: 2}},
	})
	want := []rank.Scored{
		{Key: "a", Score: 1./62 + 1./61}, {Key: "b", Score: 1. / 61}, {Key: "c", Score: 1. / 62}, {Key: "d", Score: .8 / 61},
	}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); d != "" {
		t.Errorf("Conch: -want +got %s", d)
	}
}

func TestConchFadesByStrengthAndRecency(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := rank.Recall{
		Words: []rank.Scored{{Key: "best", Score: 9}, {Key: "fresh", Score: 8}, {Key: "future", Score: 7}},
		Known: map[string]rank.Recalled{
			"best":   {Strength: 1, Accessed: now.Add(-48 * time.Hour)},
			"fresh":  {Strength: .5, Accessed: now},
			"future": {Strength: 1, Accessed: now.Add(time.Hour)},
		},
		Now: now, HalfLife: 24 * time.Hour,
	}
	want := []rank.Scored{{Key: "future", Score: 1. / 63}, {Key: "fresh", Score: .5 / 62}, {Key: "best", Score: .25 / 61}}
	if d := cmp.Diff(want, rank.Conch(r), cmpopts.EquateApprox(0, 1e-12)); d != "" {
		t.Errorf("Conch: -want +got %s", d)
	}
	r.HalfLife, r.Limit = 0, 1 // 30 days
	if got := rank.Conch(r); len(got) != 1 || got[0].Key != "future" && got[0].Key != "best" {
		t.Errorf("Conch by the default half-life = %+v", got)
	}
}
