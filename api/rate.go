package api

import (
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/api/auth"
)

// Rates are how many requests a second are answered, on the long run; ten
// seconds' worth may come at once. Zero is the default, less is no limit.
type Rates struct {
	// Owner is for the user at the socket. The default, 10,000, is more than a
	// program that waits for answers can send: it stops one that runs away.
	Owner int
	// Token is for each token, wherever it is used. The default is 50: an agent
	// that works as fast as it can sends some ten.
	Token int
	// Peer is for each address that connects over TCP, before it is known who asks
	// there: whoever guesses tokens meets it. The default is 100.
	Peer int
}

func (r Rates) orDefault() Rates {
	for _, f := range []struct {
		n    *int
		zero int
	}{{&r.Owner, 10_000}, {&r.Token, 50}, {&r.Peer, 100}} {
		if *f.n == 0 {
			*f.n = f.zero
		}
	}
	return r
}

const (
	burstSeconds = 10
	// bucketsMost is how many callers are remembered by one kind of rate.
	bucketsMost = 4096
)

// Buckets hold what callers have left: a token bucket for each. They are safe for
// concurrent use.
type buckets struct {
	rate  float64 // a second; not positive is no limit
	burst float64

	mu sync.Mutex // guards by
	by map[string]bucket
}

// A bucket had left at the time at.
type bucket struct {
	left float64
	at   time.Time
}

func newBuckets(perSecond int) *buckets {
	return &buckets{rate: float64(perSecond), burst: float64(perSecond) * burstSeconds, by: map[string]bucket{}}
}

// take takes one request of key at now, and returns 0, or how long it is until
// there is another. Intervals are those of the monotonic clock.
func (b *buckets) take(key string, now time.Time) time.Duration {
	if b.rate <= 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.by[key]; !ok && len(b.by) >= bucketsMost {
		b.forget(now)
	}
	left := b.leftOf(key, now)
	if at := b.by[key].at; now.Before(at) {
		now = at
	}
	if left < 1 {
		b.by[key] = bucket{left, now}
		return time.Duration((1 - left) / b.rate * float64(time.Second))
	}
	b.by[key] = bucket{left - 1, now}
	return 0
}

func (b *buckets) leftOf(key string, now time.Time) float64 {
	was, ok := b.by[key]
	if !ok {
		return b.burst
	}
	return math.Min(b.burst, was.left+math.Max(0, now.Sub(was.at).Seconds())*b.rate)
}

// forget drops the buckets that are full again, and all where none is: so many
// callers at once are no single one that runs away.
func (b *buckets) forget(now time.Time) {
	for key := range b.by {
		if b.leftOf(key, now) >= b.burst {
			delete(b.by, key)
		}
	}
	if len(b.by) >= bucketsMost {
		clear(b.by)
	}
}

// A limiter holds the buckets of a server.
type limiter struct{ owner, token, peer *buckets }

func newLimiter(r Rates) limiter {
	r = r.orDefault()
	return limiter{newBuckets(r.Owner), newBuckets(r.Token), newBuckets(r.Peer)}
}

// mayPeer answers 429 where the address that r came from has nothing left.
func (l limiter) mayPeer(w http.ResponseWriter, r *http.Request) bool {
	return allowed(w, l.peer.take(peerOf(r.RemoteAddr), time.Now()))
}

// mayCaller answers 429 where who has nothing left.
func (l limiter) mayCaller(w http.ResponseWriter, who auth.Caller) bool {
	switch who.ID {
	case "": // the peer was counted
		return true
	case auth.Owner().ID:
		return allowed(w, l.owner.take(who.ID, time.Now()))
	}
	return allowed(w, l.token.take(who.ID, time.Now()))
}

func allowed(w http.ResponseWriter, wait time.Duration) bool {
	if wait <= 0 {
		return true
	}
	seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
	w.Header().Set("Retry-After", seconds)
	writeProblem(w, refusal(http.StatusTooManyRequests, "more requests than this caller's share", "go on in "+seconds+" s, more slowly"))
	return false
}

// peerOf names who is at an address: the address itself, or the network that an
// address of IPv6 is from, since whoever has one has all of them.
func peerOf(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	ip := at.Addr().Unmap()
	if ip.Is6() {
		if net, err := ip.WithZone("").Prefix(64); err == nil {
			return net.String()
		}
	}
	return ip.String()
}
