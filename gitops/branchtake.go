package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/gitops/gitindex"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A taking brings the checkout's branch to the remote's tip, with the entries of
// git's index and the files below fold/ (B7). It differs from a commit of ours in that
// working files change too: they are written under git's locks, as git itself does
// when it checks files out, through the write-ahead log, and each merged with what the
// disk holds by then (G9), but are ready before (see stage). A crash before the branch has moved leaves memories that
// are not committed, one after it leaves an index that follows at the next start: the
// next sync goes on from either.
type taking struct {
	r     *branchRound
	d     *branchDraft
	base  oid // the last commit that both sides have
	ws    []Write
	edits []gitindex.Edit // from the branch's commit to the remote's
	index *gitindex.File  // nil where only git can change it
}

// take moves the branch at p to the remote's tip; commits of ours that lie beside it
// are taken back, since their content is in the files and in the journal. The caller
// holds commit.
func (r *branchRound) take(ctx context.Context, p position, rel *relation) (err error) {
	s, t := r.s, r.t
	defer func() {
		if err != nil {
			err = fmt.Errorf("take in %s from the remote: %w", p.branch, err)
		}
	}()
	if r.out.Wait = t.quiet(p, s.opt.Now()); !r.out.Wait.none() {
		return nil
	}
	if err := r.unnamed(ctx, p, rel); err != nil || r.out.Yours {
		return err
	}
	t.open()
	defer t.close()
	k := &taking{r: r, base: rel.base, d: &branchDraft{
		pos: p, at: s.opt.Now(), next: r.tip, trees: map[string]gitindex.TreeChange{}, verb: "pull", subject: "Fast-forward",
	}}
	if n := len(rel.ahead); n > 0 {
		k.d.verb, k.d.subject = "pull (take back)", plural(n, "commit of memories is made again", "commits of memories are made again")
	}
	if k.d.head, err = t.objects.commit(ctx, p.oid); err != nil {
		return err
	}
	if r.out.Wait = t.rested(p.oid, k.d.head, k.d.at); !r.out.Wait.none() {
		return nil
	}
	if err := k.readIndex(ctx); err != nil || !r.out.Wait.none() {
		return err
	}
	for _, e := range k.edits { // not under git's locks
		if s.off.get(strings.TrimPrefix(e.Path, t.dir+"/")) != nil {
			r.out.Wait = waitFor("%s has still to get what was changed while git was at work", e.Path)
			return nil
		}
	}
	if err := k.copyObjects(ctx, rel.behind); err != nil {
		return err
	}
	if err := k.files(ctx); err != nil || !r.out.Wait.none() {
		return err
	}
	if k.d.patched, err = k.patch(ctx); err != nil || !r.out.Wait.none() {
		return err
	}
	if err := r.step("take"); err != nil {
		return err
	}
	return k.place(ctx, rel)
}

// unnamed sees that commits that are to be taken back are named by nothing but the
// branch.
func (r *branchRound) unnamed(ctx context.Context, p position, rel *relation) error {
	if len(rel.ahead) == 0 {
		return nil
	}
	oldest := rel.ahead[len(rel.ahead)-1]
	out, err := r.t.l.git("for-each-ref", "--count=2", "--format=%(refname)", "--contains="+oldest.String()).output(ctx)
	if err != nil {
		return fmt.Errorf("look for references: %w", err)
	}
	for name := range strings.Lines(string(out)) {
		if name = strings.TrimSpace(name); name != p.ref {
			r.yours(waitFor("%s and the remote have both moved, and %s names a commit of memories that would be made again", p.branch, oneLine(name)).
				hint("git pull --rebase"))
		}
	}
	return nil
}

// readIndex reads git's index, sees that it allows the move, and finds the entries
// that change.
func (k *taking) readIndex(ctx context.Context) error {
	t, d, r := k.r.t, k.d, k.r
	if err := d.readIndex(t.l); err != nil {
		return err
	}
	entry, err := t.objects.child(ctx, d.head.tree, t.dir)
	if err != nil {
		return err
	}
	f, err := gitindex.Parse(d.index, t.size)
	odd := errors.Is(err, gitindex.ErrOdd)
	switch {
	case odd:
		r.out.Wait, err = t.oddStaged(ctx)
	case err == nil:
		k.index = f
		r.out.Wait, err = t.staged(ctx, f, entry.oid)
	}
	if err != nil || !r.out.Wait.none() {
		return err
	}
	if !odd {
		for _, e := range f.Below(t.dir) {
			if f.SkipsWorktree(&e) {
				r.yours(waitFor("%s/ is not checked out whole (sparse checkout)", t.dir).hint("git pull"))
				return nil
			}
		}
	}
	return r.u.foldDiff(ctx, t.dir, d.pos.oid, d.next, func(path string, was, is userEntry) error {
		k.edits = append(k.edits, gitindex.Edit{Path: joinDir(t.dir, path), Was: was.oid.bytes(), Now: is.oid.bytes(), Mode: indexMode(is.mode)})
		return nil
	})
}

// copyObjects puts what commits of the remote hold into the user's repository, from
// where it lies in ours.
func (k *taking) copyObjects(ctx context.Context, behind []oid) error {
	from, to := k.r.u.objects, k.r.t.objects
	copyOne := func(kind string, id oid) error {
		b, err := from.get(ctx, kind, id)
		if err == nil && to.put(kind, b) != id {
			err = fmt.Errorf("%s %s is damaged", kind, id)
		}
		return err
	}
	var below func(was, is oid) error
	below = func(was, is oid) error {
		if is == "" || was == is || to.made[is] != nil {
			return nil
		}
		if err := copyOne("tree", is); err != nil {
			return err
		}
		left, err := from.tree(ctx, was)
		if err != nil {
			return err
		}
		right, err := from.tree(ctx, is)
		if err != nil {
			return err
		}
		had := map[string]userEntry{}
		for _, e := range left {
			had[e.name] = e
		}
		for _, e := range right {
			if e.oid == had[e.name].oid || e.mode == modeGitlink {
				continue
			}
			if e.isDir() {
				old := had[e.name]
				if !old.isDir() {
					old.oid = ""
				}
				err = below(old.oid, e.oid)
			} else {
				err = copyOne("blob", e.oid)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, id := range behind {
		c, err := from.commit(ctx, id)
		if err != nil {
			return err
		}
		parent, err := from.commit(ctx, c.parents[0])
		if err != nil {
			return err
		}
		if err := errors.Join(copyOne("commit", id), below(parent.tree, c.tree)); err != nil {
			return err
		}
	}
	if err := k.r.t.at("objects"); err != nil {
		return err
	}
	return to.write(ctx, k.r.s.opt.Faults)
}

// files finds what becomes of the working files: what the remote changed since base,
// merged with what they hold.
func (k *taking) files(ctx context.Context) error {
	r, s, t := k.r, k.r.s, k.r.t
	root, err := s.openFold(false)
	if err != nil {
		return err
	}
	defer root.Close()
	journal, err := s.tipTree()
	if err != nil {
		return err
	}
	var changes []*branchChange
	olds := map[string]oid{}
	err = r.u.foldDiff(ctx, t.dir, k.base, k.d.next, func(path string, was, is userEntry) error {
		mine, err := s.obj.lookup(journal, path)
		if err != nil {
			return err
		}
		if !mine.IsZero() {
			b, err := s.blob(mine)
			if err != nil {
				return err
			}
			if local(s.opt.Slug, path, b) {
				return nil // ours alone: what others call the same stays theirs
			}
		}
		c := &branchChange{path: path, was: was.oid, now: is.oid}
		if is.oid != "" {
			if c.b, err = r.u.objects.blob(ctx, is.oid); err != nil {
				return err
			}
			if len(c.b) > maxFile {
				r.yours(waitFor("%s/%s of the remote is larger than 1 MiB", t.dir, oneLine(path)).hint("git pull"))
			}
			c.b = slices.Concat([]byte{}, c.b) // never nil
		}
		changes, olds[path] = append(changes, c), was.oid
		return nil
	})
	if err != nil || !r.out.Wait.none() {
		return err
	}
	smudge, err := k.smudges(ctx, changes)
	if err != nil || !r.out.Wait.none() {
		return err
	}
	for _, c := range changes {
		w := Write{Path: c.path, Merge: true}
		if id, own := fold.OwnPath(c.path); own {
			w.ID = id
		}
		if w.New, err = k.checkedOut(ctx, c.path, c.now, smudge); err != nil {
			return err
		}
		if w.Base, err = k.checkedOut(ctx, c.path, olds[c.path], smudge); err != nil {
			return err
		}
		have, err := readFile(root, c.path)
		if err != nil {
			r.yours(waitFor("%s/%s cannot be written: %s", t.dir, c.path, err).hint("git pull"))
			return nil
		}
		if c.path == fold.ProjectFile && have != nil && w.New != nil && !same(have, w.Base) && !same(have, w.New) {
			w.Base, w.New = have, mergeProject(have, w.New)
		}
		k.count(&w, have)
		k.ws = append(k.ws, w)
	}
	return nil
}

// count notes a file that both sides changed.
func (k *taking) count(w *Write, have []byte) {
	if same(have, w.Base) || same(have, w.New) || w.Path == fold.ProjectFile {
		return
	}
	k.r.out.Merged++
	m, err := fold.Merge3(w.Base, have, w.New, fold.MergeOptions{Now: k.d.at, Project: k.r.s.opt.Slug, Path: w.Path})
	if err == nil && len(m.Conflicts) > 0 {
		k.r.out.Conflicts++
	}
}

// smudges reports whether git would check files out in another form than it stores
// them. Where a program would have to run for that, the move is the user's.
func (k *taking) smudges(ctx context.Context, changes []*branchChange) (bool, error) {
	t, r := k.r.t, k.r
	attributes, err := t.attributes(ctx, t.dir, changes)
	if err != nil {
		return false, err
	}
	for _, c := range changes {
		a := attributes[c.path]
		if f := a["filter"]; f != "" && (t.conf.filters()[f] || t.conf.get("filter."+f+".smudge") != "") {
			r.yours(waitFor("%s/%s passes through the filter %s, which would have to run", t.dir, c.path, oneLine(f)).hint("git pull"))
			return false, nil
		}
	}
	switch strings.ToLower(t.conf.get("core.autocrlf")) {
	case "", "false", "no", "off", "0", "input":
		return attributes != nil || t.conf.get("core.eol") != "", nil
	}
	return true, nil
}

// checkedOut returns a file as git would check it out; nil for none.
func (k *taking) checkedOut(ctx context.Context, path string, id oid, smudge bool) (b []byte, err error) {
	switch {
	case id == "":
		return nil, nil
	case smudge:
		b, err = k.r.t.l.git("cat-file", "--filters", "--path="+joinDir(k.r.t.dir, path), id.String()).output(ctx)
	default:
		b, err = k.r.u.objects.blob(ctx, id)
	}
	if err == nil && b == nil {
		b = []byte{}
	}
	return b, err
}

// patch makes the index that belongs to the remote's commit. Entries of files that
// hold what it says get what git keeps of them to see that they have not changed.
func (k *taking) patch(ctx context.Context) ([]byte, error) {
	if k.index == nil {
		return k.r.t.patchByGit(ctx, k.d, k.edits)
	}
	b, left := k.index.Patch(k.edits, nil)
	if len(left) > 0 {
		k.r.out.Wait = waitFor("%s is staged", left[0]).hint("commit it, or: git restore --staged %s", k.r.t.dir)
	}
	return b, nil
}

// place moves branch, files and index, and then the journal.
func (k *taking) place(ctx context.Context, rel *relation) error {
	r, s, t := k.r, k.r.s, k.r.t
	var done []string
	stage, err := s.stageFiles(k.ws)
	if isLocked(err) {
		r.out.Wait = Wait{Reason: err.Error(), After: time.Second}
		return nil
	}
	if err != nil {
		return err
	}
	k.d.ready = stage.log
	k.d.take = func() (err error) {
		var failed map[string]error
		if done, failed, err = stage.place(ctx); err != nil {
			return err
		}
		for _, path := range sortedKeys(failed) {
			return fmt.Errorf("%s/%s: %w", t.dir, path, failed[path])
		}
		return nil
	}
	k.d.again = func() ([]byte, error) { return k.restat(ctx) }
	_, w, err := s.place(ctx, t, k.d)
	r.out.Paths = slices.Compact(slices.Sorted(slices.Values(append(r.out.Paths, done...))))
	if errors.Is(err, errCrashed) {
		stage.leave()
		return err
	}
	if serr := stage.end(); serr != nil {
		return errors.Join(err, serr)
	}
	if len(done) > 0 {
		_, rerr := s.recordAll(ctx, done, fmt.Sprintf(takenIn+"%s from the remote", plural(len(done), "memory", "memories")))
		err = errors.Join(err, rerr)
	}
	if err != nil || !w.none() {
		r.out.Wait = w
		return err
	}
	t.pulled = k.d.next
	for _, id := range rel.ahead {
		if c, err := r.u.objects.commit(ctx, id); err == nil {
			t.owed = append(t.owed, coauthorLines(c.message)...)
		}
	}
	r.out.Local = k.d.next.String()
	return nil
}

// restat makes the index once more, now that the files are there; nil if there is
// nothing to tell of them.
func (k *taking) restat(ctx context.Context) ([]byte, error) {
	if k.index == nil || len(k.ws) == 0 {
		return nil, nil
	}
	root, err := k.r.s.openFold(false)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, t := k.r.s.l.FoldPath(k.r.s.opt.FoldDir), k.r.t
	want := map[string][]byte{}
	for _, w := range k.ws {
		want[joinDir(t.dir, w.Path)] = w.New
	}
	for i := range k.edits {
		e := &k.edits[i]
		path := strings.TrimPrefix(e.Path, t.dir+"/")
		b, info, err := root.Read(path, maxFile)
		if e.Now == nil || want[e.Path] == nil || err != nil || !same(b, want[e.Path]) {
			continue // another version: git is to look at it
		}
		full := filepath.Join(dir, filepath.FromSlash(path))
		if fi, err := os.Lstat(full); err == nil && disk.InfoOf(fi) == info {
			e.Stat = indexStatOf(fi)
		}
	}
	return k.patch(ctx)
}
