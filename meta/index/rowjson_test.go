package index

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestMoreIsWrittenAsJSONDoes: byte for byte, since rows are compared as stored.
func TestMoreIsWrittenAsJSONDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	words := []string{
		"", "plain", "two words", "a/b-c_d.go", "tilde~", "quote\"", "back\\slash", "<tag>", "a & b", "tab\t", "line\n", "\x00", "\x7f", "Ärger", "\xff broken",
		"\u2028", "日本", "[x]", "{y}", "'", "0a1b2c3d4e5f6071",
	}
	word := func() string { return words[r.IntN(len(words))] }
	plain := func() string { return words[r.IntN(5)] }
	list := func(one func() string) []string {
		switch n := r.IntN(5); n {
		case 0:
			return nil
		default:
			l := make([]string, 0, n)
			for range n - 1 {
				l = append(l, one())
			}
			return l
		}
	}
	weights := []float64{1, 1, 1, 0, math.Copysign(0, -1), .75, 1e-9}
	rest := []func(*more){
		func(m *more) { m.ByName = []fold.NamedLink{{Type: "related", Target: word()}} },
		func(m *more) { m.Importance = .5 },
		func(m *more) { m.Session = word() },
		func(m *more) { m.Agent = word() },
		func(m *more) { m.Commit = word() },
		func(m *more) { m.MovedFrom = word() },
		func(m *more) { m.Layer = word() },
		func(m *more) { m.Visibility = word() },
		func(m *more) { m.Foreign = word() },
		func(m *more) { m.CreatedAt = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) },
		func(m *more) { m.UpdatedAt = time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)) },
	}
	for n := range 5000 {
		one, weight := word, func() float64 { return weights[r.IntN(len(weights))] }
		if n%2 == 0 {
			one, weight = plain, func() float64 { return 1 }
		}
		m := more{Aliases: list(one), Tags: list(one), Keywords: list(one), OriginalDate: one()}
		for range r.IntN(4) {
			m.Links = append(m.Links, fold.Link{From: "a", To: fold.ID(one()), Type: fold.LinkDependsOn, Context: one(), Derived: r.IntN(2) == 0, Evidence: one(), Weight: weight()})
		}
		if n%5 == 0 {
			rest[r.IntN(len(rest))](&m)
		}
		want, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.marshal(); err != nil || string(got) != string(want) {
			t.Fatalf("%+v is written as\n%s, %v, want\n%s", m, got, err, want)
		}
	}
}
