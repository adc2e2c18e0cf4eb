package checkout

import (
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/vecindex"
)

// openVectors opens an index of vectors and has searches answered the way the
// user set.
func (co *Checkout) openVectors(dir, identity string, dim int) (*vecindex.Index, error) {
	x, err := vecindex.Open(dir, identity, dim)
	if err != nil {
		return nil, err
	}
	setting := co.Config.For(co.Record.Slug).VectorIndex
	switch setting {
	case vecindex.Exact, vecindex.Sketch, vecindex.Graph, vecindex.CoderGraph:
	default:
		setting = vecindex.Auto
	}
	x.Serve(setting, co.Builders)
	return x, nil
}

// vectorSearch is what status tells of an index.
func vectorSearch(x *vecindex.Index) *wire.VectorSearch {
	r := x.Report()
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return &wire.VectorSearch{Engine: r.Engine, Forced: r.Forced, Recall: r.Recall, P50MS: ms(r.P50), ExactMS: ms(r.Exact), Why: r.Why}
}
