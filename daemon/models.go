package daemon

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// ReloadModels takes over what the user file says now about models and what
// projects may use. A model that cannot be used says why, and the one before goes
// on.
func (d *Daemon) ReloadModels(ctx context.Context, sc fold.Scope) (wire.EmbedderList, error) {
	list := wire.EmbedderList{Items: []wire.ProjectEmbedder{}}
	if !sc.Admin || !sc.All {
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
		st := co.holdIfOpen()
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
			st.letGo()
		} else if co.view().repo != nil {
			var p wire.ProjectStatus
			co.lastCounts(ctx, &p)
			item.Embedder = p.Embedder
		}
		if co.view().repo != nil {
			co.hurry()
			co.add(work.Task{Kind: work.Embed, Priority: work.Soon})
		}
		list.Items = append(list.Items, item)
	}
	return list, nil
}

// embedder tells which model's vectors answer searches, and how much they count.
func (co *checkout) embedder(ctx context.Context, m *meaning) *wire.Embedder {
	want := co.embedders.choice(co.rec.Slug)
	e := &wire.Embedder{Provider: m.identity.Provider, Model: m.identity.Model, Dimension: m.identity.Dim, Where: "this machine"}
	files, functions := co.weightsOf(ctx, m)
	e.Weight, e.WeightWhy, e.ChunkWeight, e.ChunkWeightWhy = files.Weight, files.Why, functions.Weight, functions.Why
	if want.spec() == m.spec && want.remote() {
		e.Where, e.DailyTexts = want.where(), want.provider.DailyTexts
		e.SentToday = co.embedders.spent(ctx, want.name).Texts
	}
	if until, held := co.embedders.held(want); held {
		e.HeldUntil = &until
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
