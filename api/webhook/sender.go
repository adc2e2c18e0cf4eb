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
	// tolerance is how old a signed webhook may be, as Standard Webhooks advises.
	tolerance = 5 * time.Minute
	// maxID is how long the id of a delivery may be, in bytes.
	maxID = 256
)

// once returns the only value of a header, "" if it is missing or there are several.
func once(h http.Header, name string) string {
	if v := h.Values(name); len(v) == 1 {
		return v[0]
	}
	return ""
}

// fromGitHub reports whether X-Hub-Signature-256 is the signature of the body, and
// returns the values that identify the delivery. The id of a delivery is not signed, so
// the body is one of them.
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

// fromGitLab is fromGitHub for both forms of GitLab: signed by Standard Webhooks, if the
// secret is a signing token, or with the secret itself in X-Gitlab-Token. A signature
// must be valid, whatever the token.
func fromGitLab(h http.Header, body []byte, secret string, now time.Time) (said []string, ok bool) {
	if h.Values("Webhook-Signature") != nil {
		return signed(h, body, secret, now)
	}
	// Hashes have equal lengths, so the time of the comparison does not reveal that of
	// the secret.
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

// signed checks a webhook by Standard Webhooks 1.0: HMAC-SHA256 of id, time and body with
// the key after whsec_.
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

// signingPrefix is the prefix of a signing token of Standard Webhooks.
const signingPrefix = "whsec_"

// leastSecret is the least length of a secret in bytes; a shorter one could be guessed
// from one signature.
const leastSecret = 16

// CheckSecret returns what is wrong with a secret, without showing it; "" if nothing is.
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
