package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/foldwatch/foldwatch/daemon/embedding"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/daemon/remember"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/textindex"
)

// openDerived opens what can be made again. What is damaged or missing is begun
// anew, and the sweep that follows fills it.
func openDerived(ctx context.Context, co *Checkout) (_ *Stores, err error) {
	st := &Stores{}
	defer func() {
		if err != nil {
			err = errors.Join(err, st.close())
		}
	}()
	dir := co.IndexDir()
	remove := func(path string) func() error { return func() error { return os.RemoveAll(path) } }
	if err := guarded(dir, "index", co.Log, remove(dir), func() (err error) {
		st.Index, err = index.Open(ctx, dir)
		return err
	}); err != nil {
		return st, err
	}
	if err := matchGeneration(ctx, co, st.Index.Generation, dir); err != nil {
		return st, err
	}
	cut, _ := co.cutting()
	if _, err := st.Index.SetChunkRules(ctx, ingest.IndexRules(cut)); err != nil {
		return st, err
	}
	words, vectors := filepath.Join(dir, wordsDir), filepath.Join(dir, vectorsDir)
	if err := guarded(dir, "words", co.Log, remove(words), func() (err error) {
		st.Text, err = textindex.Open(words, textindex.Options{Log: co.Log})
		return err
	}); err != nil {
		return st, err
	}
	if err := guarded(dir, "vectors", co.Log, remove(vectors), func() (err error) {
		m, err := co.openMeaning(ctx)
		if err == nil {
			st.Vectors.Serve(m)
		}
		return err
	}); err != nil {
		return st, err
	}
	co.removeStaleVectors(st.Vectors.Serving())
	co.noteRebuilt(st)
	return st, nil
}

func (co *Checkout) noteRebuilt(st *Stores) {
	for name, why := range map[string]string{"index": st.Index.Rebuilt, "words": st.Text.Rebuilt, "vectors": st.Vectors.Serving().Index.Rebuilt} {
		if why != "" {
			co.Note("rebuilt "+name, fmt.Sprintf("%s rebuilt from the files: %s", name, why))
		}
	}
}

// matchGeneration begins words and vectors anew where they were fed from a
// database that is gone.
func matchGeneration(ctx context.Context, co *Checkout, generation, dir string) error {
	fed, err := co.State.Note(ctx, co.Record.Key, "generation")
	if err != nil || fed == generation {
		return err
	}
	stale, err := filepath.Glob(filepath.Join(dir, vectorsDir+"-*"))
	if err != nil {
		return err
	}
	for _, path := range append(stale, filepath.Join(dir, wordsDir), filepath.Join(dir, vectorsDir)) {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return co.State.SetNote(ctx, co.Record.Key, "generation", generation)
}

// attach gives the stores to the rest of the checkout and opens the services on them.
func (st *Stores) attach(co *Checkout, k *RepoHandle) {
	st.RepoHandle = k
	k.Ingest.Attach(st.Index, st.Text)
	cfg, m := co.Config.For(co.Record.Slug), st.Vectors.Serving()
	st.Recall = recall.New(recall.Options{
		Slug: co.Record.Slug, Index: st.Index, Text: st.Text, Vectors: m.Index, State: co.State, Embed: m.Embedder,
		Fold: k.fold, Lexicon: co.Lexicon.Table(), Source: k.Ingest.ReadSource, SourceParts: k.Ingest.ReadParts, Allowed: co.allowed, StrengthWeight: co.weight, Compared: &co.Count.compared, TouchOnSearch: cfg.TouchOnSearch, Fusion: cfg.Fusion, Now: co.Now,
		HalfLife: func() time.Duration { return time.Duration(co.Algorithm().DecayHalfLifeDays * 24 * float64(time.Hour)) },
	})
	st.use(co, m)
	st.Writes = remember.New(remember.Options{
		Slug: co.Record.Slug, Store: k.Store.Store, Index: st.Index, State: co.State,
		Describe: k.Ingest.DescribeOne, Keywords: describe.Keywords, AllowSecret: co.allow, Allowed: co.allowed, Now: co.Now,
	})
}

// use has searches and what is indexed from now on go to m.
func (st *Stores) use(co *Checkout, m *embedding.Vectors) {
	st.Ingest.Use(ingest.Target{Vectors: m.Index, Embed: m.Embedder})
	st.Recall.Use(co.Searching(m))
}
