package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// ReloadModels takes over what the user file says now about models and what
// projects may use. A model that cannot be used says why, and the one before goes
// on.
func (d *Daemon) ReloadModels(ctx context.Context, sc fold.Scope) (wire.EmbedderList, error) {
	list := wire.EmbedderList{Items: []wire.ProjectEmbedder{}}
	if !sc.Admin {
		return list, fmt.Errorf("change models: %w", fold.ErrForbidden)
	}
	if d.opt.Reload != nil {
		cfg, err := d.opt.Reload()
		if err != nil {
			return list, err
		}
		d.parts.embedders.reload(cfg)
	}
	for _, co := range d.sorted() {
		item := wire.ProjectEmbedder{Slug: co.rec.Slug}
		co.mu.Lock()
		st := co.st
		co.mu.Unlock()
		want := co.embedders.choice(co.rec.Slug)
		if want.refused != nil {
			item.Notice = fmt.Sprintf("%s is not used: %v%s", want.name, want.refused, hintAfter(want.refused))
		}
		if st != nil {
			if m := st.serves(); m != nil {
				if m.spec == want.spec() { // its weight may be another
					st.recall.Use(co.searching(m))
				}
				item.Embedder = co.embedder(ctx, m)
			}
			co.hurry()
			if _, err := co.enqueue(ctx, jobEmbed, prioSoon, struct{}{}, jobEmbed); err != nil {
				return list, err
			}
		}
		list.Items = append(list.Items, item)
	}
	return list, nil
}

// embedder tells which model's vectors answer searches, and how much they count.
func (co *checkout) embedder(ctx context.Context, m *meaning) *wire.Embedder {
	want := co.embedders.choice(co.rec.Slug)
	e := &wire.Embedder{Provider: m.identity.Provider, Model: m.identity.Model, Dimension: m.identity.Dim, Where: "this machine"}
	e.Weight, e.WeightWhy = co.weightOf(ctx, m)
	if want.spec() == m.spec && want.remote() {
		e.Where, e.DailyTexts = want.where(), want.provider.DailyTexts
		e.SentToday = co.embedders.spent(ctx, want.name).Texts
	}
	if want.spec() != m.spec && want.refused == nil {
		e.Next = want.name
		if want.name == localProvider {
			want.model = filepath.Base(want.model)
		}
		if want.model != "" {
			e.Next += "/" + want.model
		}
	}
	return e
}

// noteWeight is the note that holds what a model's vectors were measured to be
// worth on the checkout.
const noteWeight = "vector weight"

// measuredWeight is what it holds.
type measuredWeight struct {
	Identity string  `json:"identity"`
	Weight   float64 `json:"weight"`
	Why      string  `json:"why"`
	// Again is when it is measured again since there was too little to measure on;
	// zero for never.
	Again time.Time `json:"again,omitzero"`
}

// weightOf returns how much the vectors of m count in a search, and why: what the
// user decided, else what was measured, else nothing. Those of the builtin embedder
// have the committed weight.
func (co *checkout) weightOf(ctx context.Context, m *meaning) (w float64, why string) {
	if w, fixed := co.embedders.config(co.rec.Slug).Embedding.FixedWeight(); fixed {
		return w, "set by embedding.weight"
	}
	if m.spec == builtinProvider {
		return rank.DefaultWeights().VectorWeight(), "committed: measured on the development sets"
	}
	if n, known := co.knownWeight(ctx, m); known {
		return n.Weight, n.Why
	}
	return 0, "not measured yet on this checkout; to decide it: embedding.weight in config.toml"
}

// knownWeight is what was measured of m on this checkout.
func (co *checkout) knownWeight(ctx context.Context, m *meaning) (n measuredWeight, known bool) {
	text, err := co.parts.state.Note(ctx, co.rec.Key, noteWeight)
	known = err == nil && text != "" && json.Unmarshal([]byte(text), &n) == nil && n.Identity == m.identity.String()
	return n, known
}
