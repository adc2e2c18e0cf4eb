package vecindex

import "os"

// full returns large where FOLDWATCH_FULL is set, as make full does, and small
// where tests share two cores with all others.
func full(small, large int) int {
	if os.Getenv("FOLDWATCH_FULL") != "" {
		return large
	}
	return small
}
