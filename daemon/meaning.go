package daemon

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

	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/rank"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// A meaning is an index of vectors with the embedder they are from. A checkout has
// one that answers; when the user chooses another model, a second one is built
// beside it and takes its place when it is complete.
type meaning struct {
	spec     string // of the choice it was made for
	identity embed.Identity
	embedder embed.Embedder
	vectors  *vecindex.Index
	dir      string
}

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
	if id.Provider == builtinProvider {
		return vectorsDir
	}
	sum := sha256.Sum256([]byte(id.String()))
	return vectorsDir + "-" + hex.EncodeToString(sum[:6])
}

// openMeaning opens the vectors that answer searches: those of the model in use, if
// it still is what the user wants, else the builtin ones. It makes no request.
func (co *checkout) openMeaning(ctx context.Context) (*meaning, error) {
	c := co.embedders.choice(co.rec.Slug)
	text, err := co.parts.state.Note(ctx, co.rec.Key, noteEmbedding)
	if err != nil {
		return nil, err
	}
	var n embeddingNote
	if text != "" && json.Unmarshal([]byte(text), &n) == nil && n.Spec == c.spec() && c.refused == nil && n.Identity.Dim > 0 {
		e := embed.Lazy(n.Identity, func(ctx context.Context) (embed.Embedder, error) { return co.embedders.open(ctx, c, &n.Identity) })
		return co.newMeaning(c.spec(), e)
	}
	return co.newMeaning(builtinProvider, co.embedders.builtin)
}

// newMeaning opens the index of an embedder's vectors, or begins it.
func (co *checkout) newMeaning(spec string, e embed.Embedder) (*meaning, error) {
	id := e.Identity()
	m := &meaning{spec: spec, identity: id, embedder: e, dir: filepath.Join(co.indexDir(), vectorsDirOf(id))}
	_, overlap := co.cutting()
	var err error
	// What is embedded of a chunk is part of what its vector means.
	m.vectors, err = co.openVectors(m.dir, fmt.Sprintf("%s overlap=%d", id, overlap), id.Dim)
	return m, err
}

// serves returns the vectors that answer searches now.
func (st *stores) serves() *meaning {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.meaning
}

// building returns the vectors that are being made beside them, nil if none are.
func (st *stores) building() *meaning {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.next
}

func (st *stores) build(m *meaning) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.next = m
}

// use has searches and what is indexed from now on go to m.
func (st *stores) use(co *checkout, m *meaning) {
	st.in.Use(ingest.Target{Vectors: m.vectors, Embed: m.embedder})
	st.recall.Use(co.searching(m))
}

// searching is what searches use of m.
func (co *checkout) searching(m *meaning) recall.Meaning {
	by := recall.Meaning{Vectors: m.vectors, Embed: co.patient(m)}
	if _, fixed := co.embedders.config(co.rec.Slug).Embedding.FixedWeight(); m.spec == builtinProvider && !fixed {
		return by // with the committed table
	}
	files, functions := co.weightsOf(context.Background(), m)
	by.Weights = &rank.Vectors{Whole: files.Weight, Part: functions.Weight}
	return by
}

// patient is the embedder of m for searches, which words can answer alone.
func (co *checkout) patient(m *meaning) embed.Embedder {
	if m.spec == builtinProvider {
		return m.embedder
	}
	return patient{m.embedder, queryPatience, func(err error) {
		if err == nil {
			co.note(noteQueries, "")
			return
		}
		co.note(noteQueries, fmt.Sprintf("searches go by words alone for now: %s: %v%s", m.identity.Model, err, hintAfter(err)))
	}}
}

// Subjects of notices about embeddings.
const (
	noteQueries = "embedding of queries"
	noteModel   = "embedding model"
)

// closeMeanings closes all vectors, those that were replaced too: searches that
// had begun may have been at them.
func (st *stores) closeMeanings() error {
	st.mu.Lock()
	all := append(st.retired, st.meaning, st.next)
	st.meaning, st.next, st.retired = nil, nil, nil
	st.mu.Unlock()
	var errs []error
	for _, m := range all {
		if m != nil && m.vectors != nil {
			errs = append(errs, m.vectors.Close())
		}
	}
	return errors.Join(errs...)
}

// doEmbed gives vectors to what changed, a part at a time, so that a save that
// comes meanwhile is not held up: first those that answer searches, then those of
// the model that the user wants instead.
func (co *checkout) doEmbed(ctx context.Context, st *stores) error {
	defer co.endProgress()
	want, m := co.embedders.choice(co.rec.Slug), st.serves()
	quick := m.spec == builtinProvider && want.spec() == builtinProvider
	if until := co.lateUntil(); !quick && !until.IsZero() {
		co.add(work.Task{Kind: work.Embed, Priority: work.Later, At: until})
		return nil
	}
	bound, done := co.yielding(ctx, quick)
	defer done()
	more, err := co.embedInto(bound, st, m, co.watched())
	if !more && (err == nil || m.spec != want.spec() || want.refused != nil) { // a model that does not answer does not keep another from coming
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
		co.add(work.Task{Kind: work.Embed, Priority: work.Later})
		return nil
	}
	co.measureLater(ctx, st)
	return co.consolidateLater(ctx, st)
}

// embedEnded tells how asking a model ended. After a failure that is not ours
// vectors pause, longer each time, and the job is done: a provider may be away for
// days, and words find everything meanwhile.
func (co *checkout) embedEnded(ctx, bound context.Context, err error) (done bool, _ error) {
	switch cause := context.Cause(bound); {
	case err != nil && errors.Is(cause, errHurried):
		co.add(work.Task{Kind: work.Embed, Priority: work.Soon})
		return true, nil
	case errors.Is(cause, errYield):
		err = errYield
	}
	if err != nil && !errors.Is(err, fold.ErrUnavailable) && !errors.Is(err, fold.ErrForbidden) && !errors.Is(err, fold.ErrNotFound) && !errors.Is(err, fold.ErrInvalid) {
		return true, err
	}
	if err == nil {
		co.update(func(c *condition) { c.model.end() })
		return false, nil
	}
	var wait time.Duration
	co.update(func(c *condition) { wait = c.model.failed(time.Now()) })
	co.note(noteModel, fmt.Sprintf("vectors are late, words find everything: %v%s", err, hintAfter(err)))
	co.log.InfoContext(ctx, "Vectors pause", "err", err, "wait", wait)
	co.add(work.Task{Kind: work.Embed, Priority: work.Later, At: time.Now().Add(wait)})
	return true, nil
}

// A modelPause is how long a model that failed is left alone, and how to end what it is
// asked for now. It has neither clock nor lock.
type modelPause struct {
	failures int                     // in a row
	until    time.Time               // zero if there is no pause
	asking   context.CancelCauseFunc // nil if nothing is asked for
}

// failed begins a pause, longer with each failure, and returns how long it is.
func (p *modelPause) failed(now time.Time) time.Duration {
	p.failures++
	wait := min(firstLate<<min(p.failures-1, 20), mostLate)
	p.until = now.Add(wait)
	return wait
}

func (p *modelPause) end() { p.failures, p.until = 0, time.Time{} }

const (
	firstLate = 5 * time.Second
	mostLate  = 15 * time.Minute
)

// lateUntil returns when the pause of a model ends, zero if there is none.
func (co *checkout) lateUntil() (until time.Time) {
	co.update(func(c *condition) {
		if time.Now().Before(c.model.until) {
			until = c.model.until
		}
	})
	return until
}

// hurry ends the pause of a model, and what it is asked for now: the user mended it,
// or wants another one, or took back what was allowed.
func (co *checkout) hurry() {
	var end context.CancelCauseFunc
	co.update(func(c *condition) {
		c.model.end()
		end = c.model.asking
	})
	if end != nil {
		end(errHurried)
	}
}

// embedInto brings the vectors of m up to the database, a part of it.
func (co *checkout) embedInto(ctx context.Context, st *stores, m *meaning, progress ingest.Progress) (more bool, err error) {
	left, err := st.index.CountChanged(ctx, m.vectors.Seq())
	if err != nil {
		return false, err
	}
	before := co.embedded(0)
	more, err = st.in.EmbedInto(ctx, ingest.Target{Vectors: m.vectors, Embed: m.embedder}, co.busy, func(s ingest.Step) {
		s.Done, s.Total = before+s.Done, before+left
		progress(s)
	})
	if err != nil {
		return false, err
	}
	if !more {
		co.embedded(-before)
	} else if rest, err := st.index.CountChanged(ctx, m.vectors.Seq()); err == nil {
		co.embedded(left - rest)
	}
	// Not after each save: it is as large as all vectors together.
	m.vectors.SnapshotWithin(snapshotAfter)
	return more, nil
}

// embedNext builds the vectors of the model that the user wants, if those of
// another answer, and has them answer when they are complete.
func (co *checkout) embedNext(ctx context.Context, st *stores, want choice, progress ingest.Progress) (more bool, err error) {
	m, next := st.serves(), st.building()
	refused := co.tellRefused(want)
	if refused {
		// What was allowed before is not any more: its vectors cannot be asked.
		want = choice{slug: want.slug, name: builtinProvider}
	}
	if next != nil && next.spec != want.spec() {
		co.abandon(st, next)
		next = nil
	}
	if m.spec == want.spec() {
		if !refused {
			co.note(noteModel, "")
		}
		return false, nil
	}
	if next == nil {
		e, err := co.embedders.open(ctx, want, nil)
		if err != nil {
			return false, err
		}
		if e.Identity() == m.identity { // chosen in other words
			return false, co.adopt(ctx, st, &meaning{spec: want.spec(), identity: m.identity, embedder: e, vectors: m.vectors, dir: m.dir})
		}
		if next, err = co.newMeaning(want.spec(), e); err != nil {
			return false, err
		}
		st.build(next)
	}
	if more, err = co.embedInto(ctx, st, next, progress); err != nil || more {
		return more, err
	}
	if !refused {
		co.note(noteModel, "")
	}
	return false, co.adopt(ctx, st, next)
}

// tellRefused says why the model that the user chose is not used, if it is not.
func (co *checkout) tellRefused(c choice) bool {
	if c.refused == nil {
		return false
	}
	co.note(noteModel, fmt.Sprintf("%s %s is chosen and not used: %v%s", c.name, c.model, c.refused, hintAfter(c.refused)))
	return true
}

// adopt has m answer from now on. The vectors that did are deleted when nothing
// can be at them any more: at the next opening.
func (co *checkout) adopt(ctx context.Context, st *stores, m *meaning) error {
	if err := m.vectors.Snapshot(); err != nil {
		return err
	}
	note := ""
	if m.spec != builtinProvider {
		b, err := json.Marshal(embeddingNote{m.spec, m.identity})
		if err != nil {
			return err
		}
		note = string(b)
	}
	if err := co.parts.state.SetNote(ctx, co.rec.Key, noteEmbedding, note); err != nil {
		return err
	}
	st.mu.Lock()
	old := st.meaning
	if old.vectors != m.vectors {
		st.retired = append(st.retired, old)
	}
	st.meaning, st.next = m, nil
	st.mu.Unlock()
	st.use(co, m)
	co.note(noteQueries, "")
	co.log.InfoContext(ctx, "Vectors replaced", "embedder", m.identity.String(), "before", old.identity.String())
	return nil
}

// abandon gives up vectors that were being made for a model nobody wants any more.
// What was computed stays in the cache.
func (co *checkout) abandon(st *stores, m *meaning) {
	st.build(nil)
	if err := errors.Join(m.vectors.Close(), os.RemoveAll(m.dir)); err != nil {
		co.log.Warn("Vectors not removed", "err", err)
	}
}

// removeStaleVectors deletes the vectors of models that are not in use.
func (co *checkout) removeStaleVectors(m *meaning) {
	found, err := filepath.Glob(filepath.Join(co.indexDir(), vectorsDir+"*"))
	if err != nil {
		return
	}
	for _, dir := range found {
		if name := filepath.Base(dir); dir != m.dir && (name == vectorsDir || strings.HasPrefix(name, vectorsDir+"-")) {
			if err := os.RemoveAll(dir); err != nil {
				co.log.Warn("Vectors not removed", "err", err)
			}
		}
	}
}

// wantsVectors reports whether there are vectors to be made.
func (co *checkout) wantsVectors(ctx context.Context, st *stores) (bool, error) {
	m := st.serves()
	if co.embedders.choice(co.rec.Slug).spec() != m.spec {
		return true, nil
	}
	seq, err := st.index.Seq(ctx)
	return seq > m.vectors.Seq(), err
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
func (co *checkout) yielding(ctx context.Context, quick bool) (context.Context, func()) {
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
			if !co.busy() {
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

func (co *checkout) setAsking(end context.CancelCauseFunc) {
	co.update(func(c *condition) { c.model.asking = end })
}
