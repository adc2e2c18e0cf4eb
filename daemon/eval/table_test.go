package eval

import "testing"

func TestAroundGivesTheFartherBound(t *testing.T) {
	if got := around(Interval{Mean: .5, Low: .42, High: .55}); got != "0.500 ±0.08" {
		t.Errorf("around = %q", got)
	}
}
