package checkout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/foldwatch/foldwatch/daemon/embedding"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// doEmbed gives vectors to what changed, a part at a time, so that a save that
// comes meanwhile is not held up: first those that answer searches, then those of
// the model that the user wants instead.
func (w worker) doEmbed(ctx context.Context, st *Stores) error {
	defer w.endProgress()
	want, m := w.Models.Choice(w.Record.Slug), st.Vectors.Serving()
	quick := m.Spec == embedding.BuiltinProvider && want.Spec() == embedding.BuiltinProvider
	if until := w.lateUntil(); !quick && !until.IsZero() {
		w.Add(work.Task{Kind: work.Embed, Priority: work.Later, At: until})
		return nil
	}
	bound, done := w.yielding(ctx, quick)
	defer done()
	more, err := w.embedInto(bound, st, m, w.watched())
	if !more && (err == nil || m.Spec != want.Spec() || want.Refused != nil) { // a model that does not answer does not keep another from coming
		more, err = w.embedNext(bound, st, want, w.watched())
	}
	if quick {
		if err != nil {
			return err
		}
	} else if done, err := w.embedEnded(ctx, bound, err); done || err != nil {
		return err
	}
	if more {
		w.Add(work.Task{Kind: work.Embed, Priority: work.Later})
		return nil
	}
	w.measureLater(ctx, st)
	return w.consolidateLater(ctx, st)
}

// embedEnded tells how asking a model ended. After a failure that is not ours
// vectors pause, longer each time, and the job is done: a provider may be away for
// days, and words find everything meanwhile.
func (w worker) embedEnded(ctx, bound context.Context, err error) (done bool, _ error) {
	switch cause := context.Cause(bound); {
	case err != nil && errors.Is(cause, errHurried):
		w.Add(work.Task{Kind: work.Embed, Priority: work.Soon})
		return true, nil
	case errors.Is(cause, errYield):
		err = errYield
	}
	if err != nil && !errors.Is(err, fold.ErrUnavailable) && !errors.Is(err, fold.ErrForbidden) && !errors.Is(err, fold.ErrNotFound) && !errors.Is(err, fold.ErrInvalid) {
		return true, err
	}
	if err == nil {
		w.Update(func(c *Condition) { c.model.End() })
		return false, nil
	}
	var wait time.Duration
	w.Update(func(c *Condition) { wait = c.model.Failed(time.Now()) })
	w.Note(noteModel, fmt.Sprintf("vectors are late, words find everything: %v%s", err, HintAfter(err)))
	w.Log.InfoContext(ctx, "Vectors pause", "err", err, "wait", wait)
	w.Add(work.Task{Kind: work.Embed, Priority: work.Later, At: time.Now().Add(wait)})
	return true, nil
}

// lateUntil returns when the pause of a model ends, zero if there is none.
func (w worker) lateUntil() (until time.Time) {
	w.read(func(c *Condition) {
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
func (w worker) embedInto(ctx context.Context, st *Stores, m *embedding.Vectors, progress ingest.Progress) (more bool, err error) {
	left, err := st.Index.CountChanged(ctx, m.Index.Seq())
	if err != nil {
		return false, err
	}
	before := w.embedded(0)
	more, err = st.Ingest.EmbedInto(ctx, ingest.Target{Vectors: m.Index, Embed: m.Embedder}, w.Busy, func(s ingest.Step) {
		s.Done, s.Total = before+s.Done, before+left
		progress(s)
	})
	if err != nil {
		return false, err
	}
	if !more {
		w.embedded(-before)
	} else if rest, err := st.Index.CountChanged(ctx, m.Index.Seq()); err == nil {
		w.embedded(left - rest)
	}
	// Not after each save: it is as large as all vectors together.
	m.Index.SnapshotWithin(snapshotAfter)
	return more, nil
}

// embedNext builds the vectors of the model that the user wants, if those of
// another answer, and has them answer when they are complete.
func (w worker) embedNext(ctx context.Context, st *Stores, want embedding.Choice, progress ingest.Progress) (more bool, err error) {
	m, next := st.Vectors.Serving(), st.Vectors.Building()
	refused := w.tellRefused(want)
	if refused {
		// What was allowed before is not any more: its vectors cannot be asked.
		want = embedding.Choice{Slug: want.Slug, Name: embedding.BuiltinProvider}
	}
	if next != nil && next.Spec != want.Spec() {
		w.abandon(st, next)
		next = nil
	}
	if m.Spec == want.Spec() {
		if !refused {
			w.Note(noteModel, "")
		}
		return false, nil
	}
	if next == nil {
		e, err := w.Models.Open(ctx, want, nil)
		if err != nil {
			return false, err
		}
		if e.Identity() == m.Identity { // chosen in other words
			return false, w.adopt(ctx, st, &embedding.Vectors{Spec: want.Spec(), Identity: m.Identity, Embedder: e, Index: m.Index, Dir: m.Dir})
		}
		if next, err = w.newMeaning(want.Spec(), e); err != nil {
			return false, err
		}
		st.Vectors.Build(next)
	}
	if more, err = w.embedInto(ctx, st, next, progress); err != nil || more {
		return more, err
	}
	if !refused {
		w.Note(noteModel, "")
	}
	return false, w.adopt(ctx, st, next)
}

// tellRefused says why the model that the user chose is not used, if it is not.
func (w worker) tellRefused(c embedding.Choice) bool {
	if c.Refused == nil {
		return false
	}
	w.Note(noteModel, fmt.Sprintf("%s %s is chosen and not used: %v%s", c.Name, c.Model, c.Refused, HintAfter(c.Refused)))
	return true
}

// adopt has m answer from now on. The vectors that did are deleted when nothing
// can be at them any more: at the next opening.
func (w worker) adopt(ctx context.Context, st *Stores, m *embedding.Vectors) error {
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
	if err := w.State.SetNote(ctx, w.Record.Key, noteEmbedding, note); err != nil {
		return err
	}
	old := st.Vectors.Serve(m)
	st.use(w.Checkout, m)
	w.Note(noteQueries, "")
	w.Log.InfoContext(ctx, "Vectors replaced", "embedder", m.Identity.String(), "before", old.Identity.String())
	return nil
}

// abandon gives up vectors that were being made for a model nobody wants any more.
// What was computed stays in the cache.
func (w worker) abandon(st *Stores, m *embedding.Vectors) {
	st.Vectors.Build(nil)
	if err := errors.Join(m.Index.Close(), os.RemoveAll(m.Dir)); err != nil {
		w.Log.Warn("Vectors not removed", "err", err)
	}
}

// wantsVectors reports whether there are vectors to be made.
func (w worker) wantsVectors(ctx context.Context, st *Stores) (bool, error) {
	m := st.Vectors.Serving()
	if w.Models.Choice(w.Record.Slug).Spec() != m.Spec {
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
func (w worker) yielding(ctx context.Context, quick bool) (context.Context, func()) {
	if quick {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w.setAsking(cancel)
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
			if !w.Busy() {
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
		w.setAsking(nil)
		cancel(nil)
		<-ended
	}
}

func (w worker) setAsking(end context.CancelCauseFunc) {
	w.Update(func(c *Condition) { c.model.Asking = end })
}

// snapshotAfter is how much work a crash may cost the vectors.
const snapshotAfter = 2 * time.Minute
