package daemon

import (
	"context"
	"fmt"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/checkout"
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
		d.parts.Models.Reload(cfg)
	}
	for _, co := range d.sorted() {
		item := wire.ProjectEmbedder{Slug: co.Record.Slug}
		st := co.Look()
		want := co.Models.Choice(co.Record.Slug)
		if want.Refused != nil {
			item.Notice = fmt.Sprintf("%s is not used: %v%s", want.Name, want.Refused, checkout.HintAfter(want.Refused))
		}
		if st != nil {
			if m := st.Vectors.Serving(); m != nil {
				if m.Spec == want.Spec() { // its weight may be another
					st.Recall.Use(co.Searching(m))
				}
				item.Embedder = co.Embedder(ctx, m)
			}
			st.Release()
		} else if co.View().Repo != nil {
			var p wire.ProjectStatus
			co.LastCounts(ctx, &p)
			item.Embedder = p.Embedder
		}
		if co.View().Repo != nil {
			co.Hurry()
			co.Add(work.Task{Kind: work.Embed, Priority: work.Soon})
		}
		list.Items = append(list.Items, item)
	}
	return list, nil
}
