// Package webhook serves webhooks of forges about pushes and merges. It verifies a
// request before it parses it, and passes on what happened; no address in it is ever
// opened.
package webhook

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const (
	bodyLimit = 1 << 20          // bytes; forges send less for pushes of people
	bodyTime  = 10 * time.Second // to send it: forges wait no longer for an answer
	maxBodies = 64               // read at once

	// A repository may send burst webhooks at once, and one each refill after.
	burst  = 60
	refill = time.Second
	// loggedEvery is the least time between two log lines about refusals.
	loggedEvery = time.Minute
)

// Repositories are the repositories that send webhooks. Its methods are safe for
// concurrent use.
type Repositories interface {
	// WebhookSecret returns the secret of the webhooks of a repository; "" if it may send
	// none.
	WebhookSecret(repository string) string
	// TakeDelivery does what a webhook asks for, or starts it. It returns ErrConflict if
	// the delivery was taken before.
	TakeDelivery(ctx context.Context, repository string, in wire.Delivery) (wire.DeliveryReply, error)
}

// Options of a listener. The zero value works.
type Options struct {
	// Log gets the reasons of refusals, but never the content of requests. Nil discards.
	Log *slog.Logger
	// Now is the clock for the age of signatures. Nil means time.Now.
	Now func() time.Time
}

// A Listener serves webhooks, and nothing else. All unknown senders get the same answer.
// It is an http.Handler, safe for concurrent use.
type Listener struct {
	of     Repositories
	opt    Options
	nobody string        // secret used for repositories that have none
	bodies chan struct{} // a semaphore of bodies that are read

	mu      sync.Mutex        // guards the fields below
	budgets map[string]budget // by repository
	logged  time.Time         // when a refusal was last logged
	untold  int               // refusals since then
}

// A budget is how many webhooks a repository may still send.
type budget struct {
	left float64
	at   time.Time
}

// New returns the listener for webhooks of repositories.
func New(of Repositories, opt Options) *Listener {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Listener{of: of, opt: opt, nobody: rand.Text(), bodies: make(chan struct{}, maxBodies), budgets: map[string]budget{}}
}

// ServeHTTP answers a request.
func (l *Listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	select {
	case l.bodies <- struct{}{}:
	default:
		w.Header().Set("Connection", "close")
		problem(w, http.StatusServiceUnavailable, "unavailable", "Not available now", "too many requests at once")
		return
	}
	forge, repository, body, why := l.read(w, r)
	<-l.bodies
	var said []string
	if why == "" {
		said, why = l.know(forge, repository, r.Header, body)
	}
	if why != "" {
		l.refuse(w, r, why)
		return
	}
	if ct, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(ct) != "application/json" {
		problem(w, http.StatusUnsupportedMediaType, "not_json", "Unsupported Media Type", "the body must be application/json: choose that content type where the webhook is set up")
		return
	}
	if !l.mayCome(repository) {
		w.Header().Set("Retry-After", "60")
		problem(w, http.StatusTooManyRequests, "too_many", "Too Many Requests", "more webhooks of one repository than are listened to")
		return
	}
	read := readGitHub
	if forge == "gitlab" {
		read = readGitLab
	}
	in, reply, err := read(r.Header, body)
	if err == nil && in.Event != "" {
		in.IDs = idsOf(forge, repository, said)
		reply, err = l.of.TakeDelivery(r.Context(), repository, in)
	}
	l.answer(w, reply, err)
}

// read reads and parses the headers and body, or returns why they are no webhook. A body
// that is too long or too slow is not read to the end.
func (l *Listener) read(w http.ResponseWriter, r *http.Request) (forge, repository string, body []byte, why string) {
	rest, isHook := strings.CutPrefix(r.URL.Path, "/webhooks/")
	forge, repository, _ = strings.Cut(rest, "/")
	switch {
	case !isHook || forge != "github" && forge != "gitlab" || repository == "" || strings.Contains(repository, "/"):
		return forge, repository, nil, "it is no address of a webhook"
	case r.Method != http.MethodPost:
		return forge, repository, nil, "it is no POST"
	case len(r.Header["Origin"]) > 0:
		return forge, repository, nil, "a web page sent it"
	case r.ContentLength > bodyLimit:
		return forge, repository, nil, "its body is larger than 1 MB"
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // writers of tests have no deadlines
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return forge, repository, nil, "its body is larger than 1 MB"
	}
	if err != nil {
		w.Header().Set("Connection", "close")
		return forge, repository, nil, "its body did not arrive"
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return forge, repository, body, ""
}

// know returns the values that identify the delivery, or why the sender is unknown. A
// repository without a secret takes as long as others.
func (l *Listener) know(forge, repository string, h http.Header, body []byte) (said []string, why string) {
	secret := l.of.WebhookSecret(repository)
	known := CheckSecret(secret) == ""
	if !known {
		secret = l.nobody
	}
	var ok bool
	if forge == "github" {
		said, ok = fromGitHub(h, body, secret)
	} else {
		said, ok = fromGitLab(h, body, secret, l.opt.Now())
	}
	switch {
	case !known:
		return nil, "nothing may be said of that repository"
	case !ok:
		return nil, "its signature is missing, wrong or old"
	}
	return said, ""
}

// idsOf returns hashes of the values that identify a delivery to a repository.
func idsOf(forge, repository string, said []string) (ids []string) {
	for _, s := range said {
		sum := sha256.Sum256([]byte(forge + "\x00" + repository + "\x00" + s))
		ids = append(ids, hex.EncodeToString(sum[:]))
	}
	return ids
}

// mayCome reports whether a repository is within its rate limit.
func (l *Listener) mayCome(repository string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opt.Now()
	b, ok := l.budgets[repository]
	if !ok {
		b = budget{left: burst, at: now}
	}
	b.left = min(burst, b.left+max(0, now.Sub(b.at).Seconds())/refill.Seconds())
	b.at = now
	may := b.left >= 1
	if may {
		b.left--
	}
	l.budgets[repository] = b // few, since only known repositories get here
	return may
}

// refuse answers an unknown sender.
func (l *Listener) refuse(w http.ResponseWriter, r *http.Request, why string) {
	l.mu.Lock()
	now := l.opt.Now()
	l.untold++
	n := l.untold
	told := l.logged.IsZero() || now.Sub(l.logged) >= loggedEvery || now.Before(l.logged)
	if told {
		l.logged, l.untold = now, 0
	}
	l.mu.Unlock()
	if told { // anybody can send, and must not fill the log
		l.opt.Log.WarnContext(r.Context(), "Webhook refused", "reason", why, "count", n)
	}
	p := wire.NewProblem(fold.ErrUnauthenticated)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client left: nobody to tell
}

// answer answers a known sender.
func (l *Listener) answer(w http.ResponseWriter, reply wire.DeliveryReply, err error) {
	switch {
	case errors.Is(err, fold.ErrConflict):
		problem(w, http.StatusConflict, "replayed", "Taken before", "this delivery was taken within the last 24 hours; nothing is done again")
	case errors.Is(err, fold.ErrInvalid):
		problem(w, http.StatusUnprocessableEntity, "invalid", "Input breaks a rule", err.Error())
	case err != nil:
		l.opt.Log.Error("Webhook not taken", "err", err)
		w.Header().Set("Retry-After", "60")
		problem(w, http.StatusServiceUnavailable, "unavailable", "Not available now", "it could not be taken now; send it again")
	default:
		status := http.StatusOK
		if reply.Status == "queued" {
			status = http.StatusAccepted
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(reply)
	}
}

func problem(w http.ResponseWriter, status int, code, title, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(wire.Problem{Type: wire.ProblemType(code), Title: title, Status: status, Detail: detail, Code: code})
}
