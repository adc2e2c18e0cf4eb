package local

import (
	"testing"
)

func TestOlderVersion(t *testing.T) {
	rising := []string{"0.1.0-dev", "0.1.0-dev.2", "0.1.0-dev.10", "0.1.0-rc", "0.1.0", "0.1.1-0.20260101000000-1f2e3d4c5b6a", "0.9.0", "0.10.0", "1.0.0"}
	for i, a := range rising {
		for j, b := range rising {
			if got := Older(a+"+1f2e3d4", b+"+5c6b7a8"); got != (i < j) {
				t.Errorf("olderVersion(%s, %s) = %v", a, b, got)
			}
		}
	}
	for _, odd := range []string{"", "unknown", "1.2", "(devel)"} {
		if Older(odd, "1.0.0") || Older("1.0.0", odd) {
			t.Errorf("%q is older or newer than a version", odd)
		}
	}
}
