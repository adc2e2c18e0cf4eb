package tip

import (
	"context"
	"errors"
	"strings"

	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// keptByHand reports whether m is what stayed of the description of path when
// its source went, because it holds a person's words.
func keptByHand(m *fold.Memory, path string) bool {
	return m.Source != fold.SourceFile && m.FilePath == "" && m.MovedFrom == path
}

// reclaimed is a memory that was kept by hand, as the description now of the
// source that is back, with the person's words.
func (fo *Follower) reclaimed(ctx context.Context, m *fold.Memory, b []byte, now *fold.Memory, t *tree) ([]byte, error) {
	theirs := t.encode(now)
	next, was := *m, *now
	base, err := fo.Store.LastDescribed(ctx, m.Path)
	switch {
	case errors.Is(err, fold.ErrNotFound):
		// What was ours in it is not known: all that the description does not say
		// is taken for a person's.
		base = theirs
		next.Body = withNotes(now.Body, m.Body)
	case err != nil:
		return nil, err
	default:
		d, err := fold.Decode(fo.Slug, m.Path, base)
		if err != nil {
			return nil, err
		}
		was = *d
	}
	if next.Type == "general" {
		next.Type = was.Type
	}
	next.Source, next.FilePath, next.SourceBlob, next.MovedFrom = was.Source, was.FilePath, was.SourceBlob, was.MovedFrom
	ours, err := fold.Update(b, m, &next, fo.titleOf(ctx))
	if err != nil {
		return nil, err
	}
	return fo.merge3(m.Path, base, ours, theirs)
}

// withNotes is body with the lines of old that it lacks as notes at its end.
func withNotes(body, old string) string {
	have := map[string]bool{"": true, "## Notes": true}
	under := "" // the last heading
	for line := range strings.Lines(body) {
		line = bareLine(line)
		if have[line] = true; strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## ") {
			under = line
		}
	}
	var rest strings.Builder
	for line := range strings.Lines(old) {
		if !have[bareLine(line)] {
			rest.WriteString(strings.TrimRight(line, "\r\n") + "\n")
		}
	}
	if rest.Len() == 0 {
		return body
	}
	body = strings.TrimRight(body, "\n") + "\n\n"
	if under != "## Notes" {
		body += "## Notes\n\n"
	}
	return body + rest.String()
}

// bareLine is a line as it is compared, also where a merge has put it into a
// callout.
func bareLine(line string) string {
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "> "))
}

// without is text less the lines that ours has.
func without(text, ours string) string {
	have := map[string]bool{}
	for line := range strings.Lines(ours) {
		have[bareLine(line)] = true
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !have[bareLine(line)] {
			out.WriteString(line)
		}
	}
	return out.String()
}

// reclaim describes a source that is back in the memory that was kept of it.
func (fo *Follower) reclaim(ctx context.Context, t *tree, p string, m *fold.Memory, b []byte) error {
	return fo.describeOne(ctx, t, p, func(now *fold.Memory) error {
		merged, err := fo.reclaimed(ctx, m, b, now, t)
		if err != nil {
			return err
		}
		return fo.put(ctx, gitops.Write{ID: m.ID, Path: m.Path, Base: b, New: merged, Described: t.encode(now)})
	})
}

// moveOnto brings the words of a moved memory into the one that is at its new
// path already; words is nil if it holds none but ours. It reports whether they
// are there now.
func (fo *Follower) moveOnto(ctx context.Context, t *tree, now *fold.Memory, words []byte) (bool, error) {
	for range 3 { // somebody may write between our read and our put
		m, b, err := fo.onDisk(now.ID)
		if err != nil {
			return false, ignoreQuarantined(err) // not to be read: nothing can go into it
		}
		if m == nil {
			return false, nil // removed meanwhile
		}
		pure := t.encode(now)
		w := gitops.Write{ID: m.ID, Path: m.Path, Base: b, New: b}
		if keptByHand(m, now.FilePath) {
			if w.New, err = fo.reclaimed(ctx, m, b, now, t); err != nil {
				return false, err
			}
			w.Described = pure
		} else if kept, err := fo.keptDescription(ctx, m); err != nil {
			return false, err
		} else if kept != nil {
			if w.New, err = fo.merge3(m.Path, kept, b, pure); err != nil {
				return false, err
			}
			w.Described = pure
		}
		if words != nil {
			if w.New, err = fo.withWords(ctx, m.Path, pure, w.New, words); err != nil {
				return false, err
			}
		}
		err = fo.put(ctx, w)
		if !errors.Is(err, fold.ErrConflict) {
			return err == nil, err
		}
	}
	return false, nil
}

// withWords is the memory ours with what words has and the description pure has
// not. Where both have a person's words at one place both are kept: the merge
// of descriptions would keep the newer ones only.
func (fo *Follower) withWords(ctx context.Context, path string, pure, ours, words []byte) ([]byte, error) {
	both, err := fo.merge3(path, pure, ours, words)
	if err != nil {
		return nil, err
	}
	var m [4]*fold.Memory
	for i, b := range [][]byte{both, pure, ours, words} {
		if m[i], err = fold.Decode(fo.Slug, path, b); err != nil {
			return nil, err
		}
	}
	next := *m[0]
	next.Body = withNotes(next.Body, without(m[2].Body, m[1].Body))
	next.Body = withNotes(next.Body, without(m[3].Body, m[1].Body))
	return fold.Update(both, m[0], &next, fo.titleOf(ctx))
}
