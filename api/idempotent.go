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

// Bounds of the answers that are stored for idempotency keys: enough for clients that
// retry.
const (
	maxIdempotencyEntries = 1024
	maxIdempotencyBytes   = 4 << 20
	idempotencyTTL        = 24 * time.Hour
	maxIdempotencyKey     = 255 // bytes
)

// An idempotencyCache stores the answers to POSTs by their Idempotency-Key, so that a
// repeated request is not done again. It is in memory: after a restart of the daemon the
// content-derived ids of memories do the same job.
type idempotencyCache struct {
	now func() time.Time

	mu      sync.Mutex // guards answers
	answers lru.Cache[string, *storedAnswer]
}

// storedAnswer is what one request was answered, or will be.
type storedAnswer struct {
	key    string
	body   [sha256.Size]byte // of the request
	at     time.Time
	done   chan struct{} // closed when the rest is set
	status int           // 0 if the request left nothing to repeat
	header http.Header
	reply  []byte
}

func newIdempotencyCache(now func() time.Time) *idempotencyCache {
	return &idempotencyCache{now: now, answers: lru.Cache[string, *storedAnswer]{
		MaxLen: maxIdempotencyEntries, MaxCost: maxIdempotencyBytes, Cost: func(a *storedAnswer) int { return len(a.reply) },
	}}
}

// serve answers r with the stored answer to the same request of the same caller, or calls
// next.
func (o *idempotencyCache) serve(w http.ResponseWriter, r *http.Request, route Route, key string, next http.Handler) {
	if len(key) > maxIdempotencyKey {
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
		a, first := o.getOrAdd(auth.CallerOf(r.Context()).ID+"\x00"+route.Pattern()+"\x00"+key, sum)
		if a.body != sum {
			writeProblem(w, refusal(http.StatusUnprocessableEntity, "this Idempotency-Key was used for another request", "use a new key for every request"))
			return
		}
		if first {
			o.runAndStore(w, r, a, next)
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
		// The first request failed in a way that may not come again: try this one.
	}
}

// run does the request and keeps the answer, unless it is a failure that may
// not come again.
func (o *idempotencyCache) runAndStore(w http.ResponseWriter, r *http.Request, a *storedAnswer, next http.Handler) {
	rec := &recorder{header: w.Header()}
	defer func() {
		if rec.status == 0 || rec.status >= 500 || rec.status == http.StatusTooManyRequests {
			o.remove(a)
		} else {
			a.status, a.header, a.reply = rec.status, rec.header.Clone(), rec.body.Bytes()
			o.storeReply(a)
		}
		close(a.done)
	}()
	next.ServeHTTP(rec, r)
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	if n := rec.body.Len(); n > 0 { // else it would be sent in chunks
		rec.header.Set("Content-Length", strconv.Itoa(n))
	}
	w.WriteHeader(rec.status)
	_, _ = w.Write(rec.body.Bytes()) // the client left: nobody to tell
}

func (a *storedAnswer) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Idempotent-Replayed", "true")
	w.WriteHeader(a.status)
	_, _ = w.Write(a.reply)
}

// getOrAdd returns the entry of key, and whether the caller is the first.
func (o *idempotencyCache) getOrAdd(key string, sum [sha256.Size]byte) (*storedAnswer, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if a, ok := o.answers.Get(key); ok && o.now().Sub(a.at) < idempotencyTTL {
		return a, false
	}
	a := &storedAnswer{key: key, body: sum, at: o.now(), done: make(chan struct{})}
	o.answers.Put(key, a)
	return a, true
}

// storeReply counts the reply of a, which is complete.
func (o *idempotencyCache) storeReply(a *storedAnswer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if held, ok := o.answers.Get(a.key); ok && held == a {
		o.answers.Put(a.key, a)
	}
}

func (o *idempotencyCache) remove(a *storedAnswer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if held, ok := o.answers.Get(a.key); ok && held == a {
		o.answers.Remove(a.key)
	}
}

// recorder buffers an answer until it is complete.
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
