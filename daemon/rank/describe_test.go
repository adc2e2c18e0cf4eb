package rank

import (
	"testing"
	"unicode/utf8"
)

// TestEveryFeatureSaysWhatItIs keeps the table of --explain whole, and within its
// columns.
func TestEveryFeatureSaysWhatItIs(t *testing.T) {
	for _, f := range Features() {
		a := DescribeTerm(f.String())
		if a.Channel == "" || a.Text == "" || utf8.RuneCountInString(a.Text) > 44 || utf8.RuneCountInString(f.String()) > 15 {
			t.Errorf("feature %q: %+v", f, a)
		}
	}
	if a := DescribeTerm("of tomorrow"); a.Channel != "of tomorrow" {
		t.Errorf("AboutTerm of no feature = %+v", a)
	}
}
