package webhook_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldwatch/foldwatch/api/webhook"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// The secrets of the repositories that may be told of; others may not.
const (
	repo, secret       = "0123456789abcdef", "a secret of sixteen bytes"
	signedRepo, signer = "fedcba9876543210", "whsec_dGhpcnR5IHR3byBieXRlcyBvZiBhIHNlY3JldCE="
	shortRepo          = "aaaaaaaaaaaaaaaa" // its secret is too short
)

// fakeRepositories take what they are given, each id once.
type fakeRepositories struct {
	mu    sync.Mutex // guards the fields below
	taken []wire.Delivery
	ids   map[string]bool
}

func (f *fakeRepositories) WebhookSecret(repository string) string {
	return map[string]string{repo: secret, signedRepo: signer, shortRepo: "x"}[repository]
}

func (f *fakeRepositories) TakeDelivery(_ context.Context, _ string, in wire.Delivery) (wire.DeliveryReply, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range in.IDs {
		if f.ids[id] {
			return wire.DeliveryReply{}, fmt.Errorf("taken: %w", fold.ErrConflict)
		}
	}
	for _, id := range in.IDs {
		f.ids[id] = true
	}
	f.taken = append(f.taken, in)
	return wire.DeliveryReply{Status: "queued"}, nil
}

func (f *fakeRepositories) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.taken)
}

var now = time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)

func newListener(log io.Writer) (*webhook.Listener, *fakeRepositories) {
	f := &fakeRepositories{ids: map[string]bool{}}
	return webhook.New(f, webhook.Options{Log: slog.New(slog.NewTextHandler(log, nil)), Now: func() time.Time { return now }}), f
}

// A request is what a test sends. Empty fields have the usual value.
type request struct {
	method, path, body string
	header             map[string]string
}

func (r request) send(h http.Handler) *httptest.ResponseRecorder {
	if r.method == "" {
		r.method = http.MethodPost
	}
	req := httptest.NewRequest(r.method, r.path, strings.NewReader(r.body))
	for k, v := range r.header {
		req.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// with returns r with other headers; "" removes one.
func (r request) with(pairs ...string) request {
	header := map[string]string{}
	maps.Copy(header, r.header)
	for i := 0; i < len(pairs); i += 2 {
		if delete(header, pairs[i]); pairs[i+1] != "" {
			header[pairs[i]] = pairs[i+1]
		}
	}
	r.header = header
	return r
}

const after = "1111111111111111111111111111111111111111"

const pushBody = `{"ref":"refs/heads/main","after":"` + after + `","repository":{"full_name":"a/b","clone_url":"http://127.0.0.1:1/evil"}}`

func hub(body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// gitHub is a webhook as GitHub sends it.
func gitHub(event, id, body string) request {
	return request{path: "/webhooks/github/" + repo, body: body, header: map[string]string{
		"Content-Type": "application/json", "X-GitHub-Event": event, "X-GitHub-Delivery": id, "X-Hub-Signature-256": hub(body),
	}}
}

// gitLab is a webhook as GitLab sends it with a secret token.
func gitLab(event, id, body string) request {
	return request{path: "/webhooks/gitlab/" + repo, body: body, header: map[string]string{
		"Content-Type": "application/json", "X-Gitlab-Event": event, "Idempotency-Key": id, "X-Gitlab-Token": secret,
	}}
}

func standard(id string, at time.Time, body string) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signer, "whsec_"))
	if err != nil {
		panic(err)
	}
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signed is a webhook as GitLab sends it with a signing token.
func signed(event, id string, at time.Time, body string) request {
	r := gitLab(event, id, body).with("X-Gitlab-Token", "", "webhook-id", id, "webhook-timestamp", strconv.FormatInt(at.Unix(), 10), "webhook-signature", standard(id, at, body))
	r.path = "/webhooks/gitlab/" + signedRepo
	return r
}

// TestWhatIsGenuineIsTaken sends what forges send.
func TestWhatIsGenuineIsTaken(t *testing.T) {
	t.Parallel()
	tag := strings.Replace(pushBody, "refs/heads/main", "refs/tags/v1", 1)
	old := signed("Push Hook", "6", now, pushBody)
	for name, tc := range map[string]struct {
		r      request
		status int
		event  string // that is taken; "" for none
	}{
		"push":                   {gitHub("push", "1", pushBody), 202, "push"},
		"tag":                    {gitHub("push", "1", tag), 202, "tag"},
		"charset":                {gitHub("push", "1", pushBody).with("Content-Type", "application/json; charset=utf-8"), 202, "push"},
		"no delivery id":         {gitHub("push", "", pushBody), 202, "push"},
		"ping":                   {gitHub("ping", "1", `{"zen":"Keep it logically awesome."}`), 200, ""},
		"issues":                 {gitHub("issues", "1", `{}`), 200, ""},
		"no event":               {gitHub("", "1", `{}`), 200, ""},
		"deleted":                {gitHub("push", "1", strings.Replace(pushBody, after, strings.Repeat("0", 40), 1)), 200, ""},
		"opened":                 {gitHub("pull_request", "1", `{"action":"opened","pull_request":{"number":1}}`), 200, ""},
		"closed, not merged":     {gitHub("pull_request", "1", `{"action":"closed","pull_request":{"number":1,"merged":false}}`), 200, ""},
		"gitlab push":            {gitLab("Push Hook", "1", pushBody), 202, "push"},
		"gitlab tag":             {gitLab("Tag Push Hook", "1", tag), 202, "tag"},
		"gitlab, older":          {gitLab("Push Hook", "", pushBody), 202, "push"},
		"gitlab signed":          {signed("Push Hook", "1", now, pushBody), 202, "push"},
		"gitlab signed 4 min":    {signed("Push Hook", "1", now.Add(-4*time.Minute), pushBody), 202, "push"},
		"gitlab, two signatures": {old.with("webhook-signature", "v1,AAAA v2,x "+old.header["webhook-signature"]), 202, "push"},
	} {
		l, f := newListener(io.Discard)
		w := tc.r.send(l)
		if w.Code != tc.status || f.count() != len(tc.event)/max(1, len(tc.event)) || f.count() > 0 && f.taken[0].Event != tc.event {
			t.Errorf("%s: %d %s, taken %+v; want %d, %q", name, w.Code, w.Body, f.taken, tc.status, tc.event)
		}
	}
}

// TestF61WhatIsNotGenuineIsRefusedAlike sends what anybody can: everything gets the
// same answer, also where the repository or the path does not exist, and nothing is
// taken.
func TestF61WhatIsNotGenuineIsRefusedAlike(t *testing.T) {
	t.Parallel()
	good, lab, std := gitHub("push", "1", pushBody), gitLab("Push Hook", "1", pushBody), signed("Push Hook", "1", now, pushBody)
	sha1of := hmac.New(sha1.New, []byte(secret))
	_, _ = io.WriteString(sha1of, pushBody)
	tampered, unknown, page, noBody := good, good, good.with("Origin", "https://github.com"), good
	tampered.body = strings.Replace(pushBody, "main", "evil", 1)
	unknown.path = "/webhooks/github/ffffffffffffffff"
	noBody.body = ""
	short := good
	short.path = "/webhooks/github/" + shortRepo
	at := func(r request, path string) request { r.path = path; return r }
	by := func(r request, method string) request { r.method = method; return r }
	huge := func(r request) request { r.body = strings.Repeat("x", 25<<20); return r }
	stdTampered := std
	stdTampered.body = tampered.body
	sig := good.header["X-Hub-Signature-256"]
	for name, r := range map[string]request{
		"wrong":                    good.with("X-Hub-Signature-256", hub(pushBody+" ")),
		"missing":                  good.with("X-Hub-Signature-256", ""),
		"truncated":                good.with("X-Hub-Signature-256", sig[:len(sig)-2]),
		"longer":                   good.with("X-Hub-Signature-256", sig+"00"),
		"not hex":                  good.with("X-Hub-Signature-256", "sha256="+strings.Repeat("z", 64)),
		"no algorithm":             good.with("X-Hub-Signature-256", strings.TrimPrefix(sig, "sha256=")),
		"sha1":                     good.with("X-Hub-Signature-256", "", "X-Hub-Signature", "sha1="+hex.EncodeToString(sha1of.Sum(nil))),
		"sha1 in its place":        good.with("X-Hub-Signature-256", "sha1="+hex.EncodeToString(sha1of.Sum(nil))),
		"empty signature":          good.with("X-Hub-Signature-256", "sha256="),
		"tampered":                 tampered,
		"no body":                  noBody,
		"huge":                     huge(good),
		"unknown repository":       unknown,
		"no such repository":       at(good, "/webhooks/github/../../"+repo),
		"no repository":            at(good, "/webhooks/github/"),
		"secret too short":         short,
		"other forge's token":      at(lab, "/webhooks/github/"+repo),
		"other forge's signature":  at(good, "/webhooks/gitlab/"+repo),
		"other forge":              at(good, "/webhooks/gitea/"+repo),
		"deeper":                   at(good, "/webhooks/github/"+repo+"/x"),
		"REST":                     at(good, "/api/projects"),
		"MCP":                      at(good, "/mcp"),
		"health":                   by(at(good, "/health"), "GET"),
		"root":                     by(at(good, "/"), "GET"),
		"GET":                      by(good, "GET"),
		"PUT":                      by(good, "PUT"),
		"preflight":                by(good, "OPTIONS"),
		"web page":                 page,
		"garbage":                  {path: "/webhooks/github/" + repo, body: "\x00\xff{"},
		"gitlab, wrong token":      lab.with("X-Gitlab-Token", secret+"x"),
		"gitlab, no token":         lab.with("X-Gitlab-Token", ""),
		"gitlab, prefix of token":  lab.with("X-Gitlab-Token", secret[:10]),
		"gitlab, of another":       at(lab, "/webhooks/gitlab/"+signedRepo),
		"gitlab, unknown":          at(lab, "/webhooks/gitlab/ffffffffffffffff"),
		"gitlab, huge":             huge(lab),
		"signed, stale":            signed("Push Hook", "1", now.Add(-6*time.Minute), pushBody),
		"signed, ahead":            signed("Push Hook", "1", now.Add(6*time.Minute), pushBody),
		"signed, other time":       std.with("webhook-timestamp", strconv.FormatInt(now.Unix()+1, 10)),
		"signed, no time":          std.with("webhook-timestamp", ""),
		"signed, time is no time":  std.with("webhook-timestamp", "0x10"),
		"signed, time before time": std.with("webhook-timestamp", "-9223372036854775808"),
		"signed, other id":         std.with("webhook-id", "2"),
		"signed, no id":            std.with("webhook-id", ""),
		"signed, tampered":         stdTampered,
		"signed, other version":    std.with("webhook-signature", strings.Replace(std.header["webhook-signature"], "v1,", "v1a,", 1)),
		"signed, truncated":        std.with("webhook-signature", std.header["webhook-signature"][:20]),
		"signed wrong, token right": lab.with("webhook-signature", "v1,AAAA", "webhook-id", "1", "webhook-timestamp",
			strconv.FormatInt(now.Unix(), 10)),
	} {
		var log strings.Builder
		l, f := newListener(&log)
		w, nobody := r.send(l), request{method: "GET", path: "/nowhere"}.send(l)
		if w.Code != http.StatusUnauthorized || w.Body.String() != nobody.Body.String() || fmt.Sprint(w.Header()) != fmt.Sprint(nobody.Header()) || f.count() > 0 {
			t.Errorf("%s: %d %v %s, taken %+v; want what nobody gets: %s", name, w.Code, w.Header(), w.Body, f.taken, nobody.Body)
		}
		for _, s := range []string{secret, signer, "evil", sig} {
			if strings.Contains(log.String()+w.Body.String(), s) {
				t.Errorf("%s: %q is told: %s %s", name, s, log.String(), w.Body)
			}
		}
	}
}

// TestKnownSendersAreToldWhatIsWrong sends what is signed and not usable.
func TestKnownSendersAreToldWhatIsWrong(t *testing.T) {
	t.Parallel()
	form := "payload=" + url.QueryEscape(pushBody)
	for name, tc := range map[string]struct {
		r      request
		status int
	}{
		"form":             {gitHub("push", "1", form).with("Content-Type", "application/x-www-form-urlencoded"), 415},
		"text":             {gitHub("push", "1", pushBody).with("Content-Type", "text/plain"), 415},
		"no content type":  {gitHub("push", "1", pushBody).with("Content-Type", ""), 415},
		"no JSON":          {gitHub("push", "1", "{"), 422},
		"other JSON":       {gitHub("push", "1", `{"ref":["x"]}`), 422},
		"no commit":        {gitHub("push", "1", `{"ref":"refs/heads/main","after":"HEAD"}`), 422},
		"option as commit": {gitHub("push", "1", `{"ref":"refs/heads/main","after":"--upload-pack=evil"}`), 422},
		"nothing merged":   {gitHub("pull_request", "1", `{"action":"closed","pull_request":{"merged":true,"merged_at":"2026-02-03T10:00:00Z"}}`), 422},
		"repository ../..": {gitHub("pull_request", "1", mergedBody("../..", "https://github.com/../..", "T")), 422},
		"host with a user": {gitHub("pull_request", "1", mergedBody("a/b", "https://", "T")), 422},
		"gitlab time":      {gitLab("Merge Request Hook", "1", `{"object_attributes":{"action":"merge","state":"merged","updated_at":"today"}}`), 422},
	} {
		l, f := newListener(io.Discard)
		if w := tc.r.send(l); w.Code != tc.status || f.count() > 0 {
			t.Errorf("%s: %d %s, taken %+v; want %d", name, w.Code, w.Body, f.taken, tc.status)
		}
	}
}

func mergedBody(fullName, address, title string) string {
	return fmt.Sprintf(`{"action":"closed","pull_request":{"number":7,"title":%q,"body":"Because.","merged":true,"merged_at":"2026-02-03T10:00:00Z",
		"merge_commit_sha":%q,"user":{"login":"ada"},"base":{"ref":"main"},"head":{"ref":"topic"},"labels":[{"name":"bug"}]},
		"repository":{"full_name":%q,"html_url":%q}}`, title, after, fullName, address)
}

// TestMergedRequestsAreRead reads those of both forges to the same.
func TestMergedRequestsAreRead(t *testing.T) {
	t.Parallel()
	lab := `{"user":{"id":5,"username":"ada"},"project":{"path_with_namespace":"A/b","web_url":"https://github.com/A/b"},"labels":[{"title":"bug"}],
		"object_attributes":{"iid":7,"title":"Fix it","description":"Because.","action":"merge","state":"merged","source_branch":"topic","target_branch":"main",
		"merge_commit_sha":"` + after + `","updated_at":"2026-02-03 10:00:00 UTC","author_id":5,"last_commit":{"author":{"name":"Ada Dev"}}}}`
	want := wire.MergeRequest{
		Host: "github.com", Repo: "a/b", Number: 7, Title: "Fix it", Text: "Because.", Author: "ada", From: "topic", Onto: "main",
		Commit: after, Labels: []string{"bug"}, At: now,
	}
	for forge, r := range map[string]request{
		"github": gitHub("pull_request", "1", mergedBody("A/b", "https://GitHub.com/A/b", "Fix it")), "gitlab": gitLab("Merge Request Hook", "1", lab),
	} {
		l, f := newListener(io.Discard)
		w := r.send(l)
		want.Forge = forge
		if w.Code != 202 || f.count() != 1 || f.taken[0].Event != wire.EventMerged || fmt.Sprintf("%+v", *f.taken[0].Merged) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s: %d %s, taken %+v", forge, w.Code, w.Body, f.taken)
		}
	}
}

// TestF61ReplaysAreRefused sends what was taken again: as it was, with another id
// that nobody signed, and with another body under the same id.
func TestF61ReplaysAreRefused(t *testing.T) {
	t.Parallel()
	l, f := newListener(io.Discard)
	other := strings.Replace(pushBody, "main", "dev", 1)
	for i, tc := range []struct {
		r    request
		want int
	}{
		{gitHub("push", "1", pushBody), 202},
		{gitHub("push", "1", pushBody), 409},
		{gitHub("push", "2", pushBody), 409},
		{gitHub("push", "", pushBody), 409},
		{gitHub("push", "1", other), 409},
		{gitHub("push", "3", other), 202},
		{gitLab("Push Hook", "1", pushBody), 202},
		{gitLab("Push Hook", "1", pushBody), 409},
		{signed("Push Hook", "1", now, pushBody), 202},
		{signed("Push Hook", "1", now, pushBody), 409},
		{signed("Push Hook", "1", now.Add(time.Second), pushBody), 409},
		{signed("Push Hook", "2", now, pushBody), 202}, // the same push, sent by two webhooks
	} {
		if w := tc.r.send(l); w.Code != tc.want {
			t.Errorf("%d: %d %s, want %d", i, w.Code, w.Body, tc.want)
		}
	}
	if f.count() != 5 {
		t.Errorf("%d taken", f.count())
	}
}

// TestWebhooksOfOneRepositoryAreLimited sends more than a forge does.
func TestWebhooksOfOneRepositoryAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeRepositories{ids: map[string]bool{}}
		l := webhook.New(f, webhook.Options{})
		late := 0
		for i := range 100 {
			w := gitHub("push", strconv.Itoa(i), strings.Replace(pushBody, "main", strconv.Itoa(i), 1)).send(l)
			if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") != "" {
				late++
			}
		}
		if late != 40 || f.count() != 60 {
			t.Errorf("%d refused, %d taken, want 40 and 60", late, f.count())
		}
		if w := signed("Push Hook", "1", time.Now(), pushBody).send(l); w.Code != 202 {
			t.Errorf("another repository: %d", w.Code)
		}
		time.Sleep(10 * time.Second)
		for i := range 20 {
			gitHub("push", "later"+strconv.Itoa(i), strings.Replace(pushBody, "main", "later"+strconv.Itoa(i), 1)).send(l)
		}
		if f.count() != 71 {
			t.Errorf("%d taken after 10 s, want 10 more", f.count())
		}
	})
}

// TestRefusalsDoNotFillTheLog refuses many.
func TestRefusalsDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	l, _ := newListener(&log)
	for range 100 {
		request{path: "/webhooks/github/" + repo}.send(l)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines for 100 refusals", n)
	}
}

// TestF61SlowBodiesEnd sends a byte a second: the answer comes after ten, and the
// connection ends.
func TestF61SlowBodiesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, f := newListener(io.Discard)
		ours, theirs := net.Pipe()
		ln := &oneConn{conn: ours, done: make(chan struct{})}
		server := &http.Server{Handler: l}
		ended := make(chan struct{})
		go func() { _ = server.Serve(ln); close(ended) }()
		begun, wrote := time.Now(), make(chan struct{})
		go func() {
			defer close(wrote)
			_, _ = io.WriteString(theirs, "POST /webhooks/github/"+repo+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
			for {
				if _, err := theirs.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		res, err := http.ReadResponse(bufio.NewReader(theirs), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if took := time.Since(begun); res.StatusCode != 401 || took > 11*time.Second || f.count() > 0 {
			t.Errorf("%d after %v", res.StatusCode, took)
		}
		_ = theirs.Close()
		_ = server.Close()
		<-wrote
		<-ended
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn net.Conn
	done chan struct{}
	once sync.Once
}

func (o *oneConn) Accept() (net.Conn, error) {
	if c := o.conn; c != nil {
		o.conn = nil
		return c, nil
	}
	<-o.done
	return nil, net.ErrClosed
}

func (o *oneConn) Close() error {
	o.once.Do(func() { close(o.done) })
	return nil
}

func (o *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

func TestCheckSecret(t *testing.T) {
	t.Parallel()
	for s, ok := range map[string]bool{
		secret: true, signer: true, "": false, "tiny": false, "whsec_": false, "whsec_####################": false, "whsec_AAAA": false,
	} {
		if why := webhook.CheckSecret(s); (why == "") != ok || s != "" && strings.Contains(why, s) && s != "whsec_" {
			t.Errorf("CheckSecret(%q) = %q", s, why)
		}
	}
}

// FuzzWebhook sends any headers and bodies, signed and not: nothing unsigned is
// taken, nothing fails inside, and what is taken is what a push or a merge has.
func FuzzWebhook(f *testing.F) {
	f.Add(true, "push", "", "", pushBody)
	f.Add(true, "pull_request", "", "", mergedBody("a/b", "https://github.com/a/b", "T"))
	f.Add(false, "push", hub(pushBody), "", pushBody)
	f.Add(false, "Push Hook", "", secret, pushBody)
	f.Add(true, "Merge Request Hook", "v1,x", "1", `{"object_attributes":{"action":"merge","state":"merged"}}`)
	f.Fuzz(func(t *testing.T, known bool, event, signature, token, body string) {
		for _, r := range []request{gitHub(event, "1", body), gitLab(event, "1", body), signed(event, "1", now, body)} {
			if !known {
				r = r.with("X-Hub-Signature-256", signature, "X-Gitlab-Token", token, "webhook-signature", signature)
			}
			l, taken := newListener(io.Discard)
			w := r.send(l)
			genuine := known || signature == hub(body) || token == secret && r.header["webhook-signature"] == "" || signature != "" && signature == standard("1", now, body)
			if w.Code >= 500 || !genuine && (w.Code != 401 || taken.count() > 0) {
				t.Fatalf("%s %q: %d %s", r.path, event, w.Code, w.Body)
			}
			for _, d := range taken.taken {
				if len(d.IDs) == 0 || d.Merged == nil && len(d.After) != 40 && len(d.After) != 64 || d.Merged != nil && (d.Merged.Number <= 0 || d.Merged.Repo == "" || d.Merged.Host == "") {
					t.Fatalf("taken %+v of %s", d, body)
				}
			}
		}
	})
}
