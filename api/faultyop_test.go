package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// A faultyOP is a provider of OpenID Connect whose issuers each have the fault
// that is the first part of their path; that of /none has none.
type faultyOP struct {
	url        string
	key, other *ecdsa.PrivateKey // other is in no answer

	mu      sync.Mutex
	codes   map[string]url.Values // of the request for each
	secrets []string              // what nobody else may see
	asked   map[string]int        // paths
}

const faultySecret = "s3cret-of-fold"

// faults are what the provider does wrong, with a part of the reason that must
// be in the log.
func faults() map[string]string {
	return map[string]string{
		// The id_token.
		"iss-other": "issued by a different provider", "aud-other": "expected audience", "aud-several": "for several audiences", "azp-other": "azp differs",
		"expired": "expired", "no-exp": "expired", "iat-future": "in the future", "iat-old": "before this login", "no-iat": "when it was made",
		"nbf-future": "not before", "nonce-other": "nonce differs", "no-nonce": "nonce differs", "no-sub": "names nobody", "sub-long": "names nobody",
		"at-hash-other": "at_hash differs", "no-id-token": "no id_token", "not-a-jwt": "malformed", "claims-no-json": "claims",
		// Its signature.
		"alg-none": "unexpected signature algorithm", "hs256-public-key": "unexpected signature algorithm", "hs256-client-secret": "unexpected signature algorithm",
		"other-key": "signature", "own-key-in-head": "signature", "signature-cut": "signature", "payload-changed": "signature",
		// Its other answers.
		"code-refused": "refused the code with 400", "token-html": "", "token-redirect": "redirect", "token-huge": "too long", "token-type-mac": "another type",
		"ignores-pkce": "nonce differs", "userinfo-other": "somebody else", "userinfo-fails": "userinfo",
		"discovery-other": "", "discovery-500": "500", "discovery-no-json": "", "keys-500": "500", "keys-none": "signature", "keys-secret": "signature",
		"keys-over-http": "jwks_uri is not https", "token-over-http": "token_endpoint is not https",
		// What it sends the browser back with.
		"denied": "access_denied", "no-code": "no code", "iss-param-other": "another provider's", "iss-param-missing": "another provider's", "state-other": "state",
	}
}

func newFaultyOP(t testing.TB) *faultyOP {
	t.Helper()
	op := &faultyOP{codes: map[string]url.Values{}, asked: map[string]int{}}
	for _, k := range []**ecdsa.PrivateKey{&op.key, &op.other} {
		var err error
		if *k, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	web := httptest.NewServer(op)
	t.Cleanup(web.Close)
	op.url = web.URL
	return op
}

func (op *faultyOP) issuer(fault string) string { return op.url + "/" + fault }

// secret notes what must not be in a log.
func (op *faultyOP) secret(s string) string {
	op.mu.Lock()
	defer op.mu.Unlock()
	op.secrets = append(op.secrets, s)
	return s
}

func (op *faultyOP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fault, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	op.mu.Lock()
	op.asked[r.URL.Path]++
	op.mu.Unlock()
	switch path {
	case ".well-known/openid-configuration":
		op.discovery(w, fault)
	case "authorize":
		op.authorize(w, r, fault)
	case "token":
		op.token(w, r, fault)
	case "keys":
		op.keys(w, fault)
	case "userinfo":
		op.userinfo(w, fault)
	default:
		http.NotFound(w, r)
	}
}

func send(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (op *faultyOP) discovery(w http.ResponseWriter, fault string) {
	at := op.issuer(fault)
	m := map[string]any{
		"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token", "jwks_uri": at + "/keys",
		"userinfo_endpoint": at + "/userinfo", "id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
		"authorization_response_iss_parameter_supported": strings.HasPrefix(fault, "iss-param"),
	}
	switch fault {
	case "discovery-other":
		m["issuer"] = op.issuer("none")
	case "discovery-500":
		w.WriteHeader(http.StatusInternalServerError)
	case "discovery-no-json":
		_, _ = w.Write([]byte("<html>"))
		return
	case "keys-over-http":
		m["jwks_uri"] = "http://192.0.2.1/keys"
	case "token-over-http":
		m["token_endpoint"] = "http://192.0.2.1/token"
	}
	send(w, m)
}

// authorize takes everybody for Ada, and sends the browser back at once.
func (op *faultyOP) authorize(w http.ResponseWriter, r *http.Request, fault string) {
	q := r.URL.Query()
	if q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || q.Get("nonce") == "" || q.Get("state") == "" || q.Get("response_type") != "code" {
		http.Error(w, "no PKCE, nonce or state", http.StatusBadRequest)
		return
	}
	code := op.secret("code-" + rand.Text())
	op.secret(q.Get("state"))
	op.secret(q.Get("nonce"))
	op.mu.Lock()
	op.codes[code] = q
	op.mu.Unlock()
	back := url.Values{"state": {q.Get("state")}, "code": {code}}
	switch fault {
	case "denied":
		back.Del("code")
		back.Set("error", "access_denied")
	case "no-code":
		back.Del("code")
	case "iss-param-other":
		back.Set("iss", op.issuer("none"))
	case "state-other":
		back.Set("state", strings.Repeat("A", 43))
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (op *faultyOP) token(w http.ResponseWriter, r *http.Request, fault string) {
	_ = r.ParseForm()
	op.mu.Lock()
	q := op.codes[r.Form.Get("code")]
	delete(op.codes, r.Form.Get("code"))
	op.mu.Unlock()
	op.secret(r.Form.Get("code_verifier"))
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.Form.Get("client_id"), r.Form.Get("client_secret")
	}
	sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
	right := q != nil && q.Get("redirect_uri") == r.Form.Get("redirect_uri") && id == q.Get("client_id") && secret == faultySecret &&
		(fault == "ignores-pkce" || q.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:]))
	access := op.secret("access-" + rand.Text())
	answer := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 60, "id_token": op.idToken(fault, q, access)}
	switch fault {
	case "code-refused":
		right = false
	case "token-html":
		_, _ = w.Write([]byte("<html>" + access))
		return
	case "token-redirect":
		http.Redirect(w, r, op.issuer("none")+"/token", http.StatusTemporaryRedirect)
		return
	case "token-huge":
		answer["more"] = strings.Repeat("x", 2<<20)
	case "token-type-mac":
		answer["token_type"] = "mac"
	case "no-id-token":
		delete(answer, "id_token")
	}
	if !right {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"error":"invalid_grant","error_description":%q}`, access)
		return
	}
	send(w, answer)
}

// idToken is for the login of q, with the fault.
func (op *faultyOP) idToken(fault string, q url.Values, access string) string {
	now, sum := time.Now().Unix(), sha256.Sum256([]byte(access))
	claims := map[string]any{
		"iss": op.issuer(fault), "sub": "ada", "aud": "fold", "nonce": q.Get("nonce"), "iat": now, "exp": now + 300, "at_hash": base64.RawURLEncoding.EncodeToString(sum[:16]),
		"name": "Ada", "email": "ada@example.com", "email_verified": true,
	}
	change := map[string]map[string]any{
		"iss-other": {"iss": op.issuer("none")}, "aud-other": {"aud": "other"}, "aud-several": {"aud": []string{"fold", "other"}}, "azp-other": {"azp": "other"},
		"expired": {"exp": now - 1}, "no-exp": {"exp": nil}, "iat-future": {"iat": now + 3600, "exp": now + 7200}, "iat-old": {"iat": now - 3600}, "no-iat": {"iat": nil},
		"nbf-future": {"nbf": now + 3600}, "nonce-other": {"nonce": "x"}, "no-nonce": {"nonce": nil}, "no-sub": {"sub": nil}, "sub-long": {"sub": strings.Repeat("x", 256)},
		"at-hash-other": {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}, "userinfo-other": {"name": nil}, "userinfo-fails": {"name": nil},
	}[fault]
	maps.Copy(claims, change)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	switch fault {
	case "not-a-jwt":
		return op.secret("not-a-jwt-" + rand.Text())
	case "claims-no-json":
		return op.secret(op.signed(map[string]any{"alg": "ES256", "kid": "k"}, []byte(`["ada"]`), op.key))
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	return op.secret(op.sign(fault, payload))
}

func (op *faultyOP) sign(fault string, payload []byte) string {
	head := map[string]any{"alg": "ES256", "kid": "k", "typ": "JWT"}
	der, err := x509.MarshalPKIXPublicKey(&op.key.PublicKey)
	if err != nil {
		panic(err)
	}
	switch fault {
	case "alg-none":
		head["alg"] = "none"
		return joined(head, payload) + "."
	case "hs256-public-key":
		head["alg"] = "HS256"
		return hs256(joined(head, payload), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	case "hs256-client-secret":
		head["alg"] = "HS256"
		return hs256(joined(head, payload), []byte(faultySecret))
	case "other-key":
		return op.signed(head, payload, op.other)
	case "own-key-in-head":
		head["jwk"] = jwk(op.other)
		return op.signed(head, payload, op.other)
	case "signature-cut":
		text := op.signed(head, payload, op.key)
		return text[:len(text)-8]
	case "payload-changed":
		parts := strings.Split(op.signed(head, payload, op.key), ".")
		parts[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(payload), `"ada"`, `"eve"`, 1)))
		return strings.Join(parts, ".")
	}
	return op.signed(head, payload, op.key)
}

func joined(head map[string]any, payload []byte) string {
	h, err := json.Marshal(head)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(h) + "." + base64.RawURLEncoding.EncodeToString(payload)
}

func hs256(text string, key []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// signed is a JWT by ES256: the signature is r and s, 32 bytes each.
func (op *faultyOP) signed(head map[string]any, payload []byte, key *ecdsa.PrivateKey) string {
	text := joined(head, payload)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		panic(err)
	}
	b := make([]byte, 64)
	r.FillBytes(b[:32])
	s.FillBytes(b[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(b)
}

func jwk(key *ecdsa.PrivateKey) map[string]any {
	at, err := key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		panic(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	return map[string]any{"kty": "EC", "crv": "P-256", "kid": "k", "use": "sig", "alg": "ES256", "x": text(at[1:33]), "y": text(at[33:])}
}

func (op *faultyOP) keys(w http.ResponseWriter, fault string) {
	keys := []any{jwk(op.key)}
	switch fault {
	case "keys-500":
		w.WriteHeader(http.StatusInternalServerError)
	case "keys-none":
		keys = []any{}
	case "keys-secret":
		keys = []any{map[string]any{"kty": "oct", "kid": "k", "k": base64.RawURLEncoding.EncodeToString([]byte(faultySecret))}}
	}
	send(w, map[string]any{"keys": keys})
}

func (op *faultyOP) userinfo(w http.ResponseWriter, fault string) {
	switch fault {
	case "userinfo-fails":
		w.WriteHeader(http.StatusInternalServerError)
	case "userinfo-other":
		send(w, map[string]any{"sub": "eve", "name": "Eve"})
	default:
		send(w, map[string]any{"sub": "ada", "name": "Ada"})
	}
}
