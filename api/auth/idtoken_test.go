package auth

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/conf"
)

// saying is a provider that says what it is told to, without a network.
type saying struct{ keys, token []byte }

const saysURL = "https://id.example.com"

func (p *saying) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		body = []byte(`{"issuer":"` + saysURL + `","authorization_endpoint":"` + saysURL + `/auth","token_endpoint":"` + saysURL + `/token","jwks_uri":"` + saysURL +
			`/keys","response_types_supported":["code"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]}`)
	case "/keys":
		body = p.keys
	case "/token":
		body, _ = json.Marshal(map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": string(p.token)}) // of text always fine
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}

// FuzzIDToken has a provider answer a login with any id_token, and give any keys to
// check it by. Whoever is let in is the one whom the provider's own key was used for.
func FuzzIDToken(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	point, err := key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		f.Fatal(err)
	}
	keys := []byte(`{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","kid":"k","x":"` + text(point[1:33]) + `","y":"` + text(point[33:]) + `"}]}`)
	now := time.Now()
	claims := text(fmt.Appendf(nil, `{"iss":%q,"sub":"ada","aud":"fold","nonce":"n","iat":%d,"exp":%d,"email":"a@example.com","name":"Ada"}`, saysURL, now.Unix(), now.Add(24*time.Hour).Unix()))
	said := text([]byte(`{"alg":"ES256","kid":"k"}`)) + "." + claims
	sum := sha256.Sum256([]byte(said))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		f.Fatal(err)
	}
	token := said + "." + text(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
	// A login; err says why nobody is let in.
	login := func(ctx context.Context, keys, token []byte) (identity, error) {
		i := &issuer{set: conf.AuthProvider{Issuer: saysURL, ClientID: "fold", ClientSecret: "s"}, http: &http.Client{Transport: &saying{keys, token}}}
		return i.finish(ctx, attempt{nonce: "n", verifier: "v", now: now}, url.Values{"code": {"c"}})
	}
	if who, err := login(f.Context(), keys, []byte(token)); err != nil || who.subject != "ada" {
		f.Fatalf("what the provider says: %+v, %v", who, err)
	}
	f.Add(keys, []byte(token))
	f.Add(keys, []byte(text([]byte(`{"alg":"none"}`))+"."+claims+"."))
	f.Add(keys, []byte(text([]byte(`{"alg":"ES256","jwk":{"kty":"oct","k":"AA"},"crit":["b64"],"b64":false}`))+"."+claims+"."+text(make([]byte, 64))))
	f.Add([]byte(`{"keys":[{"kty":"oct","k":"AA","alg":"HS256"},{"kty":"EC","crv":"P-256","x":"AA","y":"AA"},{"kty":"RSA","n":"AQ","e":"AQAB"},null]}`), []byte(token))
	f.Add(bytes.ReplaceAll(keys, []byte(`"kid":"k"`), []byte(`"kid":["k"],"x5c":["AA"],"x5t":"A"`)), []byte(token))
	f.Add([]byte(`{"keys":`+strings.Repeat("[", 5000)), []byte(`..`))
	f.Add([]byte(nil), []byte(`{"payload":"e30","signatures":[{"protected":"e30","signature":""}]}`))
	f.Fuzz(func(t *testing.T, keys, token []byte) {
		who, err := login(t.Context(), keys, token)
		if err != nil {
			return
		}
		parts := strings.Split(string(token), ".")
		if who.subject != "ada" || len(parts) != 3 || parts[0]+"."+parts[1] != said {
			t.Fatalf("let in as %q by %q, with the keys %q", who.subject, token, keys)
		}
	})
}
