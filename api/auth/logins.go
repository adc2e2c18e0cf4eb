package auth

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/shown"
	"github.com/foldwatch/foldwatch/meta/state"
)

const (
	sessionCookie = "foldwatch"
	callbackPath  = "/auth/callback/"
	mcpPath       = "/mcp"
)

var unpadded = base64.RawURLEncoding

// LoginsOptions are the options of [OpenLogins].
type LoginsOptions struct {
	// URL is the address of this server for browsers: scheme, host and port. If it is "",
	// nobody can log in, and Begin and Finish must not be called.
	URL string
	// Providers are those of the user file and the environment.
	Providers map[string]conf.AuthProvider
	// Secrets is the folder for the client secrets of providers that administrators add,
	// and for the key of pending logins; it is created if needed.
	Secrets string
	// Idle ends an unused session after so long, Max any session.
	Idle, Max time.Duration
	// Tokens are told when a user loses access, so that their tokens end, and when no
	// provider confirms a user, so that their tokens are suspended.
	Tokens *Tokens
	Now    func() time.Time // wall clock; nil means time.Now
	Log    *slog.Logger     // told why a login was refused; nil discards
}

// Logins lets people log in by providers, and keeps their sessions. Users and sessions
// are also in memory, since only this process changes them. Safe for concurrent use.
type Logins struct {
	state *state.DB
	opt   LoginsOptions
	now   func() time.Time
	log   *slog.Logger

	notices []string // of the start
	seal    cipher.AEAD

	mu        sync.Mutex // guards the fields below; held while a change is stored
	providers map[string]*provider
	users     map[string]*user // by id
	sessions  map[[sha256.Size]byte]*session
	seen      map[string]time.Time // not yet written down
}

// OpenLogins reads users, sessions and providers from state, and revokes access that the
// settings no longer give. It asks no provider. Providers with invalid settings are left
// out, see [Logins.Notices].
func OpenLogins(ctx context.Context, state *state.DB, opt LoginsOptions) (*Logins, error) {
	l := &Logins{
		state: state, opt: opt, now: opt.Now, log: opt.Log,
		providers: map[string]*provider{}, users: map[string]*user{}, sessions: map[[sha256.Size]byte]*session{}, seen: map[string]time.Time{},
	}
	if l.now == nil {
		l.now = time.Now
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	l.opt.URL = strings.TrimSuffix(opt.URL, "/")
	if opt.URL != "" {
		if err := l.openSeal(ctx); err != nil {
			return nil, err
		}
	}
	if err := l.openProviders(ctx); err != nil {
		return nil, err
	}
	if err := l.openUsers(ctx); err != nil {
		return nil, err
	}
	if err := l.review(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// URL is the address of this server for browsers.
func (l *Logins) URL() string { return l.opt.URL }

// cookie makes a cookie that scripts cannot read and that other sites cannot send with
// requests that change something.
func (l *Logins) cookie(name, value string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: l.cookieName(name), Value: value, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: l.secure(), SameSite: http.SameSiteLaxMode,
	}
}

func (l *Logins) gone(name string) *http.Cookie {
	c := l.cookie(name, "", 0)
	c.MaxAge = -1
	return c
}

func (l *Logins) secure() bool { return strings.HasPrefix(l.opt.URL, "https://") }

// cookieName binds the name to this host, which browsers support over TLS.
func (l *Logins) cookieName(name string) string {
	if l.secure() {
		return "__Host-" + name
	}
	return name
}

// sent returns the value of the only cookie with that name, "" if there is none or
// several, one of which another site may have set.
func (l *Logins) sent(r *http.Request, name string) string {
	found := r.CookiesNamed(l.cookieName(name))
	if len(found) != 1 {
		return ""
	}
	return found[0].Value
}

// secretText is 256 random bits.
func secretText() string {
	var b [32]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return base62(new(big.Int).SetBytes(b[:]), secretDigits)
}

func hashText(text string) string {
	sum := digest(text)
	return hex.EncodeToString(sum[:])
}

// errLogin is the only error text that a browser gets.
func errLogin(provider string) error {
	return fold.WithHint(fmt.Errorf("this login by %.32q was refused: %w", provider, fold.ErrForbidden),
		"begin again at /auth/login/"+provider+"; the daemon's log has the reason")
}

// Begin begins the login that r asks for. It returns the address to redirect the browser
// to and the cookies of the pending login. It returns ErrInvalid for a return_to that is
// no path of this server (a long one is left out), ErrNotFound for an unknown provider,
// and ErrUnavailable for one that does not answer.
func (l *Logins) Begin(r *http.Request, provider, returnTo string) (string, []*http.Cookie, error) {
	ctx := r.Context()
	p, err := l.provider(provider)
	if err != nil {
		return "", nil, err
	}
	if returnTo == "" {
		returnTo = "/auth/me"
	}
	if !localPath(returnTo) {
		return "", nil, fmt.Errorf("return_to is no path of this server: %w", fold.ErrInvalid)
	}
	if len(returnTo) > maxReturnTo {
		returnTo = "/auth/me"
	}
	a := attempt{state: secretText(), nonce: secretText(), verifier: oauth2.GenerateVerifier(), redirect: l.opt.URL + callbackPath + p.id, now: l.now()}
	to, err := p.begin(ctx, a)
	if err != nil {
		l.refused(ctx, p, err)
		return "", nil, fold.WithHint(fmt.Errorf("login provider %s does not answer as it should: %w", p.id, fold.ErrUnavailable), "try again later; the daemon's log has the reason")
	}
	c, err := l.sealed(pendingLogin{State: a.state, Provider: p.id, Nonce: a.nonce, Verifier: a.verifier, ReturnTo: returnTo, Expires: a.now.Add(loginTime).UnixMicro()})
	if err != nil {
		return "", nil, err
	}
	return to, append(l.oldLoginCookies(r), c), nil
}

// localPath reports whether a redirect to path stays on this server.
func localPath(path string) bool {
	u, err := url.Parse(path)
	return err == nil && len(path) <= 2000 && u.Scheme == "" && u.Host == "" && u.User == nil &&
		strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") &&
		!strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == '\\' || r > '~' })
}

// Finish finishes the login that a provider redirected back with r. It returns the local
// path to go to, the cookie of the session, and cookies to delete. It returns
// ErrUnavailable if the provider does not answer, and ErrForbidden for all other faults,
// whose reason is only in the log.
func (l *Logins) Finish(r *http.Request, provider string) (_ string, cookies []*http.Cookie, err error) {
	ctx := r.Context()
	p, err := l.provider(provider)
	if err != nil {
		return "", nil, err
	}
	answer := r.URL.Query()
	a, returnTo, err := l.resume(r, p, answer)
	if a.state != "" {
		cookies = append(cookies, l.gone(loginCookie+a.state[:stateShown]))
	}
	var who identity
	if err == nil {
		who, err = p.finish(ctx, a, answer)
	}
	if lost, ok := errors.AsType[*stateError](err); ok {
		return "", nil, lost.error // which is no fault of the login
	}
	if err != nil {
		l.refused(ctx, p, err, a.state, a.nonce, a.verifier, answer.Get("code"))
		if errors.Is(err, fold.ErrUnavailable) {
			return "", cookies, fold.WithHint(fmt.Errorf("login provider %s does not answer as it should: %w", p.id, fold.ErrUnavailable), "try again later; the daemon's log has the reason")
		}
		return "", cookies, errLogin(p.id)
	}
	value, err := l.startSession(ctx, p, who, l.sent(r, sessionCookie))
	if err != nil {
		return "", cookies, err
	}
	return returnTo, append(cookies, l.cookie(sessionCookie, value, l.opt.Max)), nil
}

// refused logs the reason, without secrets that its text may quote.
func (l *Logins) refused(ctx context.Context, p *provider, err error, secrets ...string) {
	text := err.Error()
	for _, s := range append(secrets, p.set.ClientSecret) {
		if s != "" {
			text = strings.ReplaceAll(text, s, "…")
		}
	}
	l.log.WarnContext(ctx, "Login refused", "provider", p.id, "reason", shown.Clip(shown.Line(text), 300))
}
