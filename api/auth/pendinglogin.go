package auth

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/shown"
)

const (
	// loginTime is how long a login may take.
	loginTime = 10 * time.Minute
	// mostEnded is how many logins that ended are remembered, so that none ends
	// twice. Beyond that the oldest are forgotten, which only the browser that has
	// their cookie could make use of.
	mostEnded = 10_000
	// mostTabs is how many logins one browser may have under way, and longestTab what
	// the cookie of none is longer than, in bytes. They come with every request, whose
	// head must not grow too long: a page that begins logins must not shut a browser out.
	mostTabs   = 4
	longestTab = 1536
	// mostReturn is how long a path may be that a login ends at, in bytes. A longer
	// one is not worth its place in the cookie.
	mostReturn = 300

	loginCookie = "foldwatch-login-" // and the first letters of its state: two tabs log in side by side
	stateShown  = 8
)

// A begun is a login under way. It is kept by the browser that began it, sealed, and
// nowhere else: strangers can begin as many as they like, and leave nothing here.
type begun struct {
	State    string `json:"s"`
	Provider string `json:"p"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE
	ReturnTo string `json:"r"`
	Expires  int64  `json:"e"` // microseconds
}

// openSeal reads the key that logins under way are sealed with, or makes it. Where it
// cannot be kept, logins that are under way at a restart begin again.
func (l *Logins) openSeal(ctx context.Context) error {
	file := filepath.Join(l.opt.Secrets, "seal.key")
	key, err := os.ReadFile(file)
	if err != nil || len(key) != 32 {
		key = make([]byte, 32)
		rand.Read(key) // never fails (crypto/rand)
		err := os.MkdirAll(l.opt.Secrets, 0o700)
		if err == nil {
			err = disk.WriteFile(file, key, 0o600)
		}
		if err != nil {
			l.log.WarnContext(ctx, "Key of logins not kept", "err", err)
		}
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	l.seal, err = cipher.NewGCM(block)
	return err
}

// sealed returns the cookie that keeps b.
func (l *Logins) sealed(b begun) (*http.Cookie, error) {
	name := loginCookie + b.State[:stateShown]
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // one byte would be six
	if err := enc.Encode(b); err != nil {
		return nil, err
	}
	once := make([]byte, l.seal.NonceSize())
	rand.Read(once) // never fails (crypto/rand)
	return l.cookie(name, unpadded.EncodeToString(l.seal.Seal(once, once, text.Bytes(), []byte(name))), loginTime), nil
}

// opened reads the login that r has a cookie of.
func (l *Logins) opened(r *http.Request, state string) (b begun, ok bool) {
	name := loginCookie + state[:stateShown]
	raw, err := unpadded.DecodeString(l.sent(r, name))
	if n := l.seal.NonceSize(); err == nil && len(raw) > n {
		text, err := l.seal.Open(nil, raw[:n], raw[n:], []byte(name))
		ok = err == nil && json.Unmarshal(text, &b) == nil && subtle.ConstantTimeCompare([]byte(b.State), []byte(state)) == 1
	}
	return b, ok
}

// crowded returns what makes a browser forget its oldest logins, if it has many, and
// what is called like one and is none of ours.
func (l *Logins) crowded(r *http.Request) (drop []*http.Cookie) {
	left := mostTabs - 1
	for _, c := range slices.Backward(r.Cookies()) { // those that were set first come first (RFC 6265, 5.4)
		name, ok := strings.CutPrefix(c.Name, l.cookieName(loginCookie))
		if !ok {
			continue
		}
		if left > 0 && len(c.Name)+len(c.Value) <= longestTab {
			left--
		} else {
			drop = append(drop, l.gone(loginCookie+name))
		}
	}
	return drop
}

// stateError is one of our database.
type stateError struct{ error }

// resume finds the login that an answer belongs to. From here on it cannot be
// used again.
func (l *Logins) resume(r *http.Request, p *provider, answer url.Values) (a attempt, returnTo string, err error) {
	for _, name := range []string{"state", "code", "iss", "error"} {
		if len(answer[name]) > 1 {
			return a, "", fmt.Errorf("%s is there twice", name)
		}
	}
	state := answer.Get("state")
	if len(state) != secretDigits || strings.Trim(state, alphabet) != "" {
		return a, "", errors.New("state is missing, or none of ours")
	}
	a.state, a.now = state, l.now()
	b, ok := l.opened(r, state)
	if !ok {
		return a, "", errors.New("state is unknown or was used, or another browser began this login")
	}
	a.nonce, a.verifier, a.redirect = b.Nonce, b.Verifier, l.opt.URL+callbackPath+p.id
	expires := time.UnixMicro(b.Expires)
	if !a.now.Before(expires) {
		return a, "", errors.New("the login took too long")
	}
	switch err := l.ended(r.Context(), state, b.Provider, expires, a.now); {
	case errors.Is(err, fold.ErrConflict):
		return a, "", errors.New("state is unknown or was used")
	case err != nil:
		return a, "", &stateError{err}
	case b.Provider != p.id:
		return a, "", errors.New("the login began with another provider")
	case answer.Get("error") != "":
		return a, "", fmt.Errorf("the provider says %q", shown.Clip(shown.Line(answer.Get("error")), 60))
	}
	return a, b.ReturnTo, nil
}

// ended notes that a login goes on, which it does once.
func (l *Logins) ended(ctx context.Context, state, provider string, expires, now time.Time) error {
	return l.state.UseOAuthState(ctx, hashText(state), provider, expires, now, mostEnded)
}
