package auth

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const (
	// clockSkew is how far ahead a provider's clock may be.
	clockSkew = 2 * time.Minute
	// metadataLife is how long the metadata of a provider are used, and failureLife how
	// long a provider that did not answer is not asked again.
	metadataLife = time.Hour
	failureLife  = 5 * time.Second
	// keysEvery is the least time between requests for a provider's keys because of
	// tokens that strangers send.
	keysEvery = 10 * time.Second
)

// signatures are the accepted algorithms. None uses a shared secret: HS256 would take a
// public key for one.
func signatures() []string {
	return []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}
}

// An issuer is the [identifier] of OpenID Connect. It asks its provider for metadata when
// they are needed, so that one that does not answer delays no start.
type issuer struct {
	set  conf.AuthProvider
	http *http.Client

	mu     sync.Mutex // guards the fields below; held while it asks
	known  *metadata
	at     time.Time
	failed error
}

// metadata is what a provider says about itself.
type metadata struct {
	provider *oidc.Provider
	style    oauth2.AuthStyle
	returns  bool // it names itself in answers (RFC 9207)
	logins   *oidc.IDTokenVerifier
	keys     oidc.KeySet // for tokens that strangers send
}

func newIssuer(set conf.AuthProvider) *issuer { return &issuer{set: set, http: outgoing()} }

// ask returns ctx with the HTTP client for the provider, as x/oauth2 and go-oidc expect
// it.
func (i *issuer) ask(ctx context.Context) context.Context { return oidc.ClientContext(ctx, i.http) }

// discover returns the metadata of the provider.
func (i *issuer) discover(ctx context.Context) (*metadata, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch age := time.Since(i.at); {
	case i.known != nil && age < metadataLife:
		return i.known, nil
	case i.failed != nil && age < failureLife:
		return nil, i.failed
	}
	// Others wait for the result too: that this caller leaves must not end the request.
	m, err := i.learn(context.WithoutCancel(ctx))
	if err != nil && i.known != nil { // what it said before serves on, and it is asked again soon
		i.at = time.Now().Add(failureLife - metadataLife)
		return i.known, nil
	}
	i.at, i.known, i.failed = time.Now(), m, err
	return m, err
}

func (i *issuer) learn(ctx context.Context) (*metadata, error) {
	p, err := oidc.NewProvider(i.ask(ctx), i.set.Issuer)
	if err != nil {
		return nil, fmt.Errorf("discover: %w: %w", err, fold.ErrUnavailable)
	}
	var more struct {
		Keys    string   `json:"jwks_uri"`
		Returns bool     `json:"authorization_response_iss_parameter_supported"`
		Secrets []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := p.Claims(&more); err != nil {
		return nil, fmt.Errorf("discover: %w", err)
	}
	for name, at := range map[string]string{
		"authorization_endpoint": p.Endpoint().AuthURL, "token_endpoint": p.Endpoint().TokenURL, "jwks_uri": more.Keys, "userinfo_endpoint": p.UserInfoEndpoint(),
	} {
		if name == "userinfo_endpoint" && at == "" {
			continue
		}
		if err := checkEndpoint(i.set.Issuer, name, at); err != nil {
			return nil, fmt.Errorf("discover: %w", err)
		}
	}
	// Set, since x/oauth2 would otherwise try both ways and send a code twice.
	style := oauth2.AuthStyleInHeader
	if i.set.ClientSecret == "" || len(more.Secrets) > 0 && !slices.Contains(more.Secrets, "client_secret_basic") {
		style = oauth2.AuthStyleInParams
	}
	rare := &http.Client{Timeout: i.http.Timeout, CheckRedirect: i.http.CheckRedirect, Transport: &throttledTransport{next: i.http.Transport, every: keysEvery}}
	return &metadata{
		provider: p, style: style, returns: more.Returns,
		logins: p.VerifierContext(i.ask(ctx), &oidc.Config{ClientID: i.set.ClientID, SupportedSigningAlgs: signatures()}),
		keys:   oidc.NewRemoteKeySet(oidc.ClientContext(ctx, rare), more.Keys),
	}, nil
}

func (i *issuer) client(m *metadata, a attempt) *oauth2.Config {
	scopes := []string{oidc.ScopeOpenID}
	asked := i.set.Scopes
	if len(asked) == 0 {
		asked = []string{"profile", "email"}
	}
	for _, s := range asked {
		if !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	at := m.provider.Endpoint()
	at.AuthStyle = m.style
	return &oauth2.Config{ClientID: i.set.ClientID, ClientSecret: i.set.ClientSecret, Endpoint: at, RedirectURL: a.redirect, Scopes: scopes}
}

func (i *issuer) begin(ctx context.Context, a attempt) (string, error) {
	m, err := i.discover(ctx)
	if err != nil {
		return "", err
	}
	return i.client(m, a).AuthCodeURL(a.state, oauth2.S256ChallengeOption(a.verifier), oidc.Nonce(a.nonce)), nil
}

func (i *issuer) finish(ctx context.Context, a attempt, answer url.Values) (who identity, err error) {
	m, err := i.discover(ctx)
	if err != nil {
		return who, err
	}
	// A browser that comes back from another provider than it was sent to brings a code
	// that must not be sent on.
	if from := answer.Get("iss"); from != i.set.Issuer && (from != "" || m.returns) {
		return who, errors.New("the answer is another provider's")
	}
	ctx = i.ask(ctx)
	token, err := exchange(ctx, i.client(m, a), a, answer)
	if err != nil {
		return who, err
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return who, errors.New("the provider sent no id_token")
	}
	id, err := m.logins.Verify(ctx, raw)
	if err != nil {
		return who, err
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return who, err
	}
	if err := i.checkLogin(id, claims, a, token.AccessToken); err != nil {
		return who, err
	}
	if err := i.complete(ctx, m, token, id.Subject, claims); err != nil {
		return who, err
	}
	return identified(i.set.Issuer, id.Subject, claims), nil
}

// exchange exchanges the code of an answer for tokens.
func exchange(ctx context.Context, c *oauth2.Config, a attempt, answer url.Values) (*oauth2.Token, error) {
	code := answer["code"]
	if len(code) != 1 || code[0] == "" {
		return nil, errors.New("the answer has no code")
	}
	token, err := c.Exchange(ctx, code[0], oauth2.VerifierOption(a.verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		// Its text is the whole answer.
		status := 0
		if refused.Response != nil {
			status = refused.Response.StatusCode
		}
		if status >= http.StatusInternalServerError {
			return nil, fmt.Errorf("the provider answered the code with %d: %w", status, fold.ErrUnavailable)
		}
		return nil, fmt.Errorf("the provider refused the code with %d %q", status, refused.ErrorCode)
	}
	if err != nil {
		return nil, err
	}
	if !strings.EqualFold(token.Type(), "Bearer") {
		return nil, errors.New("the access token is of another type than Bearer")
	}
	return token, nil
}

// checkLogin checks an id_token, whose signature, issuer, audience and expiry are right,
// by the rest of OpenID Connect Core 3.1.3.7.
func (i *issuer) checkLogin(id *oidc.IDToken, claims map[string]any, a attempt, access string) error {
	azp, named := claims["azp"]
	switch {
	case id.Subject == "" || len(id.Subject) > 255:
		return errors.New("the id_token names nobody")
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(a.nonce)) != 1:
		return errors.New("the id_token is of another login: its nonce differs")
	case named && azp != i.set.ClientID:
		return errors.New("the id_token was made for another client: azp differs")
	case len(id.Audience) != 1 && !named:
		return errors.New("the id_token is for several audiences, and does not say whom it was made for")
	case id.IssuedAt.IsZero() || claims["iat"] == nil:
		return errors.New("the id_token does not say when it was made")
	case id.IssuedAt.After(a.now.Add(clockSkew)):
		return errors.New("the id_token was made in the future")
	case id.IssuedAt.Before(a.now.Add(-loginTime - clockSkew)):
		return errors.New("the id_token was made before this login")
	}
	if id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(access); err != nil {
			return errors.New("the id_token is of another access token: at_hash differs")
		}
	}
	return nil
}

// complete asks for the claims of name and role if the id_token does not have all of
// them.
func (i *issuer) complete(ctx context.Context, m *metadata, token *oauth2.Token, subject string, claims map[string]any) error {
	has := func(name string) bool { _, ok := claims[name]; return ok }
	if m.provider.UserInfoEndpoint() == "" || has("email") && has("name") && (i.set.RoleClaim == "" || len(claimValues(i.set.RoleClaim, claims)) > 0) {
		return nil
	}
	info, err := m.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return fmt.Errorf("userinfo: %w", err)
	}
	if info.Subject != subject {
		return errors.New("userinfo is about somebody else")
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil {
		return fmt.Errorf("userinfo: %w", err)
	}
	sameMail := !has("email") || claims["email"] == more["email"]
	for name, v := range more {
		if !has(name) && (name != "email_verified" || sameMail) {
			claims[name] = v
		}
	}
	return nil
}

func identified(issuer, subject string, claims map[string]any) identity {
	who := identity{issuer: issuer, subject: subject, claims: claims}
	who.email, _ = claims["email"].(string)
	for _, name := range []string{"name", "preferred_username", "nickname"} {
		if who.name, _ = claims[name].(string); who.name != "" {
			break
		}
	}
	return who
}

// access checks an access token (a JWT, RFC 9068) for the resource, and returns its user
// and when it expires.
func (i *issuer) access(ctx context.Context, raw, resource string, now time.Time) (identity, time.Time, error) {
	refuse := func(why string) (identity, time.Time, error) { return identity{}, time.Time{}, errors.New(why) }
	var head struct {
		Type string `json:"typ"`
	}
	if err := part(raw, 0, &head); err != nil {
		return refuse("the head is no JSON")
	}
	typ := strings.TrimPrefix(strings.ToLower(head.Type), "application/")
	if typ != "at+jwt" && typ != "jwt" && typ != "" {
		return refuse("it is no access token")
	}
	m, err := i.discover(ctx)
	if err != nil {
		return identity{}, time.Time{}, err
	}
	v := oidc.NewVerifier(i.set.Issuer, m.keys, &oidc.Config{ClientID: resource, SupportedSigningAlgs: signatures(), Now: func() time.Time { return now }})
	id, err := v.Verify(ctx, raw)
	if err != nil {
		return identity{}, time.Time{}, err
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return identity{}, time.Time{}, err
	}
	switch {
	case id.Subject == "" || len(id.Subject) > 255:
		return refuse("it names nobody")
	case id.Nonce != "" || typ != "at+jwt" && !delegated(claims):
		return refuse("it is an id_token")
	case claims["cnf"] != nil:
		return refuse("it is bound to a key that we do not check")
	case id.IssuedAt.After(now.Add(clockSkew)):
		return refuse("it was made in the future")
	}
	return identified(i.set.Issuer, id.Subject, claims), id.Expiry, nil
}

// delegated reports whether claims name the client or the scope of an access token (RFC
// 9068, 2.2). An id_token has neither, and some providers make one for any audience that
// its holder asks for.
func delegated(claims map[string]any) bool {
	for _, name := range []string{"client_id", "cid", "appid", "scope", "scp"} {
		if claims[name] != nil {
			return true
		}
	}
	return false
}

// part decodes the n-th part of a JWT without checking it.
func part(raw string, n int, into any) error {
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		return errNoToken
	}
	b, err := unpadded.DecodeString(parts[n])
	if err != nil {
		return errNoToken
	}
	return json.Unmarshal(b, into)
}
