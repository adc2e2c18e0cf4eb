package checkout

import "time"

// How long files that could not be read or cut wait before the next attempt by
// itself: doubled with each, up to a bound.
const (
	retryFilesFirst = 30 * time.Second
	retryFilesMost  = time.Hour
)

// retries are the attempts at files that failed. It has neither clock nor lock.
type retries struct {
	At    time.Time // of the next one; zero for none
	tries int       // in a row that left something
}

// after tells that so many files are left after an attempt, or after other work
// if not tried. What is waited for already is not put off.
func (r *retries) after(now time.Time, left int, tried bool) {
	switch {
	case left == 0:
		*r = retries{}
	case tried || r.At.IsZero():
		if tried {
			r.tries++
		}
		r.At = now.Add(min(retryFilesMost, retryFilesFirst<<min(r.tries, 10)))
	}
}
