package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

const (
	askTime  = 10 * time.Second // for one question to a provider
	askLimit = 1 << 20          // bytes of its answer
)

// outgoing returns a client for requests to providers: bounded by askTime and askLimit,
// and following no redirects. None of the answers that we need is one, and codes and
// secrets are for one address only.
func outgoing() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives = true // asked now and then; nothing stays open
	t.MaxResponseHeaderBytes = 64 << 10
	return &http.Client{
		Timeout:   askTime,
		Transport: limitedTransport{t},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// limitedTransport fails if an answer is larger than askLimit.
type limitedTransport struct{ next http.RoundTripper }

var errTooLong = errors.New("the answer is too long")

func (c limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		_ = res.Body.Close()
		return nil, errors.New("the answer is a redirect")
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, askLimit+1))
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	if len(body) > askLimit {
		return nil, errTooLong
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// A throttledTransport requests the same address at most once in every: tokens that
// strangers send with unknown keys must not cause a request each.
type throttledTransport struct {
	next  http.RoundTripper
	every time.Duration

	mu   sync.Mutex // guards the fields below; held while it asks
	at   time.Time
	fail time.Time // when it last answered nothing of use
	body []byte
	head http.Header
}

func (s *throttledTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.body == nil || time.Since(s.at) >= s.every {
		if time.Since(s.fail) < failureLife {
			return nil, errors.New("it had no answer a moment ago")
		}
		res, err := s.next.RoundTrip(r)
		if err != nil || res.StatusCode != http.StatusOK {
			s.fail = time.Now()
			return res, err
		}
		body, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			s.fail = time.Now()
			return nil, err
		}
		s.at, s.body, s.head = time.Now(), body, res.Header
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: s.head.Clone(), Body: io.NopCloser(bytes.NewReader(s.body)), ContentLength: int64(len(s.body)), Request: r,
	}, nil
}

// checkIssuer checks that the address of a provider is https, or http on this machine.
func checkIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(issuer, "?# "):
		return fmt.Errorf("issuer %.100q is not an address such as https://id.example.com: %w", issuer, fold.ErrInvalid)
	case u.Scheme != "https" && (u.Scheme != "http" || !onLoopback(u)):
		return fmt.Errorf("issuer %.100q is neither https nor on this machine: %w", issuer, fold.ErrInvalid)
	}
	return nil
}

func onLoopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// checkEndpoint checks that an endpoint of an issuer is https, or http on this machine if
// the issuer is, too.
func checkEndpoint(issuer, name, endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.User != nil {
		return fmt.Errorf("%s is no address", name)
	}
	if u.Scheme == "https" || u.Scheme == "http" && onLoopback(u) && strings.HasPrefix(issuer, "http://") {
		return nil
	}
	return fmt.Errorf("%s is not https", name)
}
