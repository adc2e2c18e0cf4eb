package embed_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex/embed"
	"github.com/foldwatch/foldwatch/vecindex/embedtest"
)

// each runs a test against the fake of every kind of provider, in a bubble.
func each(t *testing.T, test func(t *testing.T, f *fake)) {
	for _, f := range fakes() {
		t.Run(f.Kind, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, f) }) })
	}
}

func texts(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("text number %d of the pool", i)
	}
	return out
}

func TestRemoteGivesUnitVectorsInOrder(t *testing.T) {
	each(t, func(t *testing.T, f *fake) {
		r := f.open(t)
		if id := r.Identity(); id.Provider != f.Kind || id.Model != f.Model || id.Dim != f.Dim || id.Normalize != "l2" {
			t.Fatalf("identity %+v", id)
		}
		in := append(texts(300), "", " \n")
		got, err := r.Embed(t.Context(), in, embed.Document)
		if err != nil || len(got) != len(in) {
			t.Fatalf("Embed = %d vectors, %v", len(got), err)
		}
		for i, v := range got {
			if blank := strings.TrimSpace(in[i]) == ""; blank != (v == nil) {
				t.Fatalf("text %d: %d dimensions", i, len(v))
			} else if !blank && (len(v) != f.Dim || cosine(v, v) < .999 || cosine(v, v) > 1.001) {
				t.Fatalf("text %d: %d dimensions, length² %v", i, len(v), cosine(v, v))
			}
		}
		alone, err := r.Embed(t.Context(), in[171:172], embed.Document)
		if d := cmp.Diff(got[171], alone[0]); err != nil || d != "" {
			t.Errorf("alone it is another vector: %v %s", err, d)
		}
		sent := 0
		for _, c := range f.Asked[:len(f.Asked)-1] {
			sent += len(c.Texts)
			if len(c.Texts) > f.MaxTexts {
				t.Errorf("%d texts in one request", len(c.Texts))
			}
		}
		if sent != 300 || len(f.Asked) > 12 {
			t.Errorf("sent %d texts in %d requests", sent, len(f.Asked)-1)
		}
		if same := r.Identity() == again(t, f).Identity(); !same {
			t.Error("another identity when opened again")
		}
	})
}

func again(t *testing.T, f *fake) *embed.Remote { return f.open(t) }

func TestRemoteTellsQueriesFromDocuments(t *testing.T) {
	each(t, func(t *testing.T, f *fake) {
		r := f.open(t)
		for _, k := range []embed.Kind{embed.Document, embed.Query} {
			if _, err := r.Embed(t.Context(), []string{"the pool"}, k); err != nil {
				t.Fatal(err)
			}
		}
		d, q := f.Asked[0], f.Asked[1]
		differ := d.Task != q.Task || d.Texts[0] != q.Texts[0]
		if differ != (r.Identity().Prompt != "") {
			t.Errorf("document %q %q, query %q %q, prompt %q: the cache would mix them", d.Task, d.Texts, q.Task, q.Texts, r.Identity().Prompt)
		}
		if wants := f.Kind == "ollama" || f.Kind == "gemini" || f.Kind == "voyage"; wants && !differ {
			t.Errorf("asked alike: %q", d.Texts)
		}
	})
}

func TestRemoteAsksForSmallerVectors(t *testing.T) {
	each(t, func(t *testing.T, f *fake) {
		r, err := f.tryOpen(t, 256, nil)
		if f.Kind == "ollama" { // this model cannot
			if !errors.Is(err, fold.ErrInvalid) || fold.Hint(err) == "" {
				t.Errorf("open with 256 dimensions = %v, hint %q", err, fold.Hint(err))
			}
			return
		}
		if err != nil || r.Identity().Dim != 256 {
			t.Fatalf("open = %v", err)
		}
		if v, err := r.Embed(t.Context(), []string{"x y"}, embed.Query); err != nil || len(v[0]) != 256 || cosine(v[0], v[0]) < .999 {
			t.Errorf("Embed = %v, %v", v, err)
		}
	})
}

func TestRemoteRemembersWhatItLearned(t *testing.T) {
	each(t, func(t *testing.T, f *fake) {
		known := f.open(t).Identity()
		f.Fault = func(int, http.ResponseWriter) bool { t.Error("asked although everything was known"); return false }
		r, err := f.tryOpen(t, 0, &known)
		if err != nil || r.Identity() != known {
			t.Errorf("open = %+v, %v", r, err)
		}
		f.Fault, f.Asked = nil, nil
		other := known
		other.Prompt = "another"
		if _, err := f.tryOpen(t, 0, &other); err != nil || len(f.Asked) != 1 {
			t.Errorf("asked %d times, %v: what was learned of another prompt says nothing", len(f.Asked), err)
		}
	})
}

func TestRemoteWaitsAsLongAsItIsTold(t *testing.T) {
	each(t, func(t *testing.T, f *fake) {
		r := f.open(t)
		f.Fault = func(n int, w http.ResponseWriter) bool {
			if n == 1 {
				w.Header().Set("Retry-After", "9")
				f.Refuse(w, 429, "rate_limit_exceeded")
			}
			return n == 1
		}
		start := time.Now()
		if _, err := r.Embed(t.Context(), texts(3), embed.Document); err != nil || time.Since(start) != 9*time.Second {
			t.Errorf("Embed = %v after %v", err, time.Since(start))
		}
	})
}

// Every fault ends in an error within bounds, and never in a vector.
func TestRemoteFaults(t *testing.T) {
	for _, tc := range embedtest.AllBroken() {
		t.Run(tc.Name, func(t *testing.T) {
			each(t, func(t *testing.T, f *fake) {
				r := f.open(t)
				f.Faults = tc.Faults(f.Provider)
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
				defer cancel()
				got, err := r.Embed(ctx, texts(5), embed.Document)
				if err == nil || got != nil {
					t.Fatalf("Embed = %d vectors, %v", len(got), err)
				}
				if n := len(f.Asked); n < tc.Least || n > tc.Most {
					t.Errorf("%d requests, want %d to %d", n, tc.Least, tc.Most)
				}
				if took := time.Since(start); tc.Name != "hang" && took > time.Minute {
					t.Errorf("took %v", took)
				}
				if said := err.Error() + fold.Hint(err); f.Key != "" && strings.Contains(said, f.Key) || strings.Contains(said, "number 3") {
					t.Errorf("the error repeats what was sent: %s", said)
				}
				f.Faults = embedtest.Faults{}
				time.Sleep(time.Hour)
				if _, err := r.Embed(t.Context(), texts(5), embed.Document); err != nil {
					t.Errorf("after it was mended: %v", err)
				}
			})
		})
	}
}

func TestRemoteTakesOutOfOrderAnswers(t *testing.T) {
	each(t, func(t *testing.T, f *fake) {
		if f.Kind == "ollama" || f.Kind == "gemini" {
			t.Skip("its answers have no index: their order is all there is")
		}
		r := f.open(t)
		want, err := r.Embed(t.Context(), texts(9), embed.Document)
		if err != nil {
			t.Fatal(err)
		}
		f.Shape = func(v []any) []any { slices.Reverse(v); return v }
		got, err := r.Embed(t.Context(), texts(9), embed.Document)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("reversed: %v %s", err, d)
		}
		for name, bad := range map[string]int{"twice": 3, "negative": -1, "beyond": 9} {
			f.Shape = func(v []any) []any { v[4].(map[string]any)["index"] = bad; return v }
			if got, err := r.Embed(t.Context(), texts(9), embed.Document); err == nil {
				t.Errorf("index %s: %d vectors", name, len(got))
			}
		}
		f.Shape = nil
		f.Bend = func(v []any) []any {
			for i := range v {
				v[i] = embedtest.Base64(v[i].([]any))
			}
			return v
		}
		if got, err = r.Embed(t.Context(), texts(9), embed.Document); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("base64: %v", err)
		}
		f.Bend = func(v []any) []any { v[0] = "AADAfwAAwH8="; return v } // two NaNs
		if got, err = r.Embed(t.Context(), texts(9), embed.Document); err == nil {
			t.Errorf("NaN in base64: %d vectors", len(got))
		}
	})
}

func TestRemoteCutsLongTexts(t *testing.T) {
	each(t, func(t *testing.T, f *fake) {
		f.MaxBytes = 700 // a server with a small window, which says so only by refusing
		f.MaxTexts = 10
		r := f.open(t)
		in := texts(25)
		in[3] = strings.Repeat("é long ", 4000)
		got, err := r.Embed(t.Context(), in, embed.Document)
		if err != nil || slices.ContainsFunc(got, func(v []float32) bool { return len(v) != f.Dim }) {
			t.Fatalf("Embed = %v", err)
		}
		if len(f.Asked) > 60 {
			t.Errorf("%d requests", len(f.Asked))
		}
	})
}

func TestRemoteNeverSendsSecrets(t *testing.T) {
	each(t, func(t *testing.T, f *fake) {
		r := f.open(t)
		credential := "ghp_" + "R7vXq2LmZ9aKd4WcT1yBn8HsJ5uEo3Gf6PiQ"
		for _, k := range []embed.Kind{embed.Document, embed.Query} {
			got, err := r.Embed(t.Context(), []string{"one", "token = \"" + credential + "\"", "two"}, k)
			if err != nil || got[0] == nil || got[1] != nil || got[2] == nil {
				t.Fatalf("Embed = %v", err)
			}
		}
		for _, c := range f.Asked {
			if strings.Contains(strings.Join(c.Texts, " "), credential) {
				t.Error("a credential was sent")
			}
		}
	})
}

func TestRemoteNamesTheCommandThatMends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fakes()[0]
		f.Fault = func(_ int, w http.ResponseWriter) bool {
			f.Refuse(w, 404, "not_found")
			return true
		}
		r, err := f.tryOpen(t, 0, nil)
		if r != nil || !errors.Is(err, fold.ErrNotFound) || fold.Hint(err) != "ollama pull nomic-embed-text" {
			t.Errorf("open = %v, hint %q", err, fold.Hint(err))
		}
	})
}

func FuzzRemoteAnswer(f *testing.F) {
	for _, s := range []string{`[1,2,3]`, `"AADAfwAAwH8="`, `[1e400]`, `[null]`, `[]`, `[1,,2]`, `[-0.5e-3 , 1]`, `null`, `{}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { embed.CheckVector(t, b) })
}
