package jobs

import (
	"errors"
	"time"
)

const (
	backoffBase = time.Second
	backoffMax  = 15 * time.Minute
)

// Backoff returns how long to wait before the attempt after attempt (from 1):
// a random part u in [0, 1) of 1 s doubled with each attempt, at most 15 min.
// That is "full jitter": Brooker, Exponential Backoff And Jitter, AWS 2015.
func Backoff(attempt int, u float64) time.Duration {
	ceiling := backoffMax
	if n := attempt - 1; n < 10 { // 2^10 s is above the maximum
		ceiling = min(backoffMax, backoffBase<<max(n, 0))
	}
	return time.Duration(u * float64(ceiling))
}

// permanent marks an error that no further attempt can mend.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent returns err marked so that its job is not tried again. A nil err
// stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

func isPermanent(err error) bool {
	var p permanent
	return errors.As(err, &p)
}
