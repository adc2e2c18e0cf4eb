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

// Rates are how many requests a second are answered on average; ten seconds' worth may
// come at once. Zero is the default, a negative number no limit.
type Rates struct {
	// Owner is for the user at the socket. The default of 10,000 is more than a program
	// that waits for answers can send, and only stops one in an endless loop.
	Owner int
	// Token is for each token, wherever it is used. The default is 50: an agent
	// that works as fast as it can sends some ten.
	Token int
	// Peer is for each address that connects over TCP, before the caller is known: it
	// slows down guesses of tokens. The default is 100.
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
	// maxBuckets is how many callers are remembered by one kind of rate.
	maxBuckets = 4096
)

// A rateLimiter has a token bucket for each caller. It is safe for concurrent use.
type rateLimiter struct {
	rate  float64 // a second; not positive is no limit
	burst float64

	mu sync.Mutex // guards by
	by map[string]bucket
}

// A bucket had so many requests left at the time at.
type bucket struct {
	left float64
	at   time.Time
}

func newRateLimiter(perSecond int) *rateLimiter {
	return &rateLimiter{rate: float64(perSecond), burst: float64(perSecond) * burstSeconds, by: map[string]bucket{}}
}

// take takes one request from the bucket of key and returns 0, or how long it is until
// the bucket has another. Intervals are those of the monotonic clock.
func (b *rateLimiter) take(key string, now time.Time) time.Duration {
	if b.rate <= 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.by[key]; !ok && len(b.by) >= maxBuckets {
		b.evict(now)
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

func (b *rateLimiter) leftOf(key string, now time.Time) float64 {
	was, ok := b.by[key]
	if !ok {
		return b.burst
	}
	return math.Min(b.burst, was.left+math.Max(0, now.Sub(was.at).Seconds())*b.rate)
}

// evict drops the buckets that are full again; if none is, it drops all, since so many
// callers at once are not a single one in an endless loop.
func (b *rateLimiter) evict(now time.Time) {
	for key := range b.by {
		if b.leftOf(key, now) >= b.burst {
			delete(b.by, key)
		}
	}
	if len(b.by) >= maxBuckets {
		clear(b.by)
	}
}

// A limiter holds the buckets of a server.
type rateLimiters struct{ owner, token, peer *rateLimiter }

func newRateLimiters(r Rates) rateLimiters {
	r = r.orDefault()
	return rateLimiters{newRateLimiter(r.Owner), newRateLimiter(r.Token), newRateLimiter(r.Peer)}
}

// allowPeer answers 429 where the address that r came from has nothing left.
func (l rateLimiters) allowPeer(w http.ResponseWriter, r *http.Request) bool {
	return allowed(w, l.peer.take(peerOf(r.RemoteAddr), time.Now()))
}

// allowCaller answers 429 where who has nothing left.
func (l rateLimiters) allowCaller(w http.ResponseWriter, who auth.Caller) bool {
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

// peerOf returns the address without its port; of IPv6 the /64 network, since a peer
// usually has all addresses of its network.
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
