package daemon

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/foldwatch/foldwatch/daemon/embedding"

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
		d.parts.embedders.Reload(cfg)
	}
	for _, co := range d.sorted() {
		item := wire.ProjectEmbedder{Slug: co.rec.Slug}
		st := co.holdIfOpen()
		want := co.embedders.Choice(co.rec.Slug)
		if want.Refused != nil {
			item.Notice = fmt.Sprintf("%s is not used: %v%s", want.Name, want.Refused, hintAfter(want.Refused))
		}
		if st != nil {
			if m := st.vectors.Serving(); m != nil {
				if m.Spec == want.Spec() { // its weight may be another
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
func (co *checkout) embedder(ctx context.Context, m *embedding.Vectors) *wire.Embedder {
	want := co.embedders.Choice(co.rec.Slug)
	e := &wire.Embedder{Provider: m.Identity.Provider, Model: m.Identity.Model, Dimension: m.Identity.Dim, Where: "this machine"}
	files, functions := co.weightsOf(ctx, m)
	e.Weight, e.WeightWhy, e.ChunkWeight, e.ChunkWeightWhy = files.Weight, files.Why, functions.Weight, functions.Why
	if want.Spec() == m.Spec && want.Remote() {
		e.Where, e.DailyTexts = want.Where(), want.Provider.DailyTexts
		e.SentToday = co.embedders.Spent(ctx, want.Name).Texts
	}
	if until, held := co.embedders.Held(want); held {
		e.HeldUntil = &until
	}
	if want.Spec() != m.Spec && want.Refused == nil {
		e.Next = want.Name
		if want.Name == embedding.LocalProvider {
			want.Model = filepath.Base(want.Model)
		}
		if want.Model != "" {
			e.Next += "/" + want.Model
		}
	}
	return e
}
