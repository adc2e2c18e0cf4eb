package checkout

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/embedding"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
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

// vectorsDirOf is where the vectors of an identity lie.
func vectorsDirOf(id embed.Identity) string {
	if id.Provider == embedding.BuiltinProvider {
		return vectorsDir
	}
	sum := sha256.Sum256([]byte(id.String()))
	return vectorsDir + "-" + hex.EncodeToString(sum[:6])
}

// openMeaning opens the vectors that answer searches: those of the model in use, if
// it still is what the user wants, else the builtin ones. It makes no request.
func (co *Checkout) openMeaning(ctx context.Context) (*embedding.Vectors, error) {
	c := co.Models.Choice(co.Record.Slug)
	text, err := co.State.Note(ctx, co.Record.Key, noteEmbedding)
	if err != nil {
		return nil, err
	}
	var n embeddingNote
	if text != "" && json.Unmarshal([]byte(text), &n) == nil && n.Spec == c.Spec() && c.Refused == nil && n.Identity.Dim > 0 {
		e := embed.Lazy(n.Identity, func(ctx context.Context) (embed.Embedder, error) { return co.Models.Open(ctx, c, &n.Identity) })
		return co.newMeaning(c.Spec(), e)
	}
	return co.newMeaning(embedding.BuiltinProvider, co.Models.Builtin)
}

// newMeaning opens the index of an embedder's vectors, or begins it.
func (co *Checkout) newMeaning(spec string, e embed.Embedder) (*embedding.Vectors, error) {
	id := e.Identity()
	m := &embedding.Vectors{Spec: spec, Identity: id, Embedder: e, Dir: filepath.Join(co.IndexDir(), vectorsDirOf(id))}
	_, overlap := co.cutting()
	var err error
	// What is embedded of a chunk is part of what its vector means.
	m.Index, err = co.openVectors(m.Dir, fmt.Sprintf("%s overlap=%d", id, overlap), id.Dim)
	return m, err
}

// removeStaleVectors deletes the vectors of models that are not in use.
func (co *Checkout) removeStaleVectors(m *embedding.Vectors) {
	found, err := filepath.Glob(filepath.Join(co.IndexDir(), vectorsDir+"*"))
	if err != nil {
		return
	}
	for _, dir := range found {
		if name := filepath.Base(dir); dir != m.Dir && (name == vectorsDir || strings.HasPrefix(name, vectorsDir+"-")) {
			if err := os.RemoveAll(dir); err != nil {
				co.Log.Warn("Vectors not removed", "err", err)
			}
		}
	}
}

// Searching is what searches use of m.
func (co *Checkout) Searching(m *embedding.Vectors) recall.Model {
	by := recall.Model{Vectors: m.Index, Embed: co.patient(m)}
	if _, fixed := co.Models.Config(co.Record.Slug).Embedding.FixedWeight(); m.Spec == embedding.BuiltinProvider && !fixed {
		return by // with the committed table
	}
	files, functions := co.weightsOf(context.Background(), m)
	by.Weights = &rank.Vectors{Whole: files.Weight, Part: functions.Weight}
	return by
}

// patient is the embedder of m for searches, which words can answer alone.
func (co *Checkout) patient(m *embedding.Vectors) embed.Embedder {
	if m.Spec == embedding.BuiltinProvider {
		return m.Embedder
	}
	return embedding.ForQueries(m.Embedder, func(err error) {
		if err == nil {
			co.Note(noteQueries, "")
			return
		}
		co.Note(noteQueries, fmt.Sprintf("searches go by words alone for now: %s: %v%s", m.Identity.Model, err, HintAfter(err)))
	})
}

// noteEmbedding is the note that names the model whose vectors answer, unless that
// is the builtin one.
const noteEmbedding = "embedding"

// embeddingNote is what it holds.
type embeddingNote struct {
	Spec     string         `json:"spec"`
	Identity embed.Identity `json:"identity"`
}

// A measuredWeight is what the vectors of a model were measured to be worth for one
// kind of results.
type measuredWeight struct {
	Weight float64 `json:"weight"`
	Why    string  `json:"why"`
	// Again is when it is measured again since there was too little to measure on;
	// zero for never.
	Again time.Time `json:"again,omitzero"`
}

// noteWeight is the note that holds the weights of a model on the checkout.
const noteWeight = "vector weight"

// measuredWeights is what it holds; nil for what was not measured yet.
type measuredWeights struct {
	Identity  string          `json:"identity"`
	Files     *measuredWeight `json:"files,omitempty"`
	Functions *measuredWeight `json:"functions,omitempty"`
}

// owed reports whether w, nil if nothing was measured, is to be measured.
func (w *measuredWeight) owed(now time.Time) bool {
	return w == nil || !w.Again.IsZero() && now.After(w.Again)
}

// knownWeights is what was measured of m on this checkout.
func (co *Checkout) knownWeights(ctx context.Context, m *embedding.Vectors) measuredWeights {
	var n measuredWeights
	text, err := co.State.Note(ctx, co.Record.Key, noteWeight)
	if err != nil || text == "" || json.Unmarshal([]byte(text), &n) != nil || n.Identity != m.Identity.String() {
		return measuredWeights{Identity: m.Identity.String()}
	}
	return n
}

// weightsOf returns how much the vectors of m count in a search for files and in one
// for functions, and why: what the user decided, else what was measured, else
// nothing. Those of the builtin embedder have the committed weights.
func (co *Checkout) weightsOf(ctx context.Context, m *embedding.Vectors) (files, functions measuredWeight) {
	if w, fixed := co.Models.Config(co.Record.Slug).Embedding.FixedWeight(); fixed {
		set := measuredWeight{Weight: w, Why: "set by embedding.weight"}
		return set, set
	}
	if m.Spec == embedding.BuiltinProvider {
		v := rank.DefaultWeights().Vectors()
		const why = "the default, as measured on the development sets"
		return measuredWeight{Weight: v.Whole, Why: why}, measuredWeight{Weight: v.Part, Why: why}
	}
	n, none := co.knownWeights(ctx, m), &measuredWeight{Why: "not measured yet on this checkout; to decide it: embedding.weight in config.toml"}
	return *cmp.Or(n.Files, none), *cmp.Or(n.Functions, none)
}

// Subjects of notices about embeddings.
const (
	noteQueries = "embedding of queries"
	noteModel   = "embedding model"
)

// What lies in a checkout's index directory beside index.db.
const (
	wordsDir   = "text.bleve"
	vectorsDir = "vectors"
)
