package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/checkout"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// How many files a page of problems names, and at most.
const problemsPage, problemsMost = 100, 1000

// Status tells the state of the daemon and of every checkout sc may read.
func (d *Daemon) Status(ctx context.Context, sc fold.Scope) (wire.Status, error) {
	s := wire.Status{
		Version: d.opt.Version, PID: os.Getpid(), Socket: d.opt.Socket, StartedAt: d.started.UTC(), Ready: true,
		Embedder: d.parts.Models.Builtin.Identity().String(), Projects: []wire.ProjectStatus{}, Counters: d.counters(),
	}
	s.RSSBytes, s.CPUSeconds = usage()
	if d.opt.Listening != nil {
		s.Listen, _ = d.opt.Listening()
	}
	if d.opt.Webhooks != nil {
		s.Webhooks, _ = d.opt.Webhooks()
	}
	all := slices.DeleteFunc(d.sorted(), func(co *checkout.Checkout) bool { return !sc.CanRead(co.Record.Slug) })
	waited, enough := context.WithTimeout(ctx, checkout.CountWait)
	defer enough()
	for _, co := range all { // so that they count at once
		co.WantCounts()
	}
	for _, co := range all {
		p := co.StatusWithin(ctx, waited)
		s.Ready = s.Ready && p.State == "ready"
		s.Projects = append(s.Projects, p)
	}
	s.Notices = d.notices(ctx, all)
	return s, nil
}

// Notices are those of Status, for the owner, without the rest of it: every command
// tells them.
func (d *Daemon) Notices(ctx context.Context) []string {
	ctx, enough := context.WithTimeout(ctx, noticeWait)
	defer enough()
	return d.notices(ctx, d.sorted())
}

// noticeWait bounds what a command waits for what it may want to know.
const noticeWait = 200 * time.Millisecond

// notices are what a person should know of the daemon itself and of the syncs of the
// checkouts.
func (d *Daemon) notices(ctx context.Context, all []*checkout.Checkout) []string {
	var notices []string
	for _, listener := range []func() (string, []string){d.opt.Listening, d.opt.Webhooks} {
		if listener != nil {
			_, texts := listener()
			notices = append(notices, texts...)
		}
	}
	if d.parts.State.Lost != "" {
		notices = append(notices, d.parts.State.Lost)
	}
	if off := d.parts.Lexicon.Off(); off != "" {
		notices = append(notices, "synonyms are off: "+off)
	}
	said := map[string]bool{}
	for _, co := range all {
		if text := co.Overdue(ctx); text != "" && !said[co.Record.CommonDir] {
			said[co.Record.CommonDir] = true
			notices = append(notices, text)
		}
	}
	return notices
}

// ProjectStatus tells the state of a project's main checkout.
func (d *Daemon) ProjectStatus(ctx context.Context, sc fold.Scope, slug string) (wire.ProjectStatus, error) {
	cos, err := d.of(sc, slug)
	if err != nil {
		return wire.ProjectStatus{}, err
	}
	return cos[0].Status(ctx), nil
}

// Problems lists files of which not all is indexed, and why, a page at a time.
func (d *Daemon) Problems(ctx context.Context, sc fold.Scope, slug string, in wire.ProblemQuery) (wire.ProblemList, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.ProblemList{}, err
	}
	defer st.Release()
	if in.Limit <= 0 {
		in.Limit = problemsPage
	}
	files, next, err := st.Index.ProblemsAfter(ctx, in.Cursor, min(in.Limit, problemsMost))
	if err != nil {
		return wire.ProblemList{}, err
	}
	list := wire.ProblemList{Items: st.Checkout.Problems(files), NextCursor: next}
	if list.Items == nil {
		list.Items = []wire.FileProblem{}
	}
	return list, nil
}

// Health is ok when every checkout is kept.
func (d *Daemon) Health(_ context.Context) wire.Health {
	h := wire.Health{Status: "ok", Version: d.opt.Version, Checks: map[string]string{}}
	for _, co := range d.sorted() {
		p, _ := co.Brief()
		h.Checks[co.Record.Slug] = p.State
		switch p.State {
		case "failed", "missing":
			h.Status = "degraded"
		case "starting":
			if h.Status == "ok" {
				h.Status = "starting"
			}
		}
	}
	return h
}

// Projects lists the registered projects sc may read.
func (d *Daemon) Projects(_ context.Context, sc fold.Scope) (wire.ProjectList, error) {
	list := wire.ProjectList{Items: []wire.Project{}}
	seen := map[string]bool{}
	for _, co := range d.sorted() {
		if slug := co.Record.Slug; sc.CanRead(slug) && !seen[slug] {
			seen[slug] = true
			list.Items = append(list.Items, d.project(slug))
		}
	}
	return list, nil
}

// Project returns one registered project.
func (d *Daemon) Project(_ context.Context, sc fold.Scope, slug string) (wire.Project, error) {
	if _, err := d.of(sc, slug); err != nil {
		return wire.Project{}, err
	}
	return d.project(slug), nil
}

func (d *Daemon) project(name string) wire.Project {
	p := wire.Project{Slug: name, Checkouts: []wire.Checkout{}}
	cos, err := d.of(fold.LocalScope(), name)
	if err != nil {
		return p // forgotten meanwhile
	}
	for _, co := range cos {
		if p.Name == "" {
			p.Name, p.ID, p.CreatedAt = co.View().Record.Name, co.Record.ProjectID, co.Record.AddedAt
		}
		c := wire.Checkout{Key: co.Record.Key, Path: co.Record.Path, Linked: co.Record.Linked, Sync: "off"}
		if runner, rec := co.Sync.On(); runner != nil {
			c.Sync, c.Remote = "on", rec.Remote
			if s := runner.Standing(); s.Paused && s.Pause.Until.IsZero() {
				c.Sync = "paused"
			}
		}
		if k := co.View().Repo; k != nil {
			c.Fold = k.FoldPath
		}
		p.Checkouts = append(p.Checkouts, c)
	}
	return p
}

// UpdateProject changes how a project is kept on this machine.
func (d *Daemon) UpdateProject(ctx context.Context, sc fold.Scope, slug string, in wire.ProjectUpdate) (wire.Project, error) {
	if !sc.Admin {
		return wire.Project{}, fmt.Errorf("change project %s: %w", slug, fold.ErrForbidden)
	}
	cos, err := d.of(sc, slug)
	if err != nil {
		return wire.Project{}, err
	}
	for _, co := range cos {
		if in.Mode != nil {
			if err := d.setMode(ctx, co, *in.Mode); err != nil {
				return wire.Project{}, fmt.Errorf("change the mode of project %s: %w", slug, err)
			}
			co.Note(checkout.ModeNotice, "")
		}
		co.Update(func(c *checkout.Condition) {
			if in.Name != nil {
				c.Record.Name = *in.Name
			}
			if in.FileMemories != nil {
				c.Record.FileMemories = *in.FileMemories
			}
		})
		if err := d.parts.State.PutCheckout(ctx, co.View().Record); err != nil {
			return wire.Project{}, err
		}
		if in.FileMemories != nil {
			st, err := co.Acquire(ctx)
			if err != nil {
				return wire.Project{}, err
			}
			st.LoadRules()
			st.Release()
		}
	}
	return d.project(slug), nil
}

// ProjectOfPath returns the slug of the checkout that contains path; of nested
// ones the innermost. Where the slug alone may mean another checkout, the name
// is SLUG@KEY: a linked worktree has lines of its own, a copy even memories.
func (d *Daemon) ProjectOfPath(_ context.Context, sc fold.Scope, path string) (string, error) {
	var best *checkout.Checkout
	all := d.sorted()
	for _, co := range all {
		inner := best == nil || len(co.Record.Path) > len(best.Record.Path)
		if inner && within(co.Record.Path, path) && sc.CanRead(co.Record.Slug) {
			best = co
		}
	}
	if best == nil {
		return "", fmt.Errorf("no registered checkout contains %s: %w", path, fold.WithHint(fold.ErrNotFound, "foldwatch up "+strconv.Quote(path)))
	}
	own := best.Record.Linked
	for _, co := range all {
		own = own || co.Record.Slug == best.Record.Slug && !checkout.SameMemory(co.View().Record, best.View().Record)
	}
	if own {
		return best.Record.Slug + "@" + best.Record.Key[:checkout.KeyShown], nil
	}
	return best.Record.Slug, nil
}

// Algorithm returns a project's ranking settings.
func (d *Daemon) Algorithm(_ context.Context, sc fold.Scope, slug string) (wire.Algorithm, error) {
	cos, err := d.of(sc, slug)
	if err != nil {
		return wire.Algorithm{}, err
	}
	return cos[0].Algorithm(), nil
}

// SetAlgorithm changes a project's ranking settings on this machine.
func (d *Daemon) SetAlgorithm(ctx context.Context, sc fold.Scope, slug string, in wire.Algorithm) (wire.Algorithm, error) {
	cos, err := d.of(sc, slug)
	if err != nil {
		return wire.Algorithm{}, err
	}
	switch {
	case !sc.CanWrite(cos[0].Record.Slug):
		return wire.Algorithm{}, fmt.Errorf("change ranking of %s: %w", slug, fold.ErrForbidden)
	case in.StrengthWeight < 0 || in.StrengthWeight > 1:
		return wire.Algorithm{}, fmt.Errorf("strength_weight %v is not between 0 and 1: %w", in.StrengthWeight, fold.ErrInvalid)
	case in.DecayHalfLifeDays <= 0:
		return wire.Algorithm{}, fmt.Errorf("decay_half_life_days %v is not above 0: %w", in.DecayHalfLifeDays, fold.ErrInvalid)
	}
	b, err := json.Marshal(in)
	if err != nil {
		return wire.Algorithm{}, err
	}
	return in, d.parts.State.SetSettings(ctx, cos[0].Record.Slug, b)
}

// Pause stops watching and committing of a project, for a while or until
// Resume.
func (d *Daemon) Pause(ctx context.Context, sc fold.Scope, slug string, in wire.Pause) (wire.ProjectStatus, error) {
	var until time.Time
	if in.For != "" {
		dur, err := time.ParseDuration(in.For)
		if err != nil || dur <= 0 {
			return wire.ProjectStatus{}, fmt.Errorf("pause for %q: give a duration such as 90m or 1h: %w", in.For, fold.ErrInvalid)
		}
		until = d.opt.Now().UTC().Add(dur)
	}
	return d.pause(ctx, sc, slug, true, until)
}

// Resume ends a pause and catches up with what changed meanwhile.
func (d *Daemon) Resume(ctx context.Context, sc fold.Scope, slug string) (wire.ProjectStatus, error) {
	return d.pause(ctx, sc, slug, false, time.Time{})
}

func (d *Daemon) pause(ctx context.Context, sc fold.Scope, slug string, paused bool, until time.Time) (wire.ProjectStatus, error) {
	cos, err := d.of(sc, slug)
	if err != nil {
		return wire.ProjectStatus{}, err
	}
	if !sc.CanWrite(cos[0].Record.Slug) {
		return wire.ProjectStatus{}, fmt.Errorf("pause %s: %w", slug, fold.ErrForbidden)
	}
	var errs []error
	for _, co := range cos {
		errs = append(errs, co.SetPaused(ctx, paused, until))
	}
	return cos[0].Status(ctx), errors.Join(errs...)
}
