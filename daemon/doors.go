package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync/atomic"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/recall"
	"github.com/foldwatch/foldwatch/daemon/work"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// AddMemory writes a new memory and returns when it is durable.
func (d *Daemon) AddMemory(ctx context.Context, sc fold.Scope, slug string, in wire.MemoryCreate) (wire.WriteReply, error) {
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return wire.WriteReply{}, err
	}
	defer st.letGo()
	r, err := st.door().Add(ctx, sc, in)
	return st.co.answered(r, err)
}

// UpdateMemory changes a memory and returns when the change is durable.
func (d *Daemon) UpdateMemory(ctx context.Context, sc fold.Scope, slug, id string, in wire.MemoryUpdate) (wire.WriteReply, error) {
	st, fid, err := d.openMemory(ctx, sc, slug, id, true)
	if err != nil {
		return wire.WriteReply{}, err
	}
	defer st.letGo()
	r, err := st.door().Update(ctx, sc, fid, in)
	return st.co.answered(r, err)
}

// DeleteMemory removes a memory; its history keeps it.
func (d *Daemon) DeleteMemory(ctx context.Context, sc fold.Scope, slug, id, expectedHash string) (wire.WriteReply, error) {
	st, fid, err := d.openMemory(ctx, sc, slug, id, true)
	if err != nil {
		return wire.WriteReply{}, err
	}
	defer st.letGo()
	r, err := st.door().Delete(ctx, sc, fid, expectedHash)
	return st.co.answered(r, err)
}

// openMemory holds a project's stores and resolves what the caller calls a memory: an
// id in any case, or the unambiguous beginning of one.
func (d *Daemon) openMemory(ctx context.Context, sc fold.Scope, slug, id string, write bool) (*hold, fold.ID, error) {
	open := d.open
	if write {
		open = d.openToWrite
	}
	st, err := open(ctx, sc, slug)
	if err != nil {
		return nil, "", err
	}
	fid, err := st.recall.Resolve(ctx, id)
	if err != nil {
		st.letGo()
	}
	return st, fid, err
}

// GetMemory returns one memory and notes that it was used.
func (d *Daemon) GetMemory(ctx context.Context, sc fold.Scope, slug, id string) (wire.Memory, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.Memory{}, err
	}
	defer st.letGo()
	fid, err := st.recall.Resolve(ctx, id)
	if err != nil {
		return wire.Memory{}, err
	}
	m, err := st.recall.Get(ctx, fid)
	if err != nil {
		return wire.Memory{}, err
	}
	m.RepositoryID = st.co.rec.Key
	if m.Path != "" && st.tracked {
		if b, err := st.store.Read(m.Path); err == nil && fold.ContentHash(b) == m.ContentHash {
			st.inHistory(ctx, m.Path, b, &m.State)
		}
	} else if m.Path != "" {
		b, _, err := st.store.History().LastBlob(ctx, m.Path)
		m.State.Committed = err == nil && fold.ContentHash(b) == m.ContentHash
		if runner, _ := st.co.sync.On(); runner != nil && m.State.Committed {
			pushed, err := st.store.Syncer().OnRemote(m.Path, b)
			m.State.Pushed = err == nil && pushed
			if !m.State.Pushed && m.State.BlockedReason == "" {
				m.State.BlockedReason = st.co.sync.Unpushed()
			}
		}
	}
	return m, nil
}

// ListMemories returns one page of memories.
func (d *Daemon) ListMemories(ctx context.Context, sc fold.Scope, slug string, in wire.ListQuery) (wire.MemoryList, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.MemoryList{}, err
	}
	defer st.letGo()
	return st.recall.List(ctx, in)
}

// MemorySource returns the source a memory describes.
func (d *Daemon) MemorySource(ctx context.Context, sc fold.Scope, slug, id string, start, end int) (wire.SourceText, error) {
	st, fid, err := d.openMemory(ctx, sc, slug, id, false)
	if err != nil {
		return wire.SourceText{}, err
	}
	defer st.letGo()
	return st.recall.SourceText(ctx, fid, start, end)
}

// Links returns the links of a memory in both directions.
func (d *Daemon) Links(ctx context.Context, sc fold.Scope, slug, id string) (wire.LinkList, error) {
	st, fid, err := d.openMemory(ctx, sc, slug, id, false)
	if err != nil {
		return wire.LinkList{}, err
	}
	defer st.letGo()
	return st.recall.Links(ctx, fid)
}

// AddLink writes a link into a memory.
func (d *Daemon) AddLink(ctx context.Context, sc fold.Scope, slug, id string, in wire.LinkCreate) (wire.Link, error) {
	st, fid, err := d.openMemory(ctx, sc, slug, id, true)
	if err != nil {
		return wire.Link{}, err
	}
	defer st.letGo()
	to, err := st.recall.Resolve(ctx, in.TargetID)
	if err != nil {
		return wire.Link{}, fmt.Errorf("link target: %w", err)
	}
	in.TargetID = string(to)
	return st.door().AddLink(ctx, sc, fid, in)
}

// RemoveLink takes a written link out of its memory.
func (d *Daemon) RemoveLink(ctx context.Context, sc fold.Scope, slug, linkID string) error {
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return err
	}
	defer st.letGo()
	return st.door().RemoveLink(ctx, sc, linkID)
}

// Upload makes memories of files.
func (d *Daemon) Upload(ctx context.Context, sc fold.Scope, slug string, in wire.FilesUpload) (wire.FilesUploaded, error) {
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return wire.FilesUploaded{}, err
	}
	defer st.letGo()
	return st.door().Upload(ctx, sc, in)
}

// Adopt gives hand-made notes ids and places of their own.
func (d *Daemon) Adopt(ctx context.Context, sc fold.Scope, slug string, in wire.Adopt) (wire.Adopted, error) {
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return wire.Adopted{}, err
	}
	defer st.letGo()
	if err := st.co.settled(ctx); err != nil {
		return wire.Adopted{}, err
	}
	var ids []fold.ID
	if in.All {
		if ids, err = st.recall.Notes(ctx); err != nil {
			return wire.Adopted{}, err
		}
	}
	for _, s := range in.IDs {
		id, err := st.recall.Resolve(ctx, s)
		if err != nil {
			return wire.Adopted{}, err
		}
		ids = append(ids, id)
	}
	return st.door().Adopt(ctx, sc, ids)
}

// RemoveMissing confirms that memory files which vanished were meant to go.
func (d *Daemon) RemoveMissing(ctx context.Context, sc fold.Scope, slug string, in wire.RemoveMissing) (wire.RemovedMissing, error) {
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return wire.RemovedMissing{}, err
	}
	defer st.letGo()
	var only []string
	for _, id := range in.IDs {
		path, err := st.pathOf(ctx, id)
		if err != nil {
			return wire.RemovedMissing{}, err
		}
		only = append(only, path)
	}
	paths, err := st.store.ConfirmMissing(ctx, only)
	if err != nil {
		return wire.RemovedMissing{}, err
	}
	for _, p := range paths {
		if id, ok := fold.OwnPath(p); ok {
			if err := st.co.parts.state.SetGone(ctx, st.co.rec.Slug, id, true); err != nil {
				return wire.RemovedMissing{}, err
			}
		}
	}
	if !st.store.Status().Guarded {
		st.co.commits.unguard()
	}
	st.co.written(paths)
	return wire.RemovedMissing{Removed: append([]string{}, paths...)}, nil
}

// Search finds memories of one project.
func (d *Daemon) Search(ctx context.Context, sc fold.Scope, slug string, in wire.SearchRequest) (wire.SearchReply, error) {
	return d.SearchBy(ctx, sc, slug, in, nil)
}

// SearchBy is Search by some of its channels alone, which shows what each is
// worth; none means all.
func (d *Daemon) SearchBy(ctx context.Context, sc fold.Scope, slug string, in wire.SearchRequest, channels recall.Channels) (wire.SearchReply, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.SearchReply{}, err
	}
	defer st.letGo()
	if in.WaitForPending {
		if err := st.co.settled(ctx); err != nil {
			return wire.SearchReply{}, err
		}
	}
	end, err := d.parts.desk.Search(ctx)
	if err != nil {
		return wire.SearchReply{}, err
	}
	defer end()
	kept := &d.kept
	if channels != nil {
		kept = nil
	}
	reply, err := recall.SearchAll(ctx, []recall.Lender{{Project: st.co.rec.Slug, Lend: st.lend}}, in, channels, kept)
	reply.IndexStale = st.co.busy()
	return reply, err
}

// Candidates returns what a search of one project finds before it is ranked.
func (d *Daemon) Candidates(ctx context.Context, sc fold.Scope, slug string, in wire.SearchRequest, channels recall.Channels) (recall.Found, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return recall.Found{}, err
	}
	defer st.letGo()
	return st.recall.Candidates(ctx, in, channels)
}

// SearchAll finds memories of all projects sc may read, ranked together. Of stores
// that rest only some can be open at once: each checkout is asked in turn, a few at
// a time, those that are open before the others.
func (d *Daemon) SearchAll(ctx context.Context, sc fold.Scope, in wire.SearchRequest) (wire.SearchReply, error) {
	var doors []recall.Lender
	var stale atomic.Bool
	for _, cos := range d.bySlug(sc) {
		doors = append(doors, recall.Lender{Project: cos[0].rec.Slug, Ready: cos[0].slot.IsOpen, Lend: func(ctx context.Context) (*recall.Door, func(), error) {
			st, err := holdAny(ctx, cos)
			if err != nil {
				return nil, nil, err // one that cannot be opened does not hide the others; status names it
			}
			if in.WaitForPending {
				if err := st.co.settled(ctx); err != nil {
					st.letGo()
					return nil, nil, err
				}
			}
			if st.co.busy() {
				stale.Store(true)
			}
			return st.recall, st.letGo, nil
		}})
	}
	// Not by the desk: whoever waits there holds stores, and these wait for stores.
	reply, err := recall.SearchAll(ctx, doors, in, nil, &d.kept)
	reply.IndexStale = stale.Load()
	return reply, err
}

// Context returns what surrounds a memory.
func (d *Daemon) Context(ctx context.Context, sc fold.Scope, slug, id string, in wire.ContextRequest) (wire.ContextReply, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.ContextReply{}, err
	}
	defer st.letGo()
	fid, err := st.recall.Resolve(ctx, id)
	if err != nil {
		return wire.ContextReply{}, err
	}
	return st.recall.Context(ctx, fid, in)
}

// TaskContext returns what helps with a task.
func (d *Daemon) TaskContext(ctx context.Context, sc fold.Scope, slug string, in wire.TaskContextRequest) (wire.TaskContextReply, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.TaskContextReply{}, err
	}
	defer st.letGo()
	end, err := d.parts.desk.Search(ctx)
	if err != nil {
		return wire.TaskContextReply{}, err
	}
	defer end()
	return st.recall.TaskContext(ctx, in)
}

// Reindex queues a sweep.
func (d *Daemon) Reindex(ctx context.Context, sc fold.Scope, slug string, in wire.Reindex) (wire.JobRef, error) {
	if in.Rebuild { // also of what cannot be opened as it is
		cos, err := d.of(sc, slug)
		if err != nil {
			return wire.JobRef{}, err
		}
		if !sc.CanWrite(cos[0].rec.Slug) {
			return wire.JobRef{}, fmt.Errorf("rebuild the index of %s: %w", slug, fold.ErrForbidden)
		}
		if err := cos[0].rebuild(ctx); err != nil {
			return wire.JobRef{}, err
		}
	}
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return wire.JobRef{}, err
	}
	defer st.letGo()
	co := st.co
	if in.RetryFailed {
		return wire.JobRef{JobID: co.add(work.Task{Kind: work.Retry, Priority: work.Soon, All: true})}, nil
	}
	if in.Full {
		if err := d.parts.state.ClearGone(ctx, co.rec.Slug); err != nil {
			return wire.JobRef{}, err
		}
	}
	return wire.JobRef{JobID: co.add(work.Task{Kind: work.Sweep, Priority: work.Soon, Full: in.Full, History: in.History})}, nil
}

// Jobs lists work that is done, waits, or ended lately, newest first.
func (d *Daemon) Jobs(_ context.Context, sc fold.Scope, slug string, limit int) (wire.JobList, error) {
	if limit <= 0 || limit > 500 {
		limit = 50
	}
	list := wire.JobList{Items: []wire.Job{}}
	for _, co := range d.sorted() {
		if base, _, _ := strings.Cut(slug, "@"); sc.CanRead(co.rec.Slug) && (slug == "" || co.rec.Slug == base) {
			list.Items = append(list.Items, co.jobs()...)
		}
	}
	sort.SliceStable(list.Items, func(i, j int) bool { return list.Items[i].CreatedAt.After(list.Items[j].CreatedAt) })
	list.Items = list.Items[:min(len(list.Items), limit)]
	return list, nil
}

// Job returns one piece of work.
func (d *Daemon) Job(_ context.Context, sc fold.Scope, id string) (wire.Job, error) {
	for _, co := range d.sorted() {
		if !sc.CanRead(co.rec.Slug) {
			continue
		}
		all := co.jobs()
		if i := slices.IndexFunc(all, func(j wire.Job) bool { return j.ID == id }); i >= 0 {
			return all[i], nil
		}
	}
	return wire.Job{}, fmt.Errorf("job %s: %w", id, fold.ErrNotFound)
}

// Subscribe sends events of the projects sc may read.
func (d *Daemon) Subscribe(ctx context.Context, sc fold.Scope, after uint64) <-chan wire.Event {
	return d.parts.bus.Subscribe(ctx, after, func(e wire.Event) bool { return e.Project == "" || sc.CanRead(e.Project) })
}

// within reports whether path is root or lies below it.
func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
