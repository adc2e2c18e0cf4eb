package rank_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/foldwatch/foldwatch/daemon/rank"
)

const day = 24 * time.Hour

var now = time.Date(2026, 2, 3, 10, 30, 0, 0, time.UTC)

func TestStrengthVectors(t *testing.T) {
	for _, tc := range []struct {
		days, n int
		want    float64
	}{{0, 0, 1}, {30, 0, .5}, {30, 5, .889}, {365, 1000, .01}, {60, 0, .25}, {-30, 0, 1}, {0, 1000, 1}, {3650, 0, .01}} {
		got := rank.Strength(now, now.Add(-time.Duration(tc.days)*day), time.Time{}, tc.n, 30*day, false)
		if math.Abs(got-tc.want) > .0005 {
			t.Errorf("Strength(%d d, %d) = %v, want %v", tc.days, tc.n, got, tc.want)
		}
	}
	if got := rank.Strength(now, time.Time{}, time.Time{}, 0, 30*day, true); got != 1 {
		t.Errorf("Strength(pinned) = %v, want 1", got)
	}
	if got := rank.Strength(now, now.Add(-90*day), now, 0, 30*day, false); got != 1 {
		t.Errorf("Strength(accessed now) = %v, want 1", got)
	}
}

func TestStrengthIsTotalAndMonotone(t *testing.T) {
	span := rapid.Int64Range(-int64(10*365*day), int64(10*365*day))
	rapid.Check(t, func(t *rapid.T) {
		updated, accessed := now.Add(time.Duration(span.Draw(t, "updated"))), now.Add(time.Duration(span.Draw(t, "accessed")))
		n, half := rapid.IntRange(-5, math.MaxInt-1).Draw(t, "n"), time.Duration(rapid.Int64Range(-1, int64(4000*day)).Draw(t, "half"))
		s := rank.Strength(now, updated, accessed, n, half, false)
		if math.IsNaN(s) || s < rank.MinStrength || s > 1 {
			t.Fatalf("Strength = %v, want in [%v, 1]", s, rank.MinStrength)
		}
		later := time.Duration(rapid.Int64Range(0, int64(3650*day)).Draw(t, "later"))
		if x := rank.Strength(now.Add(later), updated, accessed, n, half, false); x > s {
			t.Fatalf("Strength rose from %v to %v in %v", s, x, later)
		}
		if x := rank.Strength(now, updated, accessed, n+1, half, false); x < s {
			t.Fatalf("Strength fell from %v to %v by one recall", s, x)
		}
		if x := rank.Strength(now, updated, accessed.Add(later), n, half, false); x < s {
			t.Fatalf("Strength fell from %v to %v by a later recall", s, x)
		}
	})
}

func TestBlendStaysInRange(t *testing.T) {
	if got := rank.Blend(.05, .8, .4); math.Abs(got-.78) > 1e-12 {
		t.Errorf("Blend(.05, .8, .4) = %v, want .78", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.OneOf(rapid.Float64(), rapid.Just(math.NaN()), rapid.Just(math.Inf(1)), rapid.Just(math.Inf(-1)))
		if b := rank.Blend(f.Draw(t, "w"), f.Draw(t, "r"), f.Draw(t, "s")); !(b >= 0 && b <= 1) {
			t.Fatalf("Blend = %v, want in [0, 1]", b)
		}
	})
}
