package embedtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

// A Broken is one way in which a provider fails, always.
type Broken struct {
	Name string
	// Least and Most are how many requests a call of an embedder takes until it gives
	// up: what time may mend is asked for again.
	Least, Most int
	// Faults of a provider of that kind. Made anew for each, since some count.
	Faults func(p *Provider) Faults
}

// AllBroken returns every fault that is known of real providers.
func AllBroken() []Broken {
	return []Broken{
		{"500", 4, 4, refused(http.StatusInternalServerError)},
		{"429", 4, 4, func(p *Provider) Faults {
			return answers(func(w http.ResponseWriter) {
				w.Header().Set("Retry-After", "1")
				p.Refuse(w, http.StatusTooManyRequests, "rate_limit_exceeded")
			})
		}},
		{"401", 1, 1, refused(http.StatusUnauthorized)},
		{"HTML", 4, 4, says("text/html", "<html>log in</html>")},
		{"hang", 1, 4, func(*Provider) Faults { return Faults{Gate: make(chan struct{})} }},
		{"cut off", 4, 4, says("application/json", `{"data":[{"index":0,"embedding":[0.1,`)},
		{"endless", 4, 4, says("application/json", `{"embeddings":[[`+strings.Repeat("0.1,", 1<<20))},
		{"wrong dimension", 1, 1, func(*Provider) Faults {
			var n atomic.Int32 // an answer of one vector is wrong beside the one before it
			return bent(func(v []any) []any { return v[:len(v)-1-int(n.Add(1)%3)] })
		}},
		{"no dimension", 1, 1, func(*Provider) Faults { return bent(func([]any) []any { return []any{} }) }},
		{"NaN", 4, 4, number("NAN")},
		{"null", 4, 4, number(nil)},
		{"text", 4, 4, number("0.5")},
		{"too large", 1, 1, number("HUGE")},
		{"zero", 1, 1, func(*Provider) Faults {
			return Faults{Bend: func(vecs []any) []any {
				for i, v := range vecs {
					vecs[i] = slices.Repeat([]any{0}, len(v.([]any)))
				}
				return vecs
			}}
		}},
		{"fewer", 1, 1, shaped(func(v []any) []any { return v[1:] })},
		{"more", 1, 1, shaped(func(v []any) []any { return append(v, v[0]) })},
		{"none", 1, 1, shaped(func([]any) []any { return nil })},
	}
}

// BrokenBy returns the fault of a name.
func BrokenBy(name string) Broken {
	all := AllBroken()
	i := slices.IndexFunc(all, func(b Broken) bool { return b.Name == name })
	if i < 0 {
		panic("no such fault: " + name)
	}
	return all[i]
}

func answers(fn func(http.ResponseWriter)) Faults {
	return Faults{Fault: func(_ int, w http.ResponseWriter) bool { fn(w); return true }}
}

func refused(status int) func(*Provider) Faults {
	return func(p *Provider) Faults {
		return answers(func(w http.ResponseWriter) { p.Refuse(w, status, http.StatusText(status)) })
	}
}

func says(contentType, text string) func(*Provider) Faults {
	return func(*Provider) Faults {
		return answers(func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", contentType)
			fmt.Fprint(w, text)
		})
	}
}

func shaped(fn func([]any) []any) func(*Provider) Faults {
	return func(*Provider) Faults { return Faults{Shape: fn} }
}

// bent changes the last vector of every answer.
func bent(fn func([]any) []any) Faults {
	return Faults{Bend: func(vecs []any) []any {
		last := len(vecs) - 1
		vecs[last] = fn(slices.Clone(vecs[last].([]any)))
		return vecs
	}}
}

// number puts something else into the last vector of every answer.
func number(with any) func(*Provider) Faults {
	return func(*Provider) Faults { return bent(func(v []any) []any { v[7] = with; return v }) }
}
