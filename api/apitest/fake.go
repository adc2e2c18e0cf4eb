// Package apitest holds a fake daemon that behaves, for the tests of everything that
// stands in front of them: memories live in a map, hashes are real, searches
// look for substrings. It is linked into no program.
package apitest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Fake keeps projects in memory. It is safe for concurrent use.
type Fake struct {
	mu       sync.Mutex
	projects []*held
	jobs     []wire.Job
	subs     map[chan wire.Event]fold.Scope
	events   []wire.Event
	now      time.Time

	// Fail, if not nil, is asked before every method; an error is returned.
	Fail func(method string) error
}

type held struct {
	project   wire.Project
	algorithm wire.Algorithm
	paused    bool
	remote    string // "": sync is off
	memories  map[string]wire.Memory
	links     map[string]wire.Link
	proposals []wire.Proposal
}

// New returns a fake with one project a slug, its checkout at /src/<slug>.
func New(slugs ...string) *Fake {
	d := &Fake{subs: map[chan wire.Event]fold.Scope{}, now: time.Date(2026, 2, 3, 10, 30, 0, 0, time.UTC)}
	for _, s := range slugs {
		d.add(s, "/src/"+s)
	}
	return d
}

func (d *Fake) add(slug, path string) *held {
	h := &held{
		project: wire.Project{
			Slug: slug, Name: slug, CreatedAt: d.now,
			Checkouts: []wire.Checkout{{Key: "00112233445566aa", Path: path, Fold: path + "/fold"}},
		},
		algorithm: wire.Algorithm{StrengthWeight: 0.05, DecayHalfLifeDays: 30},
		memories:  map[string]wire.Memory{}, links: map[string]wire.Link{},
	}
	d.projects = append(d.projects, h)
	return h
}

// open takes the lock and finds a project; the caller calls the returned
// function in any case.
func (d *Fake) open(method string, sc fold.Scope, slug string) (*held, func(), error) {
	d.mu.Lock()
	if err := d.failing(method); err != nil {
		return nil, d.mu.Unlock, err
	}
	for _, h := range d.projects {
		if h.project.Slug == slug && sc.CanRead(slug) {
			return h, d.mu.Unlock, nil
		}
	}
	return nil, d.mu.Unlock, fmt.Errorf("project %q: %w", slug, fold.ErrNotFound)
}

// failing is called with mu held.
func (d *Fake) failing(method string) error {
	if d.Fail == nil {
		return nil
	}
	return d.Fail(method)
}

func (h *held) memory(id string) (wire.Memory, error) {
	fid, err := fold.ParseID(id)
	if err != nil {
		return wire.Memory{}, err
	}
	m, ok := h.memories[string(fid)]
	if !ok {
		return wire.Memory{}, fmt.Errorf("memory %s: %w", id, fold.ErrNotFound)
	}
	return m, nil
}

func (h *held) full(m wire.Memory) wire.Memory {
	for _, l := range h.links {
		switch m.ID {
		case l.SourceID:
			l.Direction, l.Title = "out", h.memories[l.TargetID].Title
			m.Links = append(m.Links, l)
		case l.TargetID:
			l.Direction, l.Title = "in", h.memories[l.SourceID].Title
			m.Backlinks = append(m.Backlinks, l)
		}
	}
	return m
}

func reply(m wire.Memory, created bool) wire.WriteReply {
	return wire.WriteReply{
		ID: m.ID, Title: m.Title, Created: created, ContentHash: m.ContentHash, Path: m.Path, Project: m.Project,
		WriteState: wire.WriteState{Durable: true},
	}
}

func title(content string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(content), "\n")
	return strings.TrimSpace(strings.TrimLeft(first, "# "))
}

// Emit sends an event to every subscriber.
func (d *Fake) Emit(typ, project string, data map[string]any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.emit(typ, project, data)
}

func (d *Fake) emit(typ, project string, data map[string]any) {
	e := wire.Event{ID: uint64(len(d.events) + 1), Type: typ, Project: project, Time: d.now, Data: data}
	d.events = append(d.events, e)
	for ch, sc := range d.subs {
		if project != "" && !sc.CanRead(project) {
			continue
		}
		select {
		case ch <- e:
		default: // a reader that is 64 behind is dropped, as in the daemon
			delete(d.subs, ch)
			close(ch)
		}
	}
}

// Subscribers returns how many listen now.
func (d *Fake) Subscribers() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.subs)
}

// Subscribe sends events until ctx ends.
func (d *Fake) Subscribe(ctx context.Context, sc fold.Scope, after uint64) <-chan wire.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	ch := make(chan wire.Event, 64+len(d.events))
	if after > 0 {
		for _, e := range d.events {
			if e.ID > after && (e.Project == "" || sc.CanRead(e.Project)) {
				ch <- e
			}
		}
	}
	d.subs[ch] = sc
	context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if _, ok := d.subs[ch]; ok {
			delete(d.subs, ch)
			close(ch)
		}
	})
	return ch
}

// Projects lists the projects of the scope.
func (d *Fake) Projects(_ context.Context, sc fold.Scope) (wire.ProjectList, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.failing("Projects"); err != nil {
		return wire.ProjectList{}, err
	}
	var out wire.ProjectList
	for _, h := range d.projects {
		if sc.CanRead(h.project.Slug) {
			out.Items = append(out.Items, h.project)
		}
	}
	return out, nil
}

// Project returns one project.
func (d *Fake) Project(_ context.Context, sc fold.Scope, slug string) (wire.Project, error) {
	h, unlock, err := d.open("Project", sc, slug)
	defer unlock()
	if err != nil {
		return wire.Project{}, err
	}
	return h.project, nil
}

// AddProject registers a project under the last part of its path.
func (d *Fake) AddProject(_ context.Context, _ fold.Scope, in wire.ProjectCreate) (wire.ProjectAdded, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.failing("AddProject"); err != nil {
		return wire.ProjectAdded{}, err
	}
	slug := in.Slug
	if slug == "" {
		slug = fold.Slug(in.Path[strings.LastIndex(in.Path, "/")+1:])
	}
	for _, h := range d.projects {
		if h.project.Slug == slug {
			return wire.ProjectAdded{Project: h.project}, nil
		}
	}
	d.emit("project:added", slug, nil)
	return wire.ProjectAdded{Project: d.add(slug, in.Path).project, Created: true, JobID: d.job(slug).ID}, nil
}

func (d *Fake) job(slug string) wire.Job {
	j := wire.Job{ID: fmt.Sprintf("%016x", len(d.jobs)+1), Type: "index", Project: slug, Status: "pending", CreatedAt: d.now}
	d.jobs = append(d.jobs, j)
	return j
}

// UpdateProject renames a project.
func (d *Fake) UpdateProject(_ context.Context, sc fold.Scope, slug string, in wire.ProjectUpdate) (wire.Project, error) {
	h, unlock, err := d.open("UpdateProject", sc, slug)
	defer unlock()
	if err != nil {
		return wire.Project{}, err
	}
	if in.Name != nil {
		h.project.Name = *in.Name
	}
	return h.project, nil
}

// RemoveProject forgets a project.
func (d *Fake) RemoveProject(_ context.Context, sc fold.Scope, slug string, _ wire.ProjectRemove) error {
	h, unlock, err := d.open("RemoveProject", sc, slug)
	defer unlock()
	if err != nil {
		return err
	}
	d.projects = slices.DeleteFunc(d.projects, func(x *held) bool { return x == h })
	d.emit("project:removed", slug, nil)
	return nil
}

// Status counts everything.
func (d *Fake) Status(_ context.Context, sc fold.Scope) (wire.Status, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.failing("Status"); err != nil {
		return wire.Status{}, err
	}
	st := wire.Status{Version: "1.2.3", PID: 1, StartedAt: d.now, Ready: true, Embedder: "builtin", Counters: map[string]int64{"files_read": 7, "parses": 3}}
	for _, h := range d.projects {
		if sc.CanRead(h.project.Slug) {
			st.Projects = append(st.Projects, h.status())
		}
	}
	return st, nil
}

func (h *held) status() wire.ProjectStatus {
	st := wire.ProjectStatus{Slug: h.project.Slug, Key: h.project.Checkouts[0].Key, Path: h.project.Checkouts[0].Path, State: "ready", Memories: len(h.memories), Links: len(h.links), Sync: "off"}
	if h.paused {
		st.State = "paused"
	}
	return st
}

// ProjectStatus counts one project.
func (d *Fake) ProjectStatus(_ context.Context, sc fold.Scope, slug string) (wire.ProjectStatus, error) {
	h, unlock, err := d.open("ProjectStatus", sc, slug)
	defer unlock()
	if err != nil {
		return wire.ProjectStatus{}, err
	}
	return h.status(), nil
}

// Health is always ok.
func (d *Fake) Health(context.Context) wire.Health {
	return wire.Health{Status: "ok", Version: "1.2.3"}
}

// Problems is one file set aside.
func (d *Fake) Problems(_ context.Context, sc fold.Scope, slug string, _ wire.ProblemQuery) (wire.ProblemList, error) {
	_, unlock, err := d.open("Problems", sc, slug)
	defer unlock()
	if err != nil {
		return wire.ProblemList{}, err
	}
	return wire.ProblemList{Items: []wire.FileProblem{{Path: "fold/a.md", State: "quarantined", Reason: "line 3: duplicate key"}}}, nil
}

// Drift finds all in step.
func (d *Fake) Drift(_ context.Context, sc fold.Scope, slug string) (wire.Drift, error) {
	h, unlock, err := d.open("Drift", sc, slug)
	defer unlock()
	if err != nil {
		return wire.Drift{}, err
	}
	n := len(h.sorted())
	return wire.Drift{Files: n, Memories: n, Documents: n, Vectors: n, Differences: []string{}, Behind: []string{}}, nil
}

// Algorithm returns the settings.
func (d *Fake) Algorithm(_ context.Context, sc fold.Scope, slug string) (wire.Algorithm, error) {
	h, unlock, err := d.open("Algorithm", sc, slug)
	defer unlock()
	if err != nil {
		return wire.Algorithm{}, err
	}
	return h.algorithm, nil
}

// SetAlgorithm changes the settings.
func (d *Fake) SetAlgorithm(_ context.Context, sc fold.Scope, slug string, in wire.Algorithm) (wire.Algorithm, error) {
	h, unlock, err := d.open("SetAlgorithm", sc, slug)
	defer unlock()
	if err != nil {
		return wire.Algorithm{}, err
	}
	h.algorithm = in
	return in, nil
}

// Pause pauses.
func (d *Fake) Pause(_ context.Context, sc fold.Scope, slug string, _ wire.Pause) (wire.ProjectStatus, error) {
	return d.setPaused("Pause", sc, slug, true)
}

// Resume resumes.
func (d *Fake) Resume(_ context.Context, sc fold.Scope, slug string) (wire.ProjectStatus, error) {
	return d.setPaused("Resume", sc, slug, false)
}

func (d *Fake) setPaused(method string, sc fold.Scope, slug string, on bool) (wire.ProjectStatus, error) {
	h, unlock, err := d.open(method, sc, slug)
	defer unlock()
	if err != nil {
		return wire.ProjectStatus{}, err
	}
	h.paused = on
	return h.status(), nil
}

// ReloadModels changes nothing: all projects have the builtin model.
func (d *Fake) ReloadModels(_ context.Context, sc fold.Scope) (wire.EmbedderList, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.failing("ReloadModels"); err != nil {
		return wire.EmbedderList{}, err
	}
	list := wire.EmbedderList{Items: []wire.ProjectEmbedder{}}
	for _, h := range d.projects {
		if sc.CanRead(h.project.Slug) {
			list.Items = append(list.Items, wire.ProjectEmbedder{Slug: h.project.Slug, Embedder: &wire.Embedder{Provider: "builtin", Where: "this machine"}})
		}
	}
	return list, nil
}

// ProjectOfPath compares paths as text.
func (d *Fake) ProjectOfPath(_ context.Context, sc fold.Scope, path string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.failing("ProjectOfPath"); err != nil {
		return "", err
	}
	for _, h := range d.projects {
		root := h.project.Checkouts[0].Path
		if sc.CanRead(h.project.Slug) && (path == root || strings.HasPrefix(path, root+"/")) {
			return h.project.Slug, nil
		}
	}
	return "", fmt.Errorf("path %s is in no checkout: %w", path, fold.ErrNotFound)
}

// Audit has one request.
func (d *Fake) Audit(_ context.Context, sc fold.Scope, in wire.AuditQuery) (wire.AuditList, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := wire.AuditList{Items: []wire.AuditLine{}}
	if err := d.failing("Audit"); err != nil {
		return list, err
	}
	if sc.CanRead("app") && (in.Project == "" || in.Project == "app") {
		list.Items = append(list.Items, wire.AuditLine{
			At: time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC), Project: "app", Host: "api.example.com", Action: "openai: 32 texts", Bytes: 20480, Outcome: "200 OK",
		})
	}
	return list, nil
}
