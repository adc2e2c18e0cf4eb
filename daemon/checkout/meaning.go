package checkout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/daemon/embedding"

	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// noteEmbedding is the note that names the model whose vectors answer, unless that
// is the builtin one.
const noteEmbedding = "embedding"

// embeddingNote is what it holds.
type embeddingNote struct {
	Spec     string         `json:"spec"`
	Identity embed.Identity `json:"identity"`
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
	text, err := co.Shared.State.Note(ctx, co.Record.Key, noteEmbedding)
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

// use has searches and what is indexed from now on go to m.
func (st *Stores) use(co *Checkout, m *embedding.Vectors) {
	st.Ingest.Use(ingest.Target{Vectors: m.Index, Embed: m.Embedder})
	st.Recall.Use(co.Searching(m))
}

// Searching is what searches use of m.
func (co *Checkout) Searching(m *embedding.Vectors) recall.Meaning {
	by := recall.Meaning{Vectors: m.Index, Embed: co.patient(m)}
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

// Subjects of notices about embeddings.
const (
	noteQueries = "embedding of queries"
	noteModel   = "embedding model"
)

// doEmbed gives vectors to what changed, a part at a time, so that a save that
// comes meanwhile is not held up: first those that answer searches, then those of
// the model that the user wants instead.
func (co *Checkout) doEmbed(ctx context.Context, st *Stores) error {
	defer co.endProgress()
	want, m := co.Models.Choice(co.Record.Slug), st.Vectors.Serving()
	quick := m.Spec == embedding.BuiltinProvider && want.Spec() == embedding.BuiltinProvider
	if until := co.lateUntil(); !quick && !until.IsZero() {
		co.Add(work.Task{Kind: work.Embed, Priority: work.Later, At: until})
		return nil
	}
	bound, done := co.yielding(ctx, quick)
	defer done()
	more, err := co.embedInto(bound, st, m, co.watched())
	if !more && (err == nil || m.Spec != want.Spec() || want.Refused != nil) { // a model that does not answer does not keep another from coming
		more, err = co.embedNext(bound, st, want, co.watched())
	}
	if quick {
		if err != nil {
			return err
		}
	} else if done, err := co.embedEnded(ctx, bound, err); done || err != nil {
		return err
	}
	if more {
		co.Add(work.Task{Kind: work.Embed, Priority: work.Later})
		return nil
	}
	co.measureLater(ctx, st)
	return co.consolidateLater(ctx, st)
}

// embedEnded tells how asking a model ended. After a failure that is not ours
// vectors pause, longer each time, and the job is done: a provider may be away for
// days, and words find everything meanwhile.
func (co *Checkout) embedEnded(ctx, bound context.Context, err error) (done bool, _ error) {
	switch cause := context.Cause(bound); {
	case err != nil && errors.Is(cause, errHurried):
		co.Add(work.Task{Kind: work.Embed, Priority: work.Soon})
		return true, nil
	case errors.Is(cause, errYield):
		err = errYield
	}
	if err != nil && !errors.Is(err, fold.ErrUnavailable) && !errors.Is(err, fold.ErrForbidden) && !errors.Is(err, fold.ErrNotFound) && !errors.Is(err, fold.ErrInvalid) {
		return true, err
	}
	if err == nil {
		co.Update(func(c *Condition) { c.model.End() })
		return false, nil
	}
	var wait time.Duration
	co.Update(func(c *Condition) { wait = c.model.Failed(time.Now()) })
	co.Note(noteModel, fmt.Sprintf("vectors are late, words find everything: %v%s", err, HintAfter(err)))
	co.Log.InfoContext(ctx, "Vectors pause", "err", err, "wait", wait)
	co.Add(work.Task{Kind: work.Embed, Priority: work.Later, At: time.Now().Add(wait)})
	return true, nil
}

// lateUntil returns when the pause of a model ends, zero if there is none.
func (co *Checkout) lateUntil() (until time.Time) {
	co.Update(func(c *Condition) {
		if time.Now().Before(c.model.Until) {
			until = c.model.Until
		}
	})
	return until
}

// Hurry ends the pause of a model, and what it is asked for now: the user mended it,
// or wants another one, or took back what was allowed.
func (co *Checkout) Hurry() {
	var end context.CancelCauseFunc
	co.Update(func(c *Condition) {
		c.model.End()
		end = c.model.Asking
	})
	if end != nil {
		end(errHurried)
	}
}

// embedInto brings the vectors of m up to the database, a part of it.
func (co *Checkout) embedInto(ctx context.Context, st *Stores, m *embedding.Vectors, progress ingest.Progress) (more bool, err error) {
	left, err := st.Index.CountChanged(ctx, m.Index.Seq())
	if err != nil {
		return false, err
	}
	before := co.embedded(0)
	more, err = st.Ingest.EmbedInto(ctx, ingest.Target{Vectors: m.Index, Embed: m.Embedder}, co.Busy, func(s ingest.Step) {
		s.Done, s.Total = before+s.Done, before+left
		progress(s)
	})
	if err != nil {
		return false, err
	}
	if !more {
		co.embedded(-before)
	} else if rest, err := st.Index.CountChanged(ctx, m.Index.Seq()); err == nil {
		co.embedded(left - rest)
	}
	// Not after each save: it is as large as all vectors together.
	m.Index.SnapshotWithin(snapshotAfter)
	return more, nil
}

// embedNext builds the vectors of the model that the user wants, if those of
// another answer, and has them answer when they are complete.
func (co *Checkout) embedNext(ctx context.Context, st *Stores, want embedding.Choice, progress ingest.Progress) (more bool, err error) {
	m, next := st.Vectors.Serving(), st.Vectors.Building()
	refused := co.tellRefused(want)
	if refused {
		// What was allowed before is not any more: its vectors cannot be asked.
		want = embedding.Choice{Slug: want.Slug, Name: embedding.BuiltinProvider}
	}
	if next != nil && next.Spec != want.Spec() {
		co.abandon(st, next)
		next = nil
	}
	if m.Spec == want.Spec() {
		if !refused {
			co.Note(noteModel, "")
		}
		return false, nil
	}
	if next == nil {
		e, err := co.Models.Open(ctx, want, nil)
		if err != nil {
			return false, err
		}
		if e.Identity() == m.Identity { // chosen in other words
			return false, co.adopt(ctx, st, &embedding.Vectors{Spec: want.Spec(), Identity: m.Identity, Embedder: e, Index: m.Index, Dir: m.Dir})
		}
		if next, err = co.newMeaning(want.Spec(), e); err != nil {
			return false, err
		}
		st.Vectors.Build(next)
	}
	if more, err = co.embedInto(ctx, st, next, progress); err != nil || more {
		return more, err
	}
	if !refused {
		co.Note(noteModel, "")
	}
	return false, co.adopt(ctx, st, next)
}

// tellRefused says why the model that the user chose is not used, if it is not.
func (co *Checkout) tellRefused(c embedding.Choice) bool {
	if c.Refused == nil {
		return false
	}
	co.Note(noteModel, fmt.Sprintf("%s %s is chosen and not used: %v%s", c.Name, c.Model, c.Refused, HintAfter(c.Refused)))
	return true
}

// adopt has m answer from now on. The vectors that did are deleted when nothing
// can be at them any more: at the next opening.
func (co *Checkout) adopt(ctx context.Context, st *Stores, m *embedding.Vectors) error {
	if err := m.Index.Snapshot(); err != nil {
		return err
	}
	note := ""
	if m.Spec != embedding.BuiltinProvider {
		b, err := json.Marshal(embeddingNote{m.Spec, m.Identity})
		if err != nil {
			return err
		}
		note = string(b)
	}
	if err := co.Shared.State.SetNote(ctx, co.Record.Key, noteEmbedding, note); err != nil {
		return err
	}
	old := st.Vectors.Serve(m)
	st.use(co, m)
	co.Note(noteQueries, "")
	co.Log.InfoContext(ctx, "Vectors replaced", "embedder", m.Identity.String(), "before", old.Identity.String())
	return nil
}

// abandon gives up vectors that were being made for a model nobody wants any more.
// What was computed stays in the cache.
func (co *Checkout) abandon(st *Stores, m *embedding.Vectors) {
	st.Vectors.Build(nil)
	if err := errors.Join(m.Index.Close(), os.RemoveAll(m.Dir)); err != nil {
		co.Log.Warn("Vectors not removed", "err", err)
	}
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

// wantsVectors reports whether there are vectors to be made.
func (co *Checkout) wantsVectors(ctx context.Context, st *Stores) (bool, error) {
	m := st.Vectors.Serving()
	if co.Models.Choice(co.Record.Slug).Spec() != m.Spec {
		return true, nil
	}
	seq, err := st.Index.Seq(ctx)
	return seq > m.Index.Seq(), err
}

// errYield says that a model took long while something waited.
var errYield = fmt.Errorf("the model took long while a save waited: %w", fold.ErrUnavailable)

// errHurried says that what a model was asked for is to be asked again: for as the
// user wants it now.
var errHurried = errors.New("the user decided anew")

// How often it is looked whether something waits for a model, and how long it may.
const (
	yieldLook = 100 * time.Millisecond
	yieldMost = 1500 * time.Millisecond
)

// yielding returns a context that ends when a save has waited too long for the
// model: a provider that hangs must not keep words from being indexed; or when the
// user decides anew. The builtin embedder is quick.
func (co *Checkout) yielding(ctx context.Context, quick bool) (context.Context, func()) {
	if quick {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	co.setAsking(cancel)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(yieldLook)
		defer tick.Stop()
		for waited := time.Duration(0); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if !co.Busy() {
				waited = 0
				continue
			}
			if waited += yieldLook; waited >= yieldMost {
				cancel(errYield)
				return
			}
		}
	}()
	return ctx, func() {
		co.setAsking(nil)
		cancel(nil)
		<-ended
	}
}

func (co *Checkout) setAsking(end context.CancelCauseFunc) {
	co.Update(func(c *Condition) { c.model.Asking = end })
}
