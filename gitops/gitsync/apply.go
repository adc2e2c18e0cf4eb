package gitsync

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/history"
	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// finish makes the replica what the merge says: working files, then the
// journal, then our references (G13). Done again it changes nothing more.
func (r *round) finish(ctx context.Context, m *merging, next plumbing.Hash) error {
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
	unlock, err := s.store.Lock()
	if err != nil {
		return err
	}
	defer unlock()
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
			s.store.SetAside(path, "")
		}
	}
	r.notes.Held, r.notes.Back, r.notes.Intent = held, back, nil
	return s.writeNotes(r.notes)
}

// moveRefs lets our branch name next. The caller holds commit.
func (r *round) moveRefs(ctx context.Context, next plumbing.Hash) error {
	s := r.s
	done, err := s.obj.Ref(RefSquashed)
	if err != nil {
		return err
	}
	if done != r.from && !r.from.IsZero() {
		// Squashed meanwhile onto the branch as it was: next lacks that, so it is
		// to be squashed once more.
		if err := s.obj.SetRef(RefSquashed, r.from); err != nil {
			return err
		}
	}
	if next != r.branch && !next.IsZero() {
		if err := s.obj.SetRef(RefBranch, next); err != nil {
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
	tip, err := s.store.Journal()
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
	return s.obj.SetRef(RefSquashed, tip)
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
	var ws []Change
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
	if err := r.unguarded(); err != nil {
		return nil, err
	}
	done, failed, err := s.store.Write(ctx, ws)
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
			s.store.SetAside(path, "")
		}
	}
	if err := r.step("journal"); err != nil {
		return nil, err
	}
	subject := fmt.Sprintf(history.AppliedSubject+"%s from the remote", plural(len(done), "memory", "memories"))
	if err := r.record(ctx, done, subject); err != nil {
		return nil, err
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
	r.s.store.SetAside(path, why.Error())
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
func (r *round) write(journal plumbing.Hash, path string, blob plumbing.Hash) (w *Change, why, err error) {
	s := r.s
	was, err := s.obj.Lookup(journal, path)
	if err != nil || was == blob {
		return nil, nil, err
	}
	w = &Change{Path: path, Merge: true}
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
		if s.local(path, w.Base) {
			return nil, nil, nil // ours alone: what others call the same stays theirs
		}
	}
	return w, nil, nil
}

// noteProject reads the project file again if the sync changed it.
func (r *round) noteProject(take map[string]plumbing.Hash) error {
	if _, ok := take[fold.ProjectFile]; !ok {
		return nil
	}
	b, err := r.s.store.Read(fold.ProjectFile)
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
	_, failed, err := s.store.Write(ctx, []Change{{Path: fold.ProjectFile, Base: ours, New: conf.EncodeProject(p)}})
	if err = cmp.Or(err, failed[fold.ProjectFile]); err != nil {
		return false, fmt.Errorf("join project %s: %w", theirs.Slug, err)
	}
	r.out.Paths, r.out.Project, r.out.Joined = []string{fold.ProjectFile}, &p, true
	return true, r.record(ctx, r.out.Paths, "fold: Join project "+theirs.Slug)
}

// record has the journal take the files at paths as they are.
func (r *round) record(ctx context.Context, paths []string, subject string) error {
	guard, err := r.s.store.Record(ctx, paths, subject)
	if err == nil && guard != "" {
		err = guardedSync(r.host, guard)
	}
	return err
}

// unguarded returns why nothing may be published or taken in, or nil (G8).
func (r *round) unguarded() error { return r.s.unguarded(r.host) }

func (s *Syncer) unguarded(host string) error {
	guard, err := s.store.Guard()
	if err != nil {
		return transport.Errorf(transport.Guarded, host, "", "%v", err)
	}
	if guard != "" {
		return guardedSync(host, guard)
	}
	return nil
}

func guardedSync(host, reason string) error {
	return transport.Errorf(transport.Guarded, host, "", "the vanish guard is up: %s: nothing is synced meanwhile", reason)
}

// projectAt returns the project file of a commit; nil if it has none that can
// be read.
func (s *Syncer) projectAt(commit plumbing.Hash) ([]byte, *conf.Project, error) {
	tree, err := s.obj.TreeOf(commit)
	if err != nil {
		return nil, nil, err
	}
	h, err := s.obj.Lookup(tree, fold.ProjectFile)
	if err != nil || h.IsZero() {
		return nil, nil, err
	}
	n, err := s.obj.Size(h)
	if err != nil || n > fold.MaxFile {
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
