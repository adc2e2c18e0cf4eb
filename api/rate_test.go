package api

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/apitest"
)

func TestBucketsGiveTheirRate(t *testing.T) {
	t.Parallel()
	b, at := newRateLimiter(5), time.Now()
	took := 0
	for b.take("a", at) == 0 {
		took++
	}
	if took != 50 {
		t.Errorf("%d at once, want 10 seconds' worth", took)
	}
	if wait := b.take("a", at); wait <= 0 || wait > 200*time.Millisecond {
		t.Errorf("wait = %s", wait)
	}
	if b.take("b", at) != 0 {
		t.Error("one caller took the share of another")
	}
	if b.take("a", at.Add(-time.Hour)) == 0 {
		t.Error("a clock that goes back gives more")
	}
	at, took = at.Add(2*time.Second), 0
	for b.take("a", at) == 0 {
		took++
	}
	if took != 10 {
		t.Errorf("%d after two seconds", took)
	}
	for range 1000 {
		if newRateLimiter(-1).take("a", at) != 0 {
			t.Fatal("no limit has one")
		}
	}
}

func TestBucketsAreBounded(t *testing.T) {
	t.Parallel()
	b, at := newRateLimiter(1), time.Now()
	for b.take("busy", at) == 0 {
	}
	for i := range 3 * maxBuckets {
		at = at.Add(time.Millisecond)
		b.take(fmt.Sprint(i), at)
	}
	if len(b.by) > maxBuckets {
		t.Errorf("%d callers are remembered", len(b.by))
	}
}

func TestPeersAreAddressesOrNetworks(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"192.0.2.1:99": "192.0.2.1", "[::ffff:192.0.2.1]:99": "192.0.2.1", "[2001:db8::1:2]:99": "2001:db8::/64", "[fe80::1%eth0]:5": "fe80::/64", "@": "@",
	} {
		if got := peerOf(remote); got != want {
			t.Errorf("peerOf(%q) = %q, want %q", remote, got, want)
		}
	}
}

// TestWhoAsksTooMuchIsToldWhenToComeBack goes to both listeners.
func TestWhoAsksTooMuchIsToldWhenToComeBack(t *testing.T) {
	t.Parallel()
	for name, rates := range map[string]Rates{"owner": {Owner: 1}, "peer": {Peer: 1}} {
		s := NewServer(apitest.New("app"), nil, Options{Rates: rates})
		h := s.Owner()
		if name == "peer" {
			h = s.OtherAt("7350")
		}
		ask := func(from string) *httptest.ResponseRecorder {
			r := httptest.NewRequest("GET", "/health", nil)
			r.Host, r.RemoteAddr = "127.0.0.1:7350", from
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		for i := range 10 {
			if w := ask("127.0.0.1:1"); w.Code != 200 {
				t.Errorf("%s: request %d = %d", name, i, w.Code)
			}
		}
		if w := ask("127.0.0.1:2"); w.Code != 429 || w.Header().Get("Retry-After") != "1" {
			t.Errorf("%s: one too many = %d, Retry-After %q: %s", name, w.Code, w.Header().Get("Retry-After"), w.Body)
		}
		if w := ask("127.0.0.2:1"); name == "peer" && w.Code != 200 {
			t.Errorf("another peer = %d", w.Code)
		}
	}
}

// TestOwnerIsNotStopped sends what no person or program of theirs comes near.
func TestOwnerIsNotStopped(t *testing.T) {
	t.Parallel()
	s := NewServer(apitest.New("app"), nil, Options{})
	for range 5000 {
		w := httptest.NewRecorder()
		s.Owner().ServeHTTP(w, httptest.NewRequest("GET", "/health/live", nil))
		if w.Code != 200 {
			t.Fatalf("owner = %d %s", w.Code, w.Body)
		}
	}
}
