package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/oauth2"

	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// publicGitHub is the default; the issuer may name another server.
const publicGitHub = "https://github.com"

// A gitHub is the [identifier] of GitHub, which has no id_token: it is asked for the user
// of the access token. The number of an account is its identity, since a name can pass to
// another user.
type gitHub struct {
	set  conf.AuthProvider
	http *http.Client
	user string // URL
}

func newGitHub(set conf.AuthProvider) *gitHub {
	g := &gitHub{set: set, http: outgoing(), user: "https://api.github.com/user"}
	if set.Issuer != publicGitHub {
		g.user = strings.TrimSuffix(set.Issuer, "/") + "/api/v3/user"
	}
	return g
}

func (g *gitHub) client(a attempt) *oauth2.Config {
	at := strings.TrimSuffix(g.set.Issuer, "/") + "/login/oauth/"
	return &oauth2.Config{
		ClientID: g.set.ClientID, ClientSecret: g.set.ClientSecret, RedirectURL: a.redirect, Scopes: g.set.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: at + "authorize", TokenURL: at + "access_token", AuthStyle: oauth2.AuthStyleInParams},
	}
}

func (g *gitHub) begin(_ context.Context, a attempt) (string, error) {
	return g.client(a).AuthCodeURL(a.state, oauth2.S256ChallengeOption(a.verifier)), nil
}

func (g *gitHub) finish(ctx context.Context, a attempt, answer url.Values) (who identity, err error) {
	if from := answer.Get("iss"); from != "" && from != g.set.Issuer && !strings.HasPrefix(from, g.set.Issuer+"/") {
		return who, errors.New("the answer is another provider's")
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, g.http)
	token, err := exchange(ctx, g.client(a), a, answer)
	if err != nil {
		return who, err
	}
	body, err := g.whose(ctx, token.AccessToken)
	if err != nil {
		return who, err
	}
	var user struct {
		ID    json.RawMessage `json:"id"`
		Login string          `json:"login"`
		Name  string          `json:"name"`
		Email string          `json:"email"`
		Type  string          `json:"type"`
	}
	if err := json.Unmarshal(body, &user); err != nil {
		return who, errors.New("GET /user is no account")
	}
	// As a text or with a fraction it is not what GitHub sends.
	n, err := strconv.ParseInt(string(user.ID), 10, 64)
	if err != nil || n <= 0 {
		return who, errors.New("GET /user has no number of an account")
	}
	if user.Type != "User" {
		return who, errors.New("the account is no person's")
	}
	number := strconv.FormatInt(n, 10)
	who = identity{issuer: g.set.Issuer, subject: number, email: user.Email, name: user.Name, claims: map[string]any{"sub": number}}
	if who.name == "" {
		who.name = user.Login
	}
	return who, nil
}

// whose asks for the user of an access token.
func (g *gitHub) whose(ctx context.Context, access string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.user, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+access)
	req.Header.Set("Accept", "application/vnd.github+json")
	res, err := g.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("GET /user: %w: %w", err, fold.ErrUnavailable)
	}
	defer res.Body.Close()
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.StatusCode >= http.StatusInternalServerError:
		return nil, fmt.Errorf("GET /user: %d: %w", res.StatusCode, fold.ErrUnavailable)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("GET /user: %d", res.StatusCode)
	case kind != "application/json" && kind != "application/vnd.github+json":
		return nil, errors.New("GET /user: no JSON")
	}
	return io.ReadAll(res.Body)
}
