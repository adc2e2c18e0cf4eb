package work

import "time"

const (
	backoffBase = time.Second
	backoffMost = 15 * time.Minute
)

// backoff returns how long to wait after attempt (from 1): a random part u in [0, 1)
// of 1 s doubled with each attempt, at most 15 min. That is "full jitter": Brooker,
// Exponential Backoff And Jitter, AWS 2015.
func backoff(attempt int, u float64) time.Duration {
	ceiling := backoffMost
	if n := attempt - 1; n < 10 { // 2^10 s is above the maximum
		ceiling = min(backoffMost, backoffBase<<max(n, 0))
	}
	return time.Duration(u * float64(ceiling))
}
