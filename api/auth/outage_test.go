package auth

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldwatch/foldwatch/meta/conf"
)

// distant answers as it is told to, and counts.
type distant struct {
	n    int
	fail bool
}

func (a *distant) RoundTrip(r *http.Request) (*http.Response, error) {
	a.n++
	if a.fail {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"keys":[]}`)), Request: r}, nil
}

// TestAnOutageOfAProvider: what it said before serves on, it is asked again now and
// then, and whoever sends us tokens does not make us ask more often.
func TestAnOutageOfAProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		far := &distant{fail: true}
		known := &metadata{}
		i := &issuer{set: conf.AuthProvider{Issuer: "https://id.example.com"}, http: &http.Client{Transport: far}, known: known, at: time.Now()}
		time.Sleep(metadataLife)
		for range 3 {
			if m, err := i.discover(t.Context()); err != nil || m != known {
				t.Errorf("discover while it is away = %v, %v", m, err)
			}
		}
		if far.n != 1 {
			t.Errorf("asked %d times at once, want 1", far.n)
		}
		time.Sleep(failureLife)
		if _, err := i.discover(t.Context()); err != nil || far.n != 2 {
			t.Errorf("a while later: asked %d times, %v", far.n, err)
		}

		keys := &distant{fail: true}
		c := &http.Client{Transport: &throttledTransport{next: keys, every: keysEvery}}
		ask := func() bool {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://id.example.com/keys", nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := c.Do(req)
			if err == nil {
				_ = res.Body.Close()
			}
			return err == nil
		}
		for range 5 {
			if ask() {
				t.Error("keys of a provider that is away")
			}
		}
		if keys.n != 1 {
			t.Errorf("asked for keys %d times at once, want 1", keys.n)
		}
		keys.fail = false
		time.Sleep(failureLife)
		for range 5 {
			if !ask() {
				t.Error("no keys of a provider that is back")
			}
		}
		if keys.n != 2 {
			t.Errorf("asked for keys %d times, want 2", keys.n)
		}
	})
}
