package daemon

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/checkout"
	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// AddProject registers the checkout at in.Path and starts its loop. A checkout
// that is registered already is answered as it is.
func (d *Daemon) AddProject(ctx context.Context, sc fold.Scope, in wire.ProjectCreate) (wire.ProjectAdded, error) {
	ctx = usergit.WithCounter(ctx, &d.gitProcesses)
	if !sc.Admin || !sc.All {
		return wire.ProjectAdded{}, fmt.Errorf("register a checkout: %w", fold.ErrForbidden)
	}
	if err := checkCreate(in); err != nil {
		return wire.ProjectAdded{}, fmt.Errorf("register %s: %w", in.Path, err)
	}
	layout, err := usergit.Locate(ctx, in.Path)
	if err != nil {
		return wire.ProjectAdded{}, err
	}
	var remote chosenRemote
	if in.Sync {
		if remote, err = chooseRemote(ctx, sc, layout, in.Remote); err != nil {
			if !d.registered(layout) {
				adviseAdd(err, in.Path)
			}
			return wire.ProjectAdded{}, fmt.Errorf("register %s: %w", in.Path, err)
		}
	}
	co, added, err := d.register(ctx, layout, in)
	if err != nil {
		return added, err
	}
	if !added.Created {
		if added, err = d.addAgain(ctx, sc, co, in); err != nil {
			return added, err
		}
	}
	added.Key = co.Record.Key
	if in.Sync {
		on, err := d.turnOn(ctx, co, remote)
		if err != nil {
			return added, fmt.Errorf("%s is registered, but not synced: %w", in.Path, err)
		}
		added.Repository, added.Project = &on, d.project(on.Project)
	}
	return added, nil
}

// registered reports whether the checkout is.
func (d *Daemon) registered(l *usergit.Repo) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.checkouts[l.Key()] != nil
}

// adviseAdd has err advise a command that registers the checkout at path too, where it
// advises one that turns the sync on: that is of no use before.
func adviseAdd(err error, path string) {
	for h, ok := errors.AsType[*fold.HintError](err); ok; h, ok = errors.AsType[*fold.HintError](h.Err) {
		h.Hint = strings.ReplaceAll(h.Hint, "foldwatch sync on --remote", "foldwatch add "+strconv.Quote(path)+" --sync --remote")
	}
}

// register is AddProject without sync. It returns the checkout as it is, and added
// without Created, if it is registered already.
func (d *Daemon) register(ctx context.Context, layout *usergit.Repo, in wire.ProjectCreate) (_ *checkout.Checkout, added wire.ProjectAdded, err error) {
	leave, err := d.changeRegistry(ctx)
	if err != nil {
		return nil, added, fmt.Errorf("register %s: %w", in.Path, err)
	}
	defer leave()
	d.mu.Lock()
	co := d.checkouts[layout.Key()]
	d.mu.Unlock()
	if co != nil {
		return co, added, nil
	}
	rec, project, notices, err := d.record(ctx, layout, in)
	if err != nil {
		return nil, added, fmt.Errorf("register %s: %w", in.Path, err)
	}
	if err := d.parts.State.PutCheckout(ctx, rec); err != nil {
		return nil, added, err
	}
	if err := d.noteRemote(ctx, rec, true); err != nil {
		return nil, added, err
	}
	co = checkout.New(rec, d.parts)
	co.Project = project
	d.mu.Lock()
	d.checkouts[rec.Key] = co
	d.mu.Unlock()
	d.parts.Events.Publish("project:added", rec.Slug, nil) // before anything that happens in it
	giveUp := func(err error) (*checkout.Checkout, wire.ProjectAdded, error) {
		d.parts.Events.Publish("project:removed", rec.Slug, nil)
		return nil, added, errors.Join(err, d.forget(ctx, co))
	}
	select {
	case d.starts <- co:
	case <-d.parts.Stopped:
	case <-ctx.Done():
		return nil, added, ctx.Err()
	}
	st, err := co.Acquire(ctx)
	if err != nil {
		return giveUp(err)
	}
	defer st.Release()
	if in.FromMirror && st.Store.Tip() == "" {
		if _, err := st.Store.RestoreMirror(ctx, d.parts.Mirror(rec.ProjectID)); err != nil {
			st.Release()
			return giveUp(err)
		}
	}
	if text := co.View().Notices[checkout.DriverNotice]; text != "" {
		notices = append(notices, text)
	}
	added = wire.ProjectAdded{Project: d.project(rec.Slug), Created: true, Notices: notices}
	added.JobID = co.Add(work.Task{Kind: work.Sweep, Priority: work.Soon})
	return co, added, nil
}

// addAgain answers for a checkout that is registered already.
func (d *Daemon) addAgain(ctx context.Context, sc fold.Scope, co *checkout.Checkout, in wire.ProjectCreate) (wire.ProjectAdded, error) {
	if in.FileMemories != "" && in.FileMemories != co.View().Record.FileMemories {
		if _, err := d.UpdateProject(ctx, sc, co.Record.Slug, wire.ProjectUpdate{FileMemories: &in.FileMemories}); err != nil {
			return wire.ProjectAdded{}, err
		}
	}
	if co.View().Failed != nil || co.Gone() != nil { // whoever adds it again has just mended it
		if err := co.OpenAnew(ctx, false); err != nil {
			return wire.ProjectAdded{}, err
		}
	}
	added := wire.ProjectAdded{Project: d.project(co.Record.Slug)}
	h, err := co.Acquire(ctx)
	if err != nil && co.View().Failed != nil { // just now: it learned only then that it stands anew
		if err = co.OpenAnew(ctx, false); err == nil {
			h, err = co.Acquire(ctx)
		}
	}
	if err != nil {
		return added, err
	}
	defer h.Release()
	added.JobID = co.Add(work.Task{Kind: work.Sweep, Priority: work.Soon})
	return added, nil
}

func checkCreate(in wire.ProjectCreate) error {
	switch {
	case in.Remote != "" && !in.Sync:
		return fmt.Errorf("a remote is for sync, and that is off: %w", fold.WithHint(fold.ErrInvalid, "give --sync too, or leave --remote out"))
	case in.FoldDir != "" && (in.FoldDir != path.Base(in.FoldDir) || strings.HasPrefix(in.FoldDir, ".") || strings.ContainsAny(in.FoldDir, `\:`)):
		return fmt.Errorf("fold folder %q is not a plain name: %w", in.FoldDir, fold.ErrInvalid)
	case in.Slug != "" && fold.Slug(in.Slug) != in.Slug:
		return fmt.Errorf("slug %q has other characters than a-z, 0-9 and -: %w", in.Slug, fold.WithHint(fold.ErrInvalid, "--slug "+fold.Slug(in.Slug)))
	}
	return nil
}

// record makes the registry entry of a checkout, and the project file it has or
// shall get.
func (d *Daemon) record(ctx context.Context, l *usergit.Repo, in wire.ProjectCreate) (state.Checkout, conf.Project, []string, error) {
	rec := state.Checkout{
		Key: l.Key(), Path: checkout.FirstOf(l.WorkTree, l.CommonDir), CommonDir: l.CommonDir, MainTree: l.MainTree, Linked: l.Linked,
		FoldDir: checkout.FirstOf(in.FoldDir, checkout.DefaultFoldDir), FileMemories: in.FileMemories, AddedAt: d.opt.Now().UTC(),
	}
	for _, co := range d.sorted() {
		if co.Record.CommonDir != rec.CommonDir {
			continue
		}
		if in.FoldDir != "" && in.FoldDir != co.Record.FoldDir {
			return rec, conf.Project{}, nil, fmt.Errorf("the work trees of a repository share one folder of memories, and %s has it as %s/: %w",
				co.Record.Path, co.Record.FoldDir, fold.WithHint(fold.ErrConflict, "leave --fold-dir out"))
		}
		rec.FoldDir = co.Record.FoldDir
		rec.CommitTo = co.View().Record.CommitTo
	}
	foldPath := l.FoldPath(rec.FoldDir)
	p, found, err := repos.ProjectAt(foldPath)
	if err != nil {
		return rec, p, nil, err
	}
	rec.RemoteURL, err = l.RemoteURL(ctx)
	if err != nil {
		return rec, p, nil, err
	}
	var notices []string
	if !found {
		p = conf.Project{ID: newProjectID(), Slug: d.freeSlug(in, rec), Name: in.Name, CreatedAt: d.opt.Now().UTC()}
		if fetched, ok := d.fetchedProject(ctx, l); ok && (in.Slug == "" || in.Slug == fetched.Slug) {
			p = fetched
		}
		if p.Name == "" {
			p.Name = filepath.Base(checkout.FirstOf(l.MainTree, l.WorkTree, strings.TrimSuffix(l.CommonDir, ".git")))
		}
		if was, n, err := d.mirrored(ctx, rec.RemoteURL); err != nil {
			return rec, p, nil, err
		} else if n > 0 && in.FromMirror {
			p.ID, p.Slug = was.ID, was.Slug
		} else if in.FromMirror {
			return rec, p, nil, fmt.Errorf("this machine keeps no memories of its remote: %w", fold.WithHint(fold.ErrNotFound, "leave --from-mirror out"))
		} else if n > 0 && was.ID != p.ID { // else it is brought back at the opening
			notices = append(notices, fmt.Sprintf("this machine keeps %d memories of the same remote (project %s); to take them over: foldwatch remove --purge, then foldwatch add --from-mirror %s", n, was.Slug, in.Path))
		}
	} else if in.FromMirror {
		return rec, p, nil, fmt.Errorf("%s/ holds memories already: %w", rec.FoldDir, fold.WithHint(fold.ErrConflict, "foldwatch remove --purge first, or leave --from-mirror out"))
	} else if in.Slug != "" && in.Slug != p.Slug {
		return rec, p, nil, fmt.Errorf("%s/project.toml names the project %q, not %q: %w", rec.FoldDir, p.Slug, in.Slug, fold.WithHint(fold.ErrConflict, "leave --slug out"))
	}
	rec.Slug, rec.ProjectID, rec.Name = p.Slug, p.ID, checkout.FirstOf(in.Name, p.Name)
	for _, co := range d.sorted() {
		if co.Record.Slug == rec.Slug && co.Record.ProjectID != rec.ProjectID {
			return rec, p, nil, fmt.Errorf("slug %q belongs to %s: %w", rec.Slug, co.Record.Path, fold.WithHint(fold.ErrConflict, "give this one another: --slug NAME"))
		}
	}
	return rec, p, notices, nil
}

// fetchedProject returns the project as the branch foldwatch of a remote has it, where
// the user's own fetch has brought that, as a clone does (design.md 4). One whose slug
// is taken here by another project does not count.
func (d *Daemon) fetchedProject(ctx context.Context, l *usergit.Repo) (conf.Project, bool) {
	b, err := l.FetchedProject(ctx)
	if err != nil || b == nil {
		return conf.Project{}, false
	}
	p, _, err := conf.ParseProject(b)
	if err != nil {
		return p, false
	}
	for _, co := range d.sorted() {
		if co.Record.Slug == p.Slug && co.Record.ProjectID != p.ID {
			return p, false
		}
	}
	return p, true
}

// mirrored returns the project that was last registered with a remote and that
// this machine has a mirror of, and how many files that holds.
func (d *Daemon) mirrored(ctx context.Context, remote string) (conf.Project, int, error) {
	if remote == "" {
		return conf.Project{}, 0, nil
	}
	text, err := d.parts.State.Fact(ctx, "remote:"+remote, "projects")
	if err != nil {
		return conf.Project{}, 0, err
	}
	for line := range strings.Lines(text) {
		id, slug, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, ok := gitops.MirrorHolds(d.parts.Mirror(id)); ok && n > 0 {
			return conf.Project{ID: id, Slug: slug}, n, nil
		}
	}
	return conf.Project{}, 0, nil
}

// noteRemote remembers that rec's project belongs to its remote, newest first,
// or forgets it.
func (d *Daemon) noteRemote(ctx context.Context, rec state.Checkout, belongs bool) error {
	if rec.RemoteURL == "" {
		return nil
	}
	subject := "remote:" + rec.RemoteURL
	text, err := d.parts.State.Fact(ctx, subject, "projects")
	if err != nil {
		return err
	}
	var b strings.Builder
	if belongs {
		fmt.Fprintf(&b, "%s %s\n", rec.ProjectID, rec.Slug)
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, rec.ProjectID+" ") {
			b.WriteString(line)
		}
	}
	return d.parts.State.SetFact(ctx, subject, "projects", b.String())
}

// freeSlug is the project's slug by the rule of design.md 4.
func (d *Daemon) freeSlug(in wire.ProjectCreate, rec state.Checkout) string {
	if in.Slug != "" {
		return in.Slug
	}
	base := ""
	if u := strings.TrimSuffix(strings.TrimRight(rec.RemoteURL, "/"), ".git"); u != "" {
		base = fold.Slug(u[strings.LastIndexAny(u, "/:")+1:])
	}
	if base == "" {
		base = fold.Slug(filepath.Base(checkout.FirstOf(rec.MainTree, rec.Path)))
	}
	if base == "" {
		base = "project"
	}
	slug := base
	for n := 2; ; n++ {
		taken := false
		for _, co := range d.sorted() {
			taken = taken || co.Record.Slug == slug
		}
		if !taken {
			return slug
		}
		slug = fmt.Sprintf("%s-%d", base, n)
	}
}

func newProjectID() string {
	var b [12]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return "proj_" + hex.EncodeToString(b[:])
}

// RemoveProject unregisters the project's checkouts, or the one at in.Path.
// With Purge their memories, history, index and mirror are deleted too.
func (d *Daemon) RemoveProject(ctx context.Context, sc fold.Scope, slug string, in wire.ProjectRemove) error {
	if !sc.Admin {
		return fmt.Errorf("remove project %s: %w", slug, fold.ErrForbidden)
	}
	leave, err := d.changeRegistry(ctx)
	if err != nil {
		return fmt.Errorf("remove project %s: %w", slug, err)
	}
	defer leave()
	cos, err := d.of(sc, slug)
	if err != nil {
		return err
	}
	removed := 0
	for _, co := range cos {
		if in.Path != "" && in.Path != co.Record.Path {
			continue
		}
		removed++
		if err := d.forget(ctx, co); err != nil {
			return fmt.Errorf("remove %s: %w", co.Record.Path, err)
		}
		d.parts.Events.Publish("project:removed", co.Record.Slug, nil)
	}
	if removed == 0 {
		return fmt.Errorf("project %s has no checkout at %s: %w", slug, in.Path, fold.ErrNotFound)
	}
	if !in.Purge {
		return nil
	}
	for _, co := range cos {
		if in.Path != "" && in.Path != co.Record.Path {
			continue
		}
		if _, err := d.of(sc, co.Record.Slug); errors.Is(err, fold.ErrNotFound) { // no other checkout of it is left
			if err := d.parts.State.ForgetProposals(ctx, co.Record.Slug); err != nil {
				return fmt.Errorf("purge %s: %w", co.Record.Path, err)
			}
		}
		if err := d.purge(co); err != nil {
			return fmt.Errorf("purge %s: %w", co.Record.Path, err)
		}
	}
	return nil
}

// forget stops a checkout's loop and takes it out of the registry, with its
// derived stores. Fold/ and history stay.
func (d *Daemon) forget(ctx context.Context, co *checkout.Checkout) error {
	if err := co.Stop(ctx); err != nil {
		return err
	}
	d.mu.Lock()
	delete(d.checkouts, co.Record.Key)
	d.keepCounts(co)
	d.mu.Unlock()
	if err := d.parts.State.DeleteCheckout(ctx, co.Record.Key); err != nil {
		return err
	}
	return os.RemoveAll(co.IndexDir())
}

// purge deletes fold/, the sidecar and the mirror of a checkout, except for what
// another registered checkout still keeps: the linked worktrees of a repository
// share fold/ and sidecar, its copies share the mirror. Fold/ is deleted only if
// it is ours and git does not track it.
func (d *Daemon) purge(co *checkout.Checkout) error {
	ctx := context.Background()
	var shared, sibling, mirrored bool
	for _, other := range d.sorted() { // by what they keep, whatever name the caller used
		shared = shared || checkout.SameMemory(other.View().Record, co.View().Record)
		sibling = sibling || other.Record.CommonDir == co.Record.CommonDir
		mirrored = mirrored || other.Record.ProjectID == co.Record.ProjectID
	}
	var errs []error
	if l, err := usergit.Locate(ctx, co.Record.Path); err == nil && !shared {
		inGit := checkout.ModeOf(co.View().Record) == checkout.ModeTracked
		l = l.InMode(inGit)
		foldPath := l.FoldPath(co.Record.FoldDir)
		t, terr := checkout.Tracking(ctx, l, co.Record.FoldDir)
		if _, ours, perr := repos.ProjectAt(foldPath); !inGit && terr == nil && !t.Main && perr == nil && ours {
			errs = append(errs, os.RemoveAll(foldPath))
		}
		if !sibling || l.Linked { // else theirs lie in there
			errs = append(errs, os.RemoveAll(l.StateDir()))
		}
		errs = append(errs, gitops.ForgetCopy(d.parts.Mirror(co.Record.ProjectID), l))
	}
	if !mirrored {
		errs = append(errs, os.RemoveAll(d.parts.Mirror(co.Record.ProjectID)), d.noteRemote(ctx, co.Record, false))
	}
	return errors.Join(errs...)
}
