package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/history"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// settle makes the replica what the merge says: working files, then the
// journal, then our references (G13). Done again it changes nothing more.
func (r *round) settle(ctx context.Context, m *merging, next plumbing.Hash) error {
	s := r.s
	if err := r.step("files"); err != nil {
		return err
	}
	held, err := r.apply(ctx, m, next)
	if err != nil {
		return err
	}
	if err := r.step("refs"); err != nil {
		return err
	}
	if err := s.lockCommit(); err != nil {
		return err
	}
	defer s.commit.Unlock()
	if err := r.moveRefs(ctx, next); err != nil {
		return err
	}
	r.out.Local = hashText(next)
	back := map[string]string{}
	for path, why := range m.back {
		back[path] = why.Error()
		r.aside(path, why)
	}
	if maps.Equal(held, r.notes.Held) && maps.Equal(back, r.notes.Back) && !r.out.Pushed && r.notes.Intent == nil {
		return nil
	}
	for path := range r.notes.Back {
		if _, still := back[path]; !still {
			s.noteSetAside(path, "")
		}
	}
	r.notes.Held, r.notes.Back, r.notes.Intent = held, back, nil
	return s.writeNotes(r.notes)
}

// moveRefs lets our branch name next. The caller holds commit.
func (r *round) moveRefs(ctx context.Context, next plumbing.Hash) error {
	s := r.s
	done, err := s.obj.Ref(refSquashed)
	if err != nil {
		return err
	}
	if done != r.from && !r.from.IsZero() {
		// Squashed meanwhile onto the branch as it was: next lacks that, so it is
		// to be squashed once more.
		if err := s.obj.SetRef(refSquashed, r.from); err != nil {
			return err
		}
	}
	if next != r.branch && !next.IsZero() {
		if err := s.obj.SetRef(refBranch, next); err != nil {
			return err
		}
	}
	return r.skipSquash(ctx, next)
}

// skipSquash notes that the branch holds the journal, if all that came to the
// journal since is what was just taken in. Else the next squash looks at all that
// the journal has had since.
func (r *round) skipSquash(ctx context.Context, next plumbing.Hash) error {
	s := r.s
	tip, err := s.start()
	if err != nil || tip == r.from {
		return err
	}
	was, err := s.obj.TreeOf(r.from)
	if err != nil {
		return err
	}
	is, err := s.obj.TreeOf(tip)
	if err != nil {
		return err
	}
	have, err := s.obj.TreeOf(next)
	if err != nil {
		return err
	}
	came, err := s.changesFrom(ctx, was, is)
	if err != nil {
		return err
	}
	differ, err := s.changesFrom(ctx, have, is)
	if err != nil {
		return err
	}
	for path := range differ {
		// What was taken in and taken back at once looks as if nothing had come.
		if _, ok := came[path]; ok || r.applied[path] {
			return nil
		}
	}
	return s.obj.SetRef(refSquashed, tip)
}

// apply changes the working files and the journal. It returns the files that
// could not be taken in, and why.
func (r *round) apply(ctx context.Context, m *merging, next plumbing.Hash) (held map[string]string, err error) {
	s := r.s
	held = map[string]string{}
	for path, why := range m.aside {
		r.aside(path, why)
	}
	take, err := r.withHeld(m.take, next)
	if err != nil || len(take) == 0 {
		return held, err
	}
	journal, err := s.obj.TreeOf(r.from)
	if err != nil {
		return nil, err
	}
	var ws []Write
	for _, path := range slices.Sorted(maps.Keys(take)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w, why, err := r.write(journal, path, take[path])
		switch {
		case err != nil:
			return nil, err
		case why != nil:
			held[path] = why.Error()
			r.aside(path, why)
		case w != nil:
			ws = append(ws, *w)
		}
	}
	if len(ws) == 0 {
		return held, nil
	}
	if err := s.unguarded(r.host); err != nil {
		return nil, err
	}
	done, failed, err := s.applyWrites(ctx, ws)
	for path, why := range failed {
		held[path] = why.Error()
		r.aside(path, why)
	}
	if r.applied == nil {
		r.applied = make(map[string]bool, len(done))
	}
	for _, path := range done {
		r.applied[path] = true
	}
	r.out.Paths = slices.Compact(slices.Sorted(slices.Values(append(r.out.Paths, done...))))
	if err != nil {
		return nil, err
	}
	for _, path := range done {
		if _, was := r.notes.Held[path]; was {
			s.noteSetAside(path, "")
		}
	}
	if err := r.step("journal"); err != nil {
		return nil, err
	}
	rec, err := s.commitNow(ctx, done, fmt.Sprintf(history.AppliedSubject+"%s from the remote", plural(len(done), "memory", "memories")))
	if err != nil {
		return nil, err
	}
	if rec.Guarded {
		return nil, guardedSync(r.host, rec.Reason)
	}
	return held, r.noteProject(take)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// aside tells of a file that did not enter.
func (r *round) aside(path string, why error) {
	r.out.Aside = append(r.out.Aside, SetAside{Path: path, Err: why})
	r.s.noteSetAside(path, why.Error())
}

// withHeld adds to take what earlier syncs could not take in.
func (r *round) withHeld(take map[string]plumbing.Hash, next plumbing.Hash) (map[string]plumbing.Hash, error) {
	if len(r.notes.Held) == 0 {
		return take, nil
	}
	tree, err := r.s.obj.TreeOf(next)
	if err != nil {
		return nil, err
	}
	out := maps.Clone(take)
	for path := range r.notes.Held {
		if _, ok := out[path]; ok {
			continue
		}
		h, err := r.s.obj.Lookup(tree, path)
		if err != nil {
			return nil, err
		}
		out[path] = h
	}
	return out, nil
}

// write returns how a working file becomes what the merge says, or why it may
// not; neither if there is nothing to do. Journal is the tree that the merge
// was made from, and so what the file was then.
func (r *round) write(journal plumbing.Hash, path string, blob plumbing.Hash) (w *Write, why, err error) {
	s := r.s
	was, err := s.obj.Lookup(journal, path)
	if err != nil || was == blob {
		return nil, nil, err
	}
	w = &Write{Path: path, Merge: true}
	if id, own := fold.OwnPath(path); own {
		w.ID = id
	}
	if !blob.IsZero() {
		if w.New, why, err = s.incoming(path, blob); why != nil || err != nil {
			if why != nil {
				why = fmt.Errorf("from the remote: %w", why)
			}
			return nil, why, err
		}
	}
	if !was.IsZero() {
		if w.Base, err = s.obj.Blob(was); err != nil {
			return nil, nil, err
		}
		if w.Base == nil {
			w.Base = []byte{}
		}
		if local(s.opt.Slug, path, w.Base) {
			return nil, nil, nil // ours alone: what others call the same stays theirs
		}
	}
	return w, nil, nil
}

// applyWrites writes files as Put does, in batches; what was changed meanwhile one by
// one, merged. It returns what was written and what could not be, and an error if
// all is to be tried again.
func (s *Store) applyWrites(ctx context.Context, ws []Write) (done []string, failed map[string]error, err error) {
	failed = map[string]error{}
	var single []Write
	batch := ws
	for len(batch) > 0 {
		if err := ctx.Err(); err != nil {
			return done, failed, err
		}
		k, size := 0, 0
		for k < len(batch) && k < batchFiles && size < batchBytes {
			size += len(batch[k].Base) + len(batch[k].New)
			k++
		}
		wrote, skipped, err := s.putBatch(batch[:k])
		done = append(done, wrote...)
		if err != nil {
			return done, failed, err
		}
		for _, path := range skipped { // changed under our hands: one by one, merged
			i := slices.IndexFunc(batch[:k], func(w Write) bool { return w.Path == path })
			single = append(single, batch[i])
		}
		batch = batch[k:]
	}
	for _, w := range single {
		if err := ctx.Err(); err != nil {
			return done, failed, err
		}
		_, err := s.putOne(w)
		switch {
		case err == nil:
			done = append(done, w.Path)
		case unwritable(err):
			failed[w.Path] = err
		default:
			return done, failed, err
		}
	}
	return done, failed, nil
}

// unwritable reports whether it is this one file that cannot be written, and
// not the disk: there is a link, a folder, or too much at its place.
func unwritable(err error) bool {
	return !errors.Is(err, fold.ErrUnavailable) && !disk.NoSpace(err) &&
		(errors.Is(err, disk.ErrNotRegular) || errors.Is(err, fold.ErrInvalid) || errors.Is(err, fold.ErrForbidden) ||
			errors.Is(err, fold.ErrConflict) || errors.Is(err, fs.ErrExist) || errors.Is(err, disk.ErrTooLarge))
}

// noteProject reads the project file again if the sync changed it.
func (r *round) noteProject(take map[string]plumbing.Hash) error {
	if _, ok := take[fold.ProjectFile]; !ok {
		return nil
	}
	b, err := r.s.Read(fold.ProjectFile)
	if err != nil {
		return err
	}
	if p, _, err := conf.ParseProject(b); err == nil {
		r.out.Project = &p
	}
	return nil
}

// join takes over the project file of a remote that has a history of its own
// and another slug (G19): ids of file memories follow from the slug, so that
// merging has to wait until ours are described under it.
func (r *round) join(ctx context.Context, base, tip plumbing.Hash) (bool, error) {
	if !base.IsZero() || tip.IsZero() || r.branch.IsZero() {
		return false, nil
	}
	s := r.s
	ours, mine, err := s.projectAt(r.from)
	if err != nil || mine == nil {
		return false, err
	}
	_, theirs, err := s.projectAt(tip)
	if err != nil || theirs == nil || theirs.Slug == mine.Slug {
		return false, err
	}
	p := *theirs
	p.Exclude = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(mine.Exclude), theirs.Exclude...))))
	if err := r.step("join"); err != nil {
		return false, err
	}
	_, err = s.putOne(Write{Path: fold.ProjectFile, Base: ours, New: conf.EncodeProject(p)})
	if err != nil {
		return false, fmt.Errorf("join project %s: %w", theirs.Slug, err)
	}
	r.out.Paths, r.out.Project, r.out.Joined = []string{fold.ProjectFile}, &p, true
	_, err = s.commitNow(ctx, []string{fold.ProjectFile}, "fold: Join project "+theirs.Slug)
	return true, err
}

// projectAt returns the project file of a commit; nil if it has none that can
// be read.
func (s *Store) projectAt(commit plumbing.Hash) ([]byte, *conf.Project, error) {
	tree, err := s.obj.TreeOf(commit)
	if err != nil {
		return nil, nil, err
	}
	h, err := s.obj.Lookup(tree, fold.ProjectFile)
	if err != nil || h.IsZero() {
		return nil, nil, err
	}
	n, err := s.obj.Size(h)
	if err != nil || n > maxFile {
		return nil, nil, err
	}
	b, err := s.obj.Blob(h)
	if err != nil {
		return nil, nil, err
	}
	if p, _, err := conf.ParseProject(b); err == nil {
		return b, &p, nil
	}
	return nil, nil, nil // merged as any file
}
