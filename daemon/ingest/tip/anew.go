package tip

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/daemon/ingest/describe"
	"github.com/foldwatch/foldwatch/daemon/ingest/progress"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const (
	anewFiles = 16  // described before one look whether a save waits
	anewMost  = 512 // and in one call
)

// anewNote says how far the work of a newer describer has come: its version, and
// the last memory that was looked at.
const anewNote = "described anew"

// OwesDescriptions reports whether descriptions in fold/ were made by an older
// describer than this one, see [Follower.DescribeAnew].
func (fo *Follower) OwesDescriptions() (bool, error) {
	if fo.Store == nil || fo.anew {
		return false, nil
	}
	version, described, err := fo.Store.Describer()
	if err != nil {
		return false, err
	}
	if version == "" && !described {
		err = fo.Store.SetDescriber(describe.Version)
		fo.anew = err == nil
		return false, err
	}
	fo.anew = versionOf(version) >= versionOf(describe.Version)
	return !fo.anew, nil
}

// versionOf is 0 for what is none.
func versionOf(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// DescribeAnew describes files again that an older describer described, as they
// were: times stay, a file that would say the same is not written, and what a
// person wrote wins. What has no description of ours to compare with is another
// machine's and stays. It does a part of the work, less if waits, which may be
// nil, says that something waits, and reports whether more is left.
func (fo *Follower) DescribeAnew(ctx context.Context, waits func() bool, tell progress.Func) (r progress.Report, more bool, err error) {
	if owed, err := fo.OwesDescriptions(); err != nil || !owed {
		return r, false, err
	}
	described, _, err := fo.index.DescribedPaths(ctx)
	if err != nil {
		return r, false, err
	}
	note, err := fo.State.Note(ctx, fo.Key, anewNote)
	if err != nil {
		return r, false, err
	}
	version, last, _ := strings.Cut(note, " ")
	if version != describe.Version {
		last = ""
	}
	t, err := fo.tip(ctx, "", DescribeOptions{Full: true})
	if err != nil {
		return r, false, err
	}
	var todo []fold.ID
	for id, p := range described {
		if _, ok := t.blobs[p]; ok && string(id) > last && id == fold.FileID(fo.Slug, p) {
			todo = append(todo, id)
		}
	}
	slices.SortFunc(todo, func(a, b fold.ID) int { return cmp.Compare(a, b) })
	if len(todo) > 0 {
		fo.nameFiles(ctx, t)
	}
	for done := 0; done < len(todo); {
		part := todo[done:min(done+anewFiles, len(todo))]
		paths := make([]string, len(part))
		for i, id := range part {
			paths[i] = described[id]
		}
		if err := fo.describeSomeAnew(ctx, t, paths, &r); err != nil {
			return r, false, fmt.Errorf("describe anew: %w", err)
		}
		done += len(part)
		tell.Tell(progress.Step{Stage: progress.StageDescribing, Done: done, Total: len(todo)})
		if err := fo.State.SetNote(ctx, fo.Key, anewNote, describe.Version+" "+string(part[len(part)-1])); err != nil {
			return r, false, err
		}
		if done < len(todo) && (done >= anewMost || waits != nil && waits()) {
			return r, true, nil
		}
	}
	if err := fo.Store.SetDescriber(describe.Version); err != nil {
		return r, false, err
	}
	fo.anew = true
	return r, false, fo.State.SetNote(ctx, fo.Key, anewNote, "")
}

// describeSomeAnew is DescribeAnew for the files at paths.
func (fo *Follower) describeSomeAnew(ctx context.Context, t *tree, paths []string, r *progress.Report) error {
	for range 3 { // somebody may write between our read and our put
		var writes []gitops.Write
		sources := map[string]string{} // by memory file
		err := fo.eachSource(ctx, t, paths, func(p string, src []byte, blob string, when time.Time) error {
			w, err := fo.anewWrite(ctx, t, p, src, blob, when)
			if err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			if w != nil {
				writes, sources[w.Path] = append(writes, *w), p
			}
			return nil
		})
		fo.Reader.Flush(ctx)
		if err != nil || len(writes) == 0 {
			return err
		}
		n, skipped, err := fo.Store.PutMany(ctx, writes)
		fo.Count.Described.Add(int64(n))
		if err != nil {
			return err
		}
		files := make([]string, 0, len(writes))
		for _, w := range writes {
			files = append(files, w.Path)
		}
		f, err := fo.Indexer.Fold(ctx, files, nil)
		r.Add(f)
		if err != nil || len(skipped) == 0 {
			return err
		}
		paths = nil
		for _, f := range skipped {
			paths = append(paths, sources[f])
		}
	}
	return nil
}

// anewWrite returns what describing one file again changes, nil if nothing.
func (fo *Follower) anewWrite(ctx context.Context, t *tree, p string, src []byte, blob string, when time.Time) (*gitops.Write, error) {
	m, b, err := fo.onDisk(fold.FileID(fo.Slug, p))
	if err != nil || m == nil || m.Source != fold.SourceFile || m.SourceBlob != blob {
		return nil, ignoreQuarantined(err)
	}
	kept, err := fo.keptDescription(ctx, m)
	if err != nil || kept == nil {
		return nil, err
	}
	was, err := fold.Decode(fo.Slug, m.Path, kept)
	if err != nil {
		return nil, ignoreQuarantined(err)
	}
	now, err := fo.describeAs(ctx, t, p, src, blob, when)
	if err != nil || now == nil {
		return nil, err
	}
	now.CreatedAt, now.UpdatedAt, now.MovedFrom = was.CreatedAt, was.UpdatedAt, was.MovedFrom
	text := t.encode(now)
	if bytes.Equal(text, kept) {
		return nil, nil
	}
	merged, err := fold.Merge3(kept, b, text, fold.MergeOptions{Project: fo.Slug, Path: m.Path, Now: fo.Now(), Redescribed: true})
	if err != nil || merged.Deleted {
		return nil, err
	}
	return &gitops.Write{ID: m.ID, Path: m.Path, Base: b, New: merged.Bytes, Described: text}, nil
}
