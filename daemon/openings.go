package daemon

import (
	"errors"
	"os"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// How long a checkout that could not be opened waits before the next attempt:
// doubled with each, up to a bound. One whose folder is not there is looked for
// more often, since whoever mounts it again waits for it. After openFor in good
// order the next failure is a first one again.
const (
	retryFirst   = time.Second
	retryMissing = 30 * time.Second
	retryMost    = time.Minute
	openFor      = time.Minute
)

// Openings is how a checkout was opened until now: a value without clock or lock.
type openings struct {
	failures int // in a row
}

// ended takes the end of a turn: how long it took, why it ended, whether the index
// turned out to be damaged, and whether somebody asked for the end. It reports whether
// that was a failure, and how long to wait before the next turn.
func (o *openings) ended(took time.Duration, err error, damaged, asked bool) (wait time.Duration, failed bool) {
	if took > openFor {
		o.failures = 0
	}
	if asked && !damaged {
		o.failures = 0
		return 0, false
	}
	o.failures++
	if damaged && o.failures == 1 { // nothing to wait for: all of it can be made again
		return 0, false
	}
	most := retryMost
	if missing(err) {
		most = retryMissing
	}
	return min(most, retryFirst<<min(o.failures-1, 10)), true
}

func missing(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, fold.ErrNotFound)
}
