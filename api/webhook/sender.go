package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// tolerance is how far the time of a signed webhook may be from ours, as
	// Standard Webhooks advises.
	tolerance = 5 * time.Minute
	// maxID is how long the id of a delivery may be, in bytes.
	maxID = 256
)

// once returns the one value of a header, "" if it is missing or there are
// several.
func once(h http.Header, name string) string {
	if v := h.Values(name); len(v) == 1 {
		return v[0]
	}
	return ""
}

// fromGitHub reports whether the body was signed with the secret, as
// X-Hub-Signature-256 says, and returns what is said only once. The id of a
// delivery is not signed, so that the body counts as one, too.
func fromGitHub(h http.Header, body []byte, secret string) (said []string, ok bool) {
	text, isSHA256 := strings.CutPrefix(once(h, "X-Hub-Signature-256"), "sha256=")
	sent, err := hex.DecodeString(text)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	if !hmac.Equal(sent, mac.Sum(nil)) || err != nil || !isSHA256 {
		return nil, false
	}
	sum := sha256.Sum256(body)
	said = []string{"body " + hex.EncodeToString(sum[:])}
	if id := once(h, "X-Github-Delivery"); id != "" && len(id) <= maxID {
		said = append(said, "id "+id)
	}
	return said, true
}

// fromGitLab is fromGitHub for the two forms of GitLab: signed as in Standard
// Webhooks, where the secret is a signing token, or with the secret as it is in
// X-Gitlab-Token. What is signed must be signed right, whatever the token.
func fromGitLab(h http.Header, body []byte, secret string, now time.Time) (said []string, ok bool) {
	if h.Values("Webhook-Signature") != nil {
		return signed(h, body, secret, now)
	}
	// Hashes have one length: how long the secret is shows in no time either.
	is, want := sha256.Sum256([]byte(once(h, "X-Gitlab-Token"))), sha256.Sum256([]byte(secret))
	if subtle.ConstantTimeCompare(is[:], want[:]) != 1 {
		return nil, false
	}
	for _, name := range []string{"Webhook-Id", "Idempotency-Key"} {
		if id := once(h, name); id != "" && len(id) <= maxID {
			return []string{"id " + id}, true
		}
	}
	sum := sha256.Sum256(body)
	return []string{"body " + hex.EncodeToString(sum[:])}, true
}

// signed checks a webhook by the specification Standard Webhooks 1.0: the
// HMAC-SHA256 of id, time and body, with what the secret has after whsec_.
func signed(h http.Header, body []byte, secret string, now time.Time) (said []string, ok bool) {
	id, at := once(h, "Webhook-Id"), once(h, "Webhook-Timestamp")
	sec, err := strconv.ParseInt(at, 10, 64)
	if away := now.Sub(time.Unix(sec, 0)); err != nil || away > tolerance || away < -tolerance || id == "" || len(id) > maxID {
		return nil, false
	}
	key := []byte(secret)
	if text, is := strings.CutPrefix(secret, signingPrefix); is {
		if key, err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, false
		}
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(body)
	want := mac.Sum(nil)
	for s := range strings.FieldsSeq(once(h, "Webhook-Signature")) { // several while a secret is being replaced
		text, is := strings.CutPrefix(s, "v1,")
		sent, err := base64.StdEncoding.DecodeString(text)
		if is && err == nil && hmac.Equal(sent, want) {
			ok = true
		}
	}
	return []string{"id " + id}, ok
}

// signingPrefix is what a signing token of Standard Webhooks begins with.
const signingPrefix = "whsec_"

// leastSecret is how long a secret must be, in bytes: shorter ones can be guessed
// by who has seen one signature.
const leastSecret = 16

// CheckSecret returns what is wrong with a secret, without showing it; "" if
// nothing is.
func CheckSecret(secret string) string {
	text, is := strings.CutPrefix(secret, signingPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	switch {
	case secret == "":
		return "is not set"
	case is && err != nil:
		return "begins with " + signingPrefix + ", but what follows is not base64"
	case len(secret) < leastSecret, is && len(key) < leastSecret:
		return "is shorter than 16 bytes"
	}
	return ""
}
