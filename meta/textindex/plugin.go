package textindex

import (
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	api "github.com/blevesearch/scorch_segment_api/v2"
)

// Bleve keeps segments of whatever plugin its configuration names.
const (
	pluginType    = "foldwords"
	pluginVersion = 1
)

// register makes the plugin known to Bleve, whose table is global.
var register = sync.OnceFunc(func() { scorch.RegisterSegmentPlugin(plugin{}, false) })

// plugin makes, opens and merges segments for Bleve.
type plugin struct{}

func (plugin) Type() string    { return pluginType }
func (plugin) Version() uint32 { return pluginVersion }

func (plugin) New(docs []index.Document) (api.Segment, uint64, error) {
	s, err := buildSegment(docs)
	if err != nil {
		return nil, 0, err
	}
	return memorySegment{s}, uint64(len(s.data)), nil
}

func (p plugin) NewUsing(docs []index.Document, _ map[string]any) (api.Segment, uint64, error) {
	return p.New(docs)
}

func (plugin) Open(path string) (api.Segment, error) { return openSegment(path) }

func (plugin) OpenUsing(path string, _ map[string]any) (api.Segment, error) { return openSegment(path) }

func (plugin) Merge(segments []api.Segment, drops []*roaring.Bitmap, path string, closed chan struct{}, s api.StatsReporter) ([][]uint64, uint64, error) {
	return mergeSegments(segments, drops, path, closed, s)
}

func (p plugin) MergeUsing(segments []api.Segment, drops []*roaring.Bitmap, path string, closed chan struct{}, s api.StatsReporter, _ map[string]any) ([][]uint64, uint64, error) {
	return p.Merge(segments, drops, path, closed, s)
}
