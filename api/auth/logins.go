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

// LoginsOptions are options of [OpenLogins].
type LoginsOptions struct {
	// URL is how browsers call this server: scheme, host and port. Where it is ""
	// nobody can, and Begin and Finish must not be called.
	URL string
	// Providers are those that the user file and the environment name.
	Providers map[string]conf.AuthProvider
	// Secrets is the folder for the secrets of the clients that administrators
	// add, and for the key that logins under way are sealed with; it is made if
	// need be.
	Secrets string
	// Idle ends a session that was not used for so long, Max any.
	Idle, Max time.Duration
	// Tokens are told when a user may less: what they made ends. Those of a user for
	// whom no provider vouches now are refused meanwhile.
	Tokens *Tokens
	Now    func() time.Time // wall clock; nil means time.Now
	Log    *slog.Logger     // told why a login was refused; nil discards
}

// Logins lets people in whom a provider knows, and remembers them by sessions.
// Users and sessions are held in memory as well: this process is the only one
// that changes them. Safe for concurrent use.
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

// OpenLogins reads the users, sessions and providers that state has, and ends what
// the settings give no more. It asks nobody, and leaves out a provider that cannot
// be; see [Logins.Notices].
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

// URL is how browsers call this server.
func (l *Logins) URL() string { return l.opt.URL }

// cookie makes a cookie that scripts cannot read and that other sites cannot
// have sent with what changes something.
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

// cookieName binds the name to this very host where browsers can do that: over
// TLS.
func (l *Logins) cookieName(name string) string {
	if l.secure() {
		return "__Host-" + name
	}
	return name
}

// sent returns the value of the one cookie of that name, "" where there is none
// or more: then somebody else may have set one.
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

// errLogin is all that a browser is told.
func errLogin(provider string) error {
	return fold.WithHint(fmt.Errorf("this login by %.32q was refused: %w", provider, fold.ErrForbidden),
		"begin again at /auth/login/"+provider+"; the daemon's log has the reason")
}

// Begin starts the login that r asks for. It returns where the browser goes and the
// cookie by which it is known when it comes back, and ErrInvalid for a return_to
// that is not a path of this server (a long one is left out), ErrNotFound for a provider that there is not,
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
	if len(returnTo) > mostReturn {
		returnTo = "/auth/me"
	}
	a := attempt{state: secretText(), nonce: secretText(), verifier: oauth2.GenerateVerifier(), redirect: l.opt.URL + callbackPath + p.id, now: l.now()}
	to, err := p.begin(ctx, a)
	if err != nil {
		l.refused(ctx, p, err)
		return "", nil, fold.WithHint(fmt.Errorf("login provider %s does not answer as it should: %w", p.id, fold.ErrUnavailable), "try again later; the daemon's log has the reason")
	}
	c, err := l.sealed(begun{State: a.state, Provider: p.id, Nonce: a.nonce, Verifier: a.verifier, ReturnTo: returnTo, Expires: a.now.Add(loginTime).UnixMicro()})
	if err != nil {
		return "", nil, err
	}
	return to, append(l.crowded(r), c), nil
}

// localPath reports whether a browser that is sent to path stays here.
func localPath(path string) bool {
	u, err := url.Parse(path)
	return err == nil && len(path) <= 2000 && u.Scheme == "" && u.Host == "" && u.User == nil &&
		strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") &&
		!strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == '\\' || r > '~' })
}

// Finish ends a login that the provider has sent back with r. It returns the
// local path where it began, the cookie of the session, and cookies to drop.
// Whatever is wrong is ErrForbidden, and its reason in the log; but
// ErrUnavailable says that the provider does not answer.
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
	value, err := l.welcome(ctx, p, who, l.sent(r, sessionCookie))
	if err != nil {
		return "", cookies, err
	}
	return returnTo, append(cookies, l.cookie(sessionCookie, value, l.opt.Max)), nil
}

// refused writes down why, without what the reason may quote: whoever reads the
// log must not log in with it.
func (l *Logins) refused(ctx context.Context, p *provider, err error, secrets ...string) {
	text := err.Error()
	for _, s := range append(secrets, p.set.ClientSecret) {
		if s != "" {
			text = strings.ReplaceAll(text, s, "…")
		}
	}
	l.log.WarnContext(ctx, "Login refused", "provider", p.id, "reason", shown.Clip(shown.Line(text), 300))
}
