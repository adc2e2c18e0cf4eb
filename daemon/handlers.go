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
	"github.com/foldwatch/foldwatch/daemon/checkout"
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
	defer st.Release()
	r, err := st.Writes.Add(ctx, sc, in)
	return st.Checkout.Answered(r, err)
}

// UpdateMemory changes a memory and returns when the change is durable.
func (d *Daemon) UpdateMemory(ctx context.Context, sc fold.Scope, slug, id string, in wire.MemoryUpdate) (wire.WriteReply, error) {
	st, fid, err := d.openMemory(ctx, sc, slug, id, true)
	if err != nil {
		return wire.WriteReply{}, err
	}
	defer st.Release()
	r, err := st.Writes.Update(ctx, sc, fid, in)
	return st.Checkout.Answered(r, err)
}

// DeleteMemory removes a memory; its history keeps it.
func (d *Daemon) DeleteMemory(ctx context.Context, sc fold.Scope, slug, id, expectedHash string) (wire.WriteReply, error) {
	st, fid, err := d.openMemory(ctx, sc, slug, id, true)
	if err != nil {
		return wire.WriteReply{}, err
	}
	defer st.Release()
	r, err := st.Writes.Delete(ctx, sc, fid, expectedHash)
	return st.Checkout.Answered(r, err)
}

// openMemory holds a project's stores and resolves what the caller calls a memory: an
// id in any case, or the unambiguous beginning of one.
func (d *Daemon) openMemory(ctx context.Context, sc fold.Scope, slug, id string, write bool) (*checkout.Lease, fold.ID, error) {
	open := d.open
	if write {
		open = d.openToWrite
	}
	st, err := open(ctx, sc, slug)
	if err != nil {
		return nil, "", err
	}
	fid, err := st.Recall.Resolve(ctx, id)
	if err != nil {
		st.Release()
	}
	return st, fid, err
}

// GetMemory returns one memory and notes that it was used.
func (d *Daemon) GetMemory(ctx context.Context, sc fold.Scope, slug, id string) (wire.Memory, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.Memory{}, err
	}
	defer st.Release()
	fid, err := st.Recall.Resolve(ctx, id)
	if err != nil {
		return wire.Memory{}, err
	}
	m, err := st.Recall.Get(ctx, fid)
	if err != nil {
		return wire.Memory{}, err
	}
	m.RepositoryID = st.Checkout.Record.Key
	if m.Path != "" && st.Tracked {
		if b, err := st.Store.Read(m.Path); err == nil && fold.ContentHash(b) == m.ContentHash {
			st.InHistory(ctx, m.Path, b, &m.State)
		}
	} else if m.Path != "" {
		b, _, err := st.Store.History().LastBlob(ctx, m.Path)
		m.State.Committed = err == nil && fold.ContentHash(b) == m.ContentHash
		if runner, _ := st.Checkout.Sync.On(); runner != nil && m.State.Committed {
			pushed, err := st.Store.Syncer().OnRemote(m.Path, b)
			m.State.Pushed = err == nil && pushed
			if !m.State.Pushed && m.State.BlockedReason == "" {
				m.State.BlockedReason = st.Checkout.Sync.Unpushed()
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
	defer st.Release()
	return st.Recall.List(ctx, in)
}

// MemorySource returns the source a memory describes.
func (d *Daemon) MemorySource(ctx context.Context, sc fold.Scope, slug, id string, start, end int) (wire.SourceText, error) {
	st, fid, err := d.openMemory(ctx, sc, slug, id, false)
	if err != nil {
		return wire.SourceText{}, err
	}
	defer st.Release()
	return st.Recall.SourceText(ctx, fid, start, end)
}

// Links returns the links of a memory in both directions.
func (d *Daemon) Links(ctx context.Context, sc fold.Scope, slug, id string) (wire.LinkList, error) {
	st, fid, err := d.openMemory(ctx, sc, slug, id, false)
	if err != nil {
		return wire.LinkList{}, err
	}
	defer st.Release()
	return st.Recall.Links(ctx, fid)
}

// AddLink writes a link into a memory.
func (d *Daemon) AddLink(ctx context.Context, sc fold.Scope, slug, id string, in wire.LinkCreate) (wire.Link, error) {
	st, fid, err := d.openMemory(ctx, sc, slug, id, true)
	if err != nil {
		return wire.Link{}, err
	}
	defer st.Release()
	to, err := st.Recall.Resolve(ctx, in.TargetID)
	if err != nil {
		return wire.Link{}, fmt.Errorf("link target: %w", err)
	}
	in.TargetID = string(to)
	return st.Writes.AddLink(ctx, sc, fid, in)
}

// RemoveLink takes a written link out of its memory.
func (d *Daemon) RemoveLink(ctx context.Context, sc fold.Scope, slug, linkID string) error {
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return err
	}
	defer st.Release()
	return st.Writes.RemoveLink(ctx, sc, linkID)
}

// Upload makes memories of files.
func (d *Daemon) Upload(ctx context.Context, sc fold.Scope, slug string, in wire.FilesUpload) (wire.FilesUploaded, error) {
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return wire.FilesUploaded{}, err
	}
	defer st.Release()
	return st.Writes.Upload(ctx, sc, in)
}

// Adopt gives hand-made notes ids and places of their own.
func (d *Daemon) Adopt(ctx context.Context, sc fold.Scope, slug string, in wire.Adopt) (wire.Adopted, error) {
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return wire.Adopted{}, err
	}
	defer st.Release()
	if err := st.Checkout.Settled(ctx); err != nil {
		return wire.Adopted{}, err
	}
	var ids []fold.ID
	if in.All {
		if ids, err = st.Recall.Notes(ctx); err != nil {
			return wire.Adopted{}, err
		}
	}
	for _, s := range in.IDs {
		id, err := st.Recall.Resolve(ctx, s)
		if err != nil {
			return wire.Adopted{}, err
		}
		ids = append(ids, id)
	}
	return st.Writes.Adopt(ctx, sc, ids)
}

// RemoveMissing confirms that memory files which vanished were meant to go.
func (d *Daemon) RemoveMissing(ctx context.Context, sc fold.Scope, slug string, in wire.RemoveMissing) (wire.RemovedMissing, error) {
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return wire.RemovedMissing{}, err
	}
	defer st.Release()
	var only []string
	for _, id := range in.IDs {
		path, err := st.PathOf(ctx, id)
		if err != nil {
			return wire.RemovedMissing{}, err
		}
		only = append(only, path)
	}
	paths, err := st.Store.ConfirmMissing(ctx, only)
	if err != nil {
		return wire.RemovedMissing{}, err
	}
	for _, p := range paths {
		if id, ok := fold.OwnPath(p); ok {
			if err := st.Checkout.State.SetGone(ctx, st.Checkout.Record.Slug, id, true); err != nil {
				return wire.RemovedMissing{}, err
			}
		}
	}
	if !st.Store.Status().Guarded {
		st.Checkout.Unguard()
	}
	st.Checkout.Written(paths)
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
	defer st.Release()
	if in.WaitForPending {
		if err := st.Checkout.Settled(ctx); err != nil {
			return wire.SearchReply{}, err
		}
	}
	end, err := d.parts.Limiter.Search(ctx)
	if err != nil {
		return wire.SearchReply{}, err
	}
	defer end()
	kept := &d.kept
	if channels != nil {
		kept = nil
	}
	reply, err := recall.SearchAll(ctx, []recall.Checkout{{Project: st.Checkout.Record.Slug, Acquire: st.Lend}}, in, channels, kept)
	reply.IndexStale = st.Checkout.Busy()
	return reply, err
}

// Candidates returns what a search of one project finds before it is ranked.
func (d *Daemon) Candidates(ctx context.Context, sc fold.Scope, slug string, in wire.SearchRequest, channels recall.Channels) (recall.Found, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return recall.Found{}, err
	}
	defer st.Release()
	return st.Recall.Candidates(ctx, in, channels)
}

// SearchAll finds memories of all projects sc may read, ranked together. Of stores
// that rest only some can be open at once: each checkout is asked in turn, a few at
// a time, those that are open before the others.
func (d *Daemon) SearchAll(ctx context.Context, sc fold.Scope, in wire.SearchRequest) (wire.SearchReply, error) {
	var checkouts []recall.Checkout
	var stale atomic.Bool
	for _, cos := range d.bySlug(sc) {
		checkouts = append(checkouts, recall.Checkout{Project: cos[0].Record.Slug, Ready: cos[0].Slot.IsOpen, Acquire: func(ctx context.Context) (*recall.Service, func(), error) {
			st, err := checkout.AcquireAny(ctx, cos)
			if err != nil {
				return nil, nil, err // one that cannot be opened does not hide the others; status names it
			}
			if in.WaitForPending {
				if err := st.Checkout.Settled(ctx); err != nil {
					st.Release()
					return nil, nil, err
				}
			}
			if st.Checkout.Busy() {
				stale.Store(true)
			}
			return st.Recall, st.Release, nil
		}})
	}
	// Not by the limiter: whoever waits there holds stores, and these wait for stores.
	reply, err := recall.SearchAll(ctx, checkouts, in, nil, &d.kept)
	reply.IndexStale = stale.Load()
	return reply, err
}

// Context returns what surrounds a memory.
func (d *Daemon) Context(ctx context.Context, sc fold.Scope, slug, id string, in wire.ContextRequest) (wire.ContextReply, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.ContextReply{}, err
	}
	defer st.Release()
	fid, err := st.Recall.Resolve(ctx, id)
	if err != nil {
		return wire.ContextReply{}, err
	}
	return st.Recall.Context(ctx, fid, in)
}

// TaskContext returns what helps with a task.
func (d *Daemon) TaskContext(ctx context.Context, sc fold.Scope, slug string, in wire.TaskContextRequest) (wire.TaskContextReply, error) {
	st, err := d.open(ctx, sc, slug)
	if err != nil {
		return wire.TaskContextReply{}, err
	}
	defer st.Release()
	end, err := d.parts.Limiter.Search(ctx)
	if err != nil {
		return wire.TaskContextReply{}, err
	}
	defer end()
	return st.Recall.TaskContext(ctx, in)
}

// Reindex queues a sweep.
func (d *Daemon) Reindex(ctx context.Context, sc fold.Scope, slug string, in wire.Reindex) (wire.JobRef, error) {
	if in.Rebuild { // also of what cannot be opened as it is
		cos, err := d.of(sc, slug)
		if err != nil {
			return wire.JobRef{}, err
		}
		if !sc.CanWrite(cos[0].Record.Slug) {
			return wire.JobRef{}, fmt.Errorf("rebuild the index of %s: %w", slug, fold.ErrForbidden)
		}
		if err := cos[0].Rebuild(ctx); err != nil {
			return wire.JobRef{}, err
		}
	}
	st, err := d.openToWrite(ctx, sc, slug)
	if err != nil {
		return wire.JobRef{}, err
	}
	defer st.Release()
	co := st.Checkout
	if in.RetryFailed {
		return wire.JobRef{JobID: co.Add(work.Task{Kind: work.Retry, Priority: work.Soon, All: true})}, nil
	}
	if in.Full {
		if err := d.parts.State.ClearGone(ctx, co.Record.Slug); err != nil {
			return wire.JobRef{}, err
		}
	}
	return wire.JobRef{JobID: co.Add(work.Task{Kind: work.Sweep, Priority: work.Soon, Full: in.Full, History: in.History})}, nil
}

// Jobs lists work that is done, waits, or ended lately, newest first.
func (d *Daemon) Jobs(_ context.Context, sc fold.Scope, slug string, limit int) (wire.JobList, error) {
	if limit <= 0 || limit > 500 {
		limit = 50
	}
	list := wire.JobList{Items: []wire.Job{}}
	for _, co := range d.sorted() {
		if base, _, _ := strings.Cut(slug, "@"); sc.CanRead(co.Record.Slug) && (slug == "" || co.Record.Slug == base) {
			list.Items = append(list.Items, co.Jobs()...)
		}
	}
	sort.SliceStable(list.Items, func(i, j int) bool { return list.Items[i].CreatedAt.After(list.Items[j].CreatedAt) })
	list.Items = list.Items[:min(len(list.Items), limit)]
	return list, nil
}

// Job returns one piece of work.
func (d *Daemon) Job(_ context.Context, sc fold.Scope, id string) (wire.Job, error) {
	for _, co := range d.sorted() {
		if !sc.CanRead(co.Record.Slug) {
			continue
		}
		all := co.Jobs()
		if i := slices.IndexFunc(all, func(j wire.Job) bool { return j.ID == id }); i >= 0 {
			return all[i], nil
		}
	}
	return wire.Job{}, fmt.Errorf("job %s: %w", id, fold.ErrNotFound)
}

// Subscribe sends events of the projects sc may read.
func (d *Daemon) Subscribe(ctx context.Context, sc fold.Scope, after uint64) <-chan wire.Event {
	return d.parts.Events.Subscribe(ctx, after, func(e wire.Event) bool { return e.Project == "" || sc.CanRead(e.Project) })
}

// within reports whether path is root or lies below it.
func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
