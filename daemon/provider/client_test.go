package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldwatch/foldwatch/daemon/provider"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const key = "sk-" + "test-0123456789abcdef"

// A far is a provider on another machine, without a network: requests are
// answered in this process, so that time can stand still meanwhile.
type far struct {
	answer func(n int, w http.ResponseWriter, r *http.Request)
	hang   bool
	at     []time.Time
	auth   []string
}

func (f *far) RoundTrip(r *http.Request) (*http.Response, error) {
	f.at, f.auth = append(f.at, time.Now()), append(f.auth, r.Header.Get("Authorization"))
	if f.hang {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	rec := httptest.NewRecorder()
	f.answer(len(f.at), rec, r)
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

func options(f *far) provider.Options {
	return provider.Options{
		Name: "far", URL: "https://far.example/v1", Key: key, Transport: f,
		Allowed: func(string) error { return nil }, Jitter: func() float64 { return 1 },
	}
}

func open(t *testing.T, opt provider.Options) *provider.Client {
	t.Helper()
	c, err := provider.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var call = provider.Call{Project: "app", Path: "/embeddings", Body: map[string]string{"input": "the text"}, Texts: 1, Tokens: 3}

func fails(status int, headers ...string) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":"the text, said with %s","code":"bad_luck"}}`, key)
	}
}

func fine(_ int, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	fmt.Fprint(w, `{"ok":true}`)
}

func TestRetriesWithGrowingWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{answer: fails(500)}
		start := time.Now()
		err := open(t, options(f)).Do(t.Context(), call, &struct{}{})
		if !errors.Is(err, fold.ErrUnavailable) {
			t.Errorf("Do = %v, want ErrUnavailable", err)
		}
		var got []time.Duration
		for _, at := range f.at {
			got = append(got, at.Sub(start))
		}
		want := []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond, 3500 * time.Millisecond}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("attempts at %v, want %v", got, want)
		}
	})
}

// Many are told the same time: they come back one after the other, none too early.
func TestComesBackABitLaterThanItWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for header, want := range map[string]time.Duration{"8": 9 * time.Second, "40": 42500 * time.Millisecond, "60": 62500 * time.Millisecond} {
			f := &far{answer: func(n int, w http.ResponseWriter, r *http.Request) {
				if n == 1 {
					fails(429, "Retry-After", header)(n, w, r)
					return
				}
				fine(n, w, r)
			}}
			opt := options(f)
			opt.Jitter = func() float64 { return .5 }
			start := time.Now()
			if err := open(t, opt).Do(t.Context(), call, &struct{}{}); err != nil || time.Since(start) != want {
				t.Errorf("Retry-After %s: %v after %v, want %v", header, err, time.Since(start), want)
			}
		}
	})
}

func TestHonoursRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, header := range []string{"7", time.Now().Add(7 * time.Second).UTC().Format(http.TimeFormat)} {
			f := &far{answer: func(n int, w http.ResponseWriter, r *http.Request) {
				if n == 1 {
					fails(429, "Retry-After", header)(n, w, r)
					return
				}
				fine(n, w, r)
			}}
			start := time.Now()
			if header != "7" {
				header = start.Add(7 * time.Second).UTC().Format(http.TimeFormat)
			}
			var out struct{ OK bool }
			opt := options(f)
			opt.Jitter = func() float64 { return 0 }
			if err := open(t, opt).Do(t.Context(), call, &out); err != nil || !out.OK {
				t.Fatalf("Do = %v, %+v", err, out)
			}
			if waited := time.Since(start); waited != 7*time.Second {
				t.Errorf("Retry-After %q: waited %v", header, waited)
			}
		}
		// An hour is not waited for, and nobody asks meanwhile.
		f := &far{answer: fails(429, "Retry-After", "3600")}
		c, start := open(t, options(f)), time.Now()
		for range 3 {
			if err := c.Do(t.Context(), call, &struct{}{}); !errors.Is(err, fold.ErrUnavailable) {
				t.Errorf("Do = %v", err)
			}
		}
		if until, held := c.Held(); !held || !until.Equal(start.Add(time.Hour)) {
			t.Errorf("Held = %v, %v, want an hour", until, held)
		}
		if len(f.at) != 1 || time.Since(start) != 0 {
			t.Errorf("%d requests in %v, want one at once", len(f.at), time.Since(start))
		}
		time.Sleep(time.Hour)
		f.answer = fine
		if err := c.Do(t.Context(), call, &struct{}{}); err != nil {
			t.Errorf("after the hour: %v", err)
		}
		if until, held := c.Held(); held {
			t.Errorf("held until %v after it answered", until)
		}
	})
}

func TestBreakerStopsAskingAndTriesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{answer: fails(503)}
		opt := options(f)
		opt.Attempts = 1
		c := open(t, opt)
		for range 50 {
			if err := c.Do(t.Context(), call, &struct{}{}); !errors.Is(err, fold.ErrUnavailable) {
				t.Fatalf("Do = %v", err)
			}
		}
		if len(f.at) != 5 {
			t.Fatalf("%d requests, want 5", len(f.at))
		}
		for want := 6; want <= 8; want++ { // each failed try doubles the time
			time.Sleep(30 * time.Second << (want - 6))
			for range 5 {
				_ = c.Do(t.Context(), call, &struct{}{})
			}
			if len(f.at) != want {
				t.Fatalf("%d requests, want %d", len(f.at), want)
			}
		}
		time.Sleep(10 * time.Minute)
		f.answer = fine
		for range 3 {
			if err := c.Do(t.Context(), call, &struct{}{}); err != nil {
				t.Errorf("after it came back: %v", err)
			}
		}
	})
}

func TestHangEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{hang: true}
		start := time.Now()
		err := open(t, options(f)).Do(t.Context(), call, &struct{}{})
		if !errors.Is(err, fold.ErrUnavailable) || !strings.Contains(err.Error(), "in time") {
			t.Errorf("Do = %v", err)
		}
		if took := time.Since(start); len(f.at) != 4 || took != 4*time.Minute+3500*time.Millisecond {
			t.Errorf("%d attempts in %v", len(f.at), took)
		}
		// A caller who gives up is obeyed at once, and it does not count against the provider.
		c := open(t, options(f))
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start = time.Now()
			if err := c.Do(ctx, call, &struct{}{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
				t.Fatalf("Do = %v after %v", err, time.Since(start))
			}
			cancel()
		}
	})
}

func TestRefusesAnswersThatAreNone(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		answer     func(int, http.ResponseWriter, *http.Request)
		requests   int
	}{
		{"HTML", `"text/html" instead of JSON`, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>Welcome to the hotel's network</html>")
		}, 4},
		{"HTML without a type", "not the JSON", func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "")
			fmt.Fprint(w, "<html>")
		}, 4},
		{"cut off", "not the JSON", func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"ok":tr`)
		}, 4},
		{"endless", "more than 1000 bytes", func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"ok":`+strings.Repeat(" ", 5000))
		}, 4},
		{"another host", "redirects to another host", fails(307, "Location", "https://evil.example/"), 1},
		{"unencrypted", "redirects to another host", fails(307, "Location", "http://far.example/v1"), 1},
		{"key refused", "401 Unauthorized (bad_luck)", fails(401), 1},
		{"no such model", "404", fails(404), 1},
		{"bad request", "400", fails(400), 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &far{answer: tc.answer}
				one := call
				one.MaxAnswer = 1000
				err := open(t, options(f)).Do(t.Context(), one, &struct{ OK bool }{})
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Fatalf("Do = %v, want %q in it", err, tc.want)
				}
				if len(f.at) != tc.requests {
					t.Errorf("%d requests, want %d", len(f.at), tc.requests)
				}
				if said := fmt.Sprintf("%v %+v %q", err, err, fold.Hint(err)); strings.Contains(said, key) || strings.Contains(said, "the text") {
					t.Errorf("the error repeats what was sent: %s", said)
				}
			})
		})
	}
}

func TestAsksForConsentEachTime(t *testing.T) {
	f := &far{answer: fine}
	opt := options(f)
	denied := errors.New("not allowed")
	allowed := map[string]bool{"app": true}
	opt.Allowed = func(p string) error {
		if allowed[p] {
			return nil
		}
		return denied
	}
	c := open(t, opt)
	if err := c.Do(t.Context(), call, &struct{}{}); err != nil {
		t.Fatal(err)
	}
	other := call
	other.Project = "other"
	if err := c.Do(t.Context(), other, &struct{}{}); !errors.Is(err, denied) {
		t.Errorf("another project: %v", err)
	}
	allowed["app"] = false
	if err := c.Do(t.Context(), call, &struct{}{}); !errors.Is(err, denied) {
		t.Errorf("consent withdrawn: %v", err)
	}
	opt.Allowed = nil
	if err := open(t, opt).Do(t.Context(), call, &struct{}{}); !errors.Is(err, fold.ErrForbidden) {
		t.Errorf("nobody asked: %v", err)
	}
	if len(f.at) != 1 {
		t.Errorf("%d requests, want 1", len(f.at))
	}
}

// A ledger that keeps what it is told, as the database does.
type ledger map[string]provider.Spent

func (l ledger) Spent(_ context.Context, name string) (provider.Spent, error) { return l[name], nil }

func (l ledger) SetSpent(_ context.Context, name string, s provider.Spent) error {
	l[name] = s
	return nil
}

func TestBudgetOutlivesRestartAndEndsWithTheDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := ledger{}
		f := &far{answer: fine}
		opt := options(f)
		opt.Ledger, opt.Daily = book, provider.Budget{Texts: 4, Tokens: 100}
		two := call
		two.Texts = 2
		for i := range 4 {
			err := open(t, opt).Do(t.Context(), two, &struct{}{}) // a new client each time
			if (i < 2) != (err == nil) {
				t.Errorf("call %d: %v", i, err)
			}
			if err != nil && (!errors.Is(err, fold.ErrUnavailable) || !strings.Contains(fold.Hint(err), "daily_texts")) {
				t.Errorf("call %d: %v, hint %q", i, err, fold.Hint(err))
			}
		}
		if len(f.at) != 2 || book["far"].Texts != 4 || book["far"].Tokens != 6 {
			t.Errorf("%d requests, book %+v", len(f.at), book)
		}
		time.Sleep(24 * time.Hour)
		c := open(t, opt)
		if err := c.Do(t.Context(), two, &struct{}{}); err != nil {
			t.Errorf("the next day: %v", err)
		}
		if s, err := c.Spent(t.Context()); err != nil || s.Texts != 2 {
			t.Errorf("Spent = %+v, %v", s, err)
		}
		// What is sent again is spent again.
		f.answer, opt.Ledger, opt.Daily = fails(500), ledger{}, provider.Budget{Texts: 5}
		f.at = nil
		if err := open(t, opt).Do(t.Context(), two, &struct{}{}); !strings.Contains(fmt.Sprint(err), "are spent") || len(f.at) != 2 {
			t.Errorf("%d requests, %v", len(f.at), err)
		}
	})
}

func TestAuditsEveryRequestWithoutItsContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var records []provider.Record
		f := &far{answer: func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				fails(500)(n, w, r)
				return
			}
			fine(n, w, r)
		}}
		opt := options(f)
		opt.Audit = func(_ context.Context, r provider.Record) error {
			records = append(records, r)
			return nil
		}
		if err := open(t, opt).Do(t.Context(), call, &struct{}{}); err != nil {
			t.Fatal(err)
		}
		if len(records) != 2 || len(f.at) != 2 {
			t.Fatalf("%d records of %d requests", len(records), len(f.at))
		}
		r := records[1]
		if r.Project != "app" || r.Host != "far.example" || r.Texts != 1 || r.Bytes != len(`{"input":"the text"}`) || r.Outcome != "200 OK" {
			t.Errorf("record %+v", r)
		}
		if b, _ := json.Marshal(records); bytes.Contains(b, []byte("the text")) || bytes.Contains(b, []byte(key)) {
			t.Errorf("records hold what was sent: %s", b)
		}
		f.answer = fails(500)
		f.at = nil
		opt.Audit = func(context.Context, provider.Record) error { return errors.New("disk full") }
		if err := open(t, opt).Do(t.Context(), call, &struct{}{}); err == nil || len(f.at) != 1 {
			t.Errorf("without records: %v, %d requests, want one", err, len(f.at))
		}
	})
}

func TestKeyIsNeverShown(t *testing.T) {
	f := &far{answer: fine}
	opt := options(f)
	if err := open(t, opt).Do(t.Context(), call, &struct{}{}); err != nil || f.auth[0] != "Bearer "+key {
		t.Fatalf("sent %q, %v", f.auth, err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("Opened", "key", opt.Key, "options", opt.Key)
	b, err := json.Marshal(struct{ K provider.Key }{opt.Key})
	if shown := fmt.Sprintf("%v %s %#v %q", opt.Key, opt.Key, opt.Key, opt.Key) + log.String() + string(b); err != nil || strings.Contains(shown, key) {
		t.Errorf("shown: %s", shown)
	}
}

func TestNewChecksTheURL(t *testing.T) {
	for _, url := range []string{"", "far.example", "ftp://far.example", "https://user:pw@far.example", "https://far.example/?key=1", "http://far.example", "http://192.168.1.5:1234", "http://localhost.evil.example"} {
		opt := provider.Options{Name: "far", URL: url, Key: key}
		if _, err := provider.New(opt); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("New(%q) = %v, want ErrInvalid", url, err)
		} else if strings.Contains(err.Error(), "pw") {
			t.Errorf("New(%q) repeats the password: %v", url, err)
		}
	}
	for url, local := range map[string]bool{
		"http://localhost:11434": true, "http://127.0.0.1:1234/v1": true, "http://[::1]:80": true, "https://far.example": false, "https://127.0.0.1.far.example": false,
	} {
		if c := open(t, provider.Options{Name: "x", URL: url, Key: key}); c.Local() != local || provider.IsLocal(url) != local {
			t.Errorf("%s: local = %v", url, c.Local())
		}
	}
}

func TestThisMachineNeedsNoConsent(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fine(1, w, r) }))
	defer srv.Close()
	c := open(t, provider.Options{Name: "near", URL: srv.URL, Audit: func(context.Context, provider.Record) error {
		return errors.New("nothing left this machine")
	}})
	var out struct{ OK bool }
	if err := c.Do(t.Context(), call, &out); err != nil || !out.OK {
		t.Errorf("Do = %v, %+v", err, out)
	}
	forwards := open(t, provider.Options{Name: "cloud", URL: srv.URL, Forwards: true})
	if err := forwards.Do(t.Context(), call, &out); !errors.Is(err, fold.ErrForbidden) || forwards.Local() {
		t.Errorf("it passes on what it gets, and was asked without consent: %v", err)
	}
	srv.Close()
	gone := open(t, provider.Options{Name: "near", URL: srv.URL, Attempts: 1})
	if err := gone.Do(t.Context(), call, &out); !errors.Is(err, fold.ErrUnavailable) || fold.Hint(err) == "" {
		t.Errorf("nobody there: %v, hint %q", err, fold.Hint(err))
	}
}
