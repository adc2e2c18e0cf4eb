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
	// maxEndedLogins is how many finished logins are stored, so that none is used twice.
	// The oldest are forgotten; only the browser with their cookie could use them again.
	maxEndedLogins = 10_000
	// maxPendingLogins is how many logins one browser may have pending, and
	// maxLoginCookie bounds the bytes of their cookies. All are sent with each request,
	// whose header must not grow too long even if a page begins many logins.
	maxPendingLogins = 4
	maxLoginCookie   = 1536
	// maxReturnTo is the longest path to return to after a login, in bytes; a longer one
	// is left out of the cookie.
	maxReturnTo = 300

	loginCookie = "foldwatch-login-" // and the first letters of its state, so that two tabs can log in
	stateShown  = 8
)

// A pendingLogin is stored, encrypted, in a cookie of the browser that began it, and
// nowhere else, so that strangers who begin logins use no memory here.
type pendingLogin struct {
	State    string `json:"s"`
	Provider string `json:"p"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE
	ReturnTo string `json:"r"`
	Expires  int64  `json:"e"` // microseconds
}

// openSeal reads the key for the cookies of pending logins, or makes one. If it cannot be
// stored, logins that are pending at a restart must begin again.
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

// sealed returns the cookie with b.
func (l *Logins) sealed(b pendingLogin) (*http.Cookie, error) {
	name := loginCookie + b.State[:stateShown]
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // escaped characters are six bytes each
	if err := enc.Encode(b); err != nil {
		return nil, err
	}
	once := make([]byte, l.seal.NonceSize())
	rand.Read(once) // never fails (crypto/rand)
	return l.cookie(name, unpadded.EncodeToString(l.seal.Seal(once, once, text.Bytes(), []byte(name))), loginTime), nil
}

// opened returns the login in a cookie of r.
func (l *Logins) opened(r *http.Request, state string) (b pendingLogin, ok bool) {
	name := loginCookie + state[:stateShown]
	raw, err := unpadded.DecodeString(l.sent(r, name))
	if n := l.seal.NonceSize(); err == nil && len(raw) > n {
		text, err := l.seal.Open(nil, raw[:n], raw[n:], []byte(name))
		ok = err == nil && json.Unmarshal(text, &b) == nil && subtle.ConstantTimeCompare([]byte(b.State), []byte(state)) == 1
	}
	return b, ok
}

// oldLoginCookies returns cookies that make a browser forget its oldest logins if it has
// too many, and cookies of such a name that are not ours.
func (l *Logins) oldLoginCookies(r *http.Request) (drop []*http.Cookie) {
	left := maxPendingLogins - 1
	for _, c := range slices.Backward(r.Cookies()) { // the oldest come first (RFC 6265, 5.4)
		name, ok := strings.CutPrefix(c.Name, l.cookieName(loginCookie))
		if !ok {
			continue
		}
		if left > 0 && len(c.Name)+len(c.Value) <= maxLoginCookie {
			left--
		} else {
			drop = append(drop, l.gone(loginCookie+name))
		}
	}
	return drop
}

// stateError is an error of our database.
type stateError struct{ error }

// resume returns the pending login that an answer belongs to, and marks it as used.
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
	switch err := l.markEnded(r.Context(), state, b.Provider, expires, a.now); {
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

// markEnded marks a login as used; it returns an error the second time.
func (l *Logins) markEnded(ctx context.Context, state, provider string, expires, now time.Time) error {
	return l.state.UseOAuthState(ctx, hashText(state), provider, expires, now, maxEndedLogins)
}
