package checkout

import "testing"

// TestWhatIsLeftOut shows that files which are counted are not told as if they
// lay in the folders that are named.
func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	two := map[string]int{"as vendored or generated": 2}
	for _, tc := range []struct {
		files map[string]int
		dirs  []string
		want  string
	}{
		{nil, nil, ""},
		{two, nil, "files not indexed: 2 as vendored or generated (foldwatch help indexing)"},
		{nil, []string{"internal"}, "files not indexed: all in internal (foldwatch help indexing)"},
		{two, []string{"a", "b"}, "files not indexed: all in a, b; elsewhere 2 as vendored or generated (foldwatch help indexing)"},
		{nil, []string{"a", "b", "c", "d", "e", "f", "g"}, "files not indexed: all in a, b, c, d, e and 2 more folders (foldwatch help indexing)"},
	} {
		if got := leftOutText(tc.files, tc.dirs); got != tc.want {
			t.Errorf("leftOutText(%v, %v) = %q, want %q", tc.files, tc.dirs, got, tc.want)
		}
	}
}
