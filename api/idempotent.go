package api

import (
	"bytes"
	"crypto/sha256"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/meta/lru"
)

// How much is remembered of what was done under an Idempotency-Key: enough for
// a client that retries, bounded whatever clients do.
const (
	onceEntries = 1024
	onceBytes   = 4 << 20
	onceTime    = 24 * time.Hour
	onceKey     = 255 // bytes
)

// idempotent remembers the answers to POSTs by their Idempotency-Key, so that a
// repeated request is answered, not done, again. It lives in memory: after a
// restart of the daemon the content-derived ids of memories do the same job.
type idempotent struct {
	now func() time.Time

	mu      sync.Mutex // guards answers
	answers lru.Cache[string, *answer]
}

// answer is what one request was answered, or will be.
type answer struct {
	key    string
	body   [sha256.Size]byte // of the request
	at     time.Time
	done   chan struct{} // closed when the rest is set
	status int           // 0 if the request left nothing to repeat
	header http.Header
	reply  []byte
}

func newIdempotent(now func() time.Time) *idempotent {
	return &idempotent{now: now, answers: lru.Cache[string, *answer]{
		MaxLen: onceEntries, MaxCost: onceBytes, Cost: func(a *answer) int { return len(a.reply) },
	}}
}

// serve answers r with what the same request of the same caller was answered
// before, or by next.
func (o *idempotent) serve(w http.ResponseWriter, r *http.Request, route Route, key string, next http.Handler) {
	if len(key) > onceKey {
		writeProblem(w, refusal(http.StatusUnprocessableEntity, "Idempotency-Key is longer than 255 bytes", ""))
		return
	}
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body) // in memory, see readWhole
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	sum := sha256.Sum256(append([]byte(r.URL.RequestURI()+"\x00"), body...))
	for {
		a, first := o.enter(auth.CallerOf(r.Context()).ID+"\x00"+route.Pattern()+"\x00"+key, sum)
		if a.body != sum {
			writeProblem(w, refusal(http.StatusUnprocessableEntity, "this Idempotency-Key was used for another request", "use a new key for every request"))
			return
		}
		if first {
			o.run(w, r, a, next)
			return
		}
		select {
		case <-a.done:
		case <-r.Context().Done():
			return
		}
		if a.status != 0 {
			a.write(w)
			return
		}
		// The first one failed in a way that says nothing: this one tries.
	}
}

// run does the request and keeps the answer, unless it is a failure that may
// not come again.
func (o *idempotent) run(w http.ResponseWriter, r *http.Request, a *answer, next http.Handler) {
	rec := &recorder{header: w.Header()}
	defer func() {
		if rec.status == 0 || rec.status >= 500 || rec.status == http.StatusTooManyRequests {
			o.forget(a)
		} else {
			a.status, a.header, a.reply = rec.status, rec.header.Clone(), rec.body.Bytes()
			o.keep(a)
		}
		close(a.done)
	}()
	next.ServeHTTP(rec, r)
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	if n := rec.body.Len(); n > 0 { // else it goes in chunks
		rec.header.Set("Content-Length", strconv.Itoa(n))
	}
	w.WriteHeader(rec.status)
	_, _ = w.Write(rec.body.Bytes()) // the client left: nobody to tell
}

func (a *answer) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Idempotent-Replayed", "true")
	w.WriteHeader(a.status)
	_, _ = w.Write(a.reply)
}

// enter returns the entry of key, and whether the caller is the first.
func (o *idempotent) enter(key string, sum [sha256.Size]byte) (*answer, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a, ok := o.answers.Get(key); ok && o.now().Sub(a.at) < onceTime {
		return a, false
	}
	a := &answer{key: key, body: sum, at: o.now(), done: make(chan struct{})}
	o.answers.Put(key, a)
	return a, true
}

// keep counts the reply of a, which is complete.
func (o *idempotent) keep(a *answer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if held, ok := o.answers.Get(a.key); ok && held == a {
		o.answers.Put(a.key, a)
	}
}

func (o *idempotent) forget(a *answer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if held, ok := o.answers.Get(a.key); ok && held == a {
		o.answers.Remove(a.key)
	}
}

// recorder holds an answer back until it is whole.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}
