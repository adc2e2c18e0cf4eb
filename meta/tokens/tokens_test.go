package tokens

import "testing"

func TestCount(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "a": 1, "the": 1, "session": 3, "the session ends": 6, "ServeHTTP": 4, "1f2e3d4c": 8, "2026-02-03": 6,
		`{"id":"x"}`: 6, "a\n\nb": 4, "a    b": 4, "été": 3, "会话": 4, "👩": 3, "\xff": 2,
	} {
		if got := Count(s); got != want {
			t.Errorf("Count(%q) = %d, want %d", s, got, want)
		}
	}
}

// FuzzCount shows that a text has no more tokens than bytes of UTF-8, and that its
// parts have no fewer than it.
func FuzzCount(f *testing.F) {
	f.Add("func ServeHTTP() {\n\treturn 17\n}", 7)
	f.Fuzz(func(t *testing.T, s string, at int) {
		n := Count(s)
		if n < 0 || n > 2*len(s) {
			t.Errorf("Count(%q) = %d", s, n)
		}
		if at < 0 || at > len(s) {
			return
		}
		if parts := Count(s[:at]) + Count(s[at:]); parts+2 < n {
			t.Errorf("Count(%q) = %d, of its parts %d", s, n, parts)
		}
	})
}
