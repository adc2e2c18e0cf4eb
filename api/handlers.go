// Package api serves the daemon over HTTP: it turns requests into calls of [Handlers],
// and replies, errors and events into HTTP. It decides nothing about memories itself. Its
// state is in memory: rate limits, and answers stored for idempotency keys.
//
// # What holds on every route
//
// Who may call a route stands beside it in one table, see [Routes]. Errors are
// problem documents (RFC 9457) made from one table of kinds, see [wire.Kind]. Bodies
// are those of package wire. A POST with an Idempotency-Key is done once. A
// memory has its content hash as strong ETag; a write with a stale If-Match is
// answered 412, one with a stale expected_hash 409, both with the two versions.
package api

import (
	"context"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Handlers is what the daemon does for a caller. Every method checks the scope, wraps
// errors with the kinds of package fold, and is safe for concurrent use. A slug is ""
// only where a comment says so.
type Handlers interface {
	ProjectHandlers
	RepositoryHandlers
	MemoryHandlers
	ProposalHandlers
	HistoryHandlers

	// Search searches one project, SearchAll all projects that the scope may read.
	Search(ctx context.Context, sc fold.Scope, slug string, in wire.SearchRequest) (wire.SearchReply, error)
	SearchAll(ctx context.Context, sc fold.Scope, in wire.SearchRequest) (wire.SearchReply, error)
	// Context returns what surrounds one memory, TaskContext what helps with a task.
	Context(ctx context.Context, sc fold.Scope, slug, id string, in wire.ContextRequest) (wire.ContextReply, error)
	TaskContext(ctx context.Context, sc fold.Scope, slug string, in wire.TaskContextRequest) (wire.TaskContextReply, error)
	// Prime returns what an agent should know when its session begins.
	Prime(ctx context.Context, sc fold.Scope, slug string, in wire.PrimeQuery) (wire.Prime, error)

	// ReportEvent records what happened in an agent's session, for as long as it
	// lasts; SessionEvents returns it.
	ReportEvent(ctx context.Context, sc fold.Scope, slug, session string, in wire.SessionEvent) error
	SessionEvents(ctx context.Context, sc fold.Scope, slug, session string) (wire.SessionEvents, error)

	// Reindex queues work; Jobs lists it, newest first, slug "" meaning all
	// projects and limit 0 a default.
	Reindex(ctx context.Context, sc fold.Scope, slug string, in wire.Reindex) (wire.JobRef, error)
	Jobs(ctx context.Context, sc fold.Scope, slug string, limit int) (wire.JobList, error)
	Job(ctx context.Context, sc fold.Scope, id string) (wire.Job, error)

	// Subscribe sends what happens after the event numbered after; 0 means from
	// now on. The channel is closed when ctx ends.
	Subscribe(ctx context.Context, sc fold.Scope, after uint64) <-chan wire.Event
}

// ProjectHandlers are those of the registry of checkouts.
type ProjectHandlers interface {
	Projects(ctx context.Context, sc fold.Scope) (wire.ProjectList, error)
	Project(ctx context.Context, sc fold.Scope, slug string) (wire.Project, error)
	AddProject(ctx context.Context, sc fold.Scope, in wire.ProjectCreate) (wire.ProjectAdded, error)
	UpdateProject(ctx context.Context, sc fold.Scope, slug string, in wire.ProjectUpdate) (wire.Project, error)
	RemoveProject(ctx context.Context, sc fold.Scope, slug string, in wire.ProjectRemove) error
	Status(ctx context.Context, sc fold.Scope) (wire.Status, error)
	ProjectStatus(ctx context.Context, sc fold.Scope, slug string) (wire.ProjectStatus, error)
	Health(ctx context.Context) wire.Health
	Problems(ctx context.Context, sc fold.Scope, slug string, in wire.ProblemQuery) (wire.ProblemList, error)
	// Drift compares the derived data of a project with its files; it reads all of both.
	Drift(ctx context.Context, sc fold.Scope, slug string) (wire.Drift, error)
	Algorithm(ctx context.Context, sc fold.Scope, slug string) (wire.Algorithm, error)
	SetAlgorithm(ctx context.Context, sc fold.Scope, slug string, in wire.Algorithm) (wire.Algorithm, error)
	Pause(ctx context.Context, sc fold.Scope, slug string, in wire.Pause) (wire.ProjectStatus, error)
	Resume(ctx context.Context, sc fold.Scope, slug string) (wire.ProjectStatus, error)
	// ReloadModels applies what the user file now says about models and the projects that
	// may use them, and starts to make their vectors.
	ReloadModels(ctx context.Context, sc fold.Scope) (wire.EmbedderList, error)
	// Audit lists the requests that left this machine.
	Audit(ctx context.Context, sc fold.Scope, in wire.AuditQuery) (wire.AuditList, error)
	// ProjectOfPath returns the slug of the checkout that contains path, and
	// ErrNotFound if none does.
	ProjectOfPath(ctx context.Context, sc fold.Scope, path string) (slug string, err error)
}

// RepositoryHandlers sync memories with a remote. An id is that of a [wire.Repository].
type RepositoryHandlers interface {
	Repositories(ctx context.Context, sc fold.Scope, slug string) (wire.RepositoryList, error)
	// AddRepository turns sync on, RemoveRepository off.
	AddRepository(ctx context.Context, sc fold.Scope, slug string, in wire.RepositoryCreate) (wire.RepositoryAdded, error)
	RemoveRepository(ctx context.Context, sc fold.Scope, slug, id string) error
	// Sync makes one round and returns when searches find what was received.
	Sync(ctx context.Context, sc fold.Scope, slug, id string, in wire.SyncRequest) (wire.SyncReply, error)
}

// MemoryHandlers read and write memories and their links.
type MemoryHandlers interface {
	AddMemory(ctx context.Context, sc fold.Scope, slug string, in wire.MemoryCreate) (wire.WriteReply, error)
	GetMemory(ctx context.Context, sc fold.Scope, slug, id string) (wire.Memory, error) // counts as use
	ListMemories(ctx context.Context, sc fold.Scope, slug string, in wire.ListQuery) (wire.MemoryList, error)
	UpdateMemory(ctx context.Context, sc fold.Scope, slug, id string, in wire.MemoryUpdate) (wire.WriteReply, error)
	DeleteMemory(ctx context.Context, sc fold.Scope, slug, id, expectedHash string) (wire.WriteReply, error)
	// MemorySource returns lines start to end, from 1, inclusive; 0 means the
	// first and the last.
	MemorySource(ctx context.Context, sc fold.Scope, slug, id string, start, end int) (wire.SourceText, error)
	Adopt(ctx context.Context, sc fold.Scope, slug string, in wire.Adopt) (wire.Adopted, error)
	RemoveMissing(ctx context.Context, sc fold.Scope, slug string, in wire.RemoveMissing) (wire.RemovedMissing, error)
	Links(ctx context.Context, sc fold.Scope, slug, id string) (wire.LinkList, error)
	AddLink(ctx context.Context, sc fold.Scope, slug, id string, in wire.LinkCreate) (wire.Link, error)
	RemoveLink(ctx context.Context, sc fold.Scope, slug, linkID string) error
	Upload(ctx context.Context, sc fold.Scope, slug string, in wire.FilesUpload) (wire.FilesUploaded, error)
}

// ProposalHandlers decide about proposed changes of memories. An id is that of a proposal,
// or a prefix of one.
type ProposalHandlers interface {
	Proposals(ctx context.Context, sc fold.Scope, slug string, in wire.ProposalQuery) (wire.ProposalList, error)
	// Proposal returns a proposal with the changes that accepting it would make.
	Proposal(ctx context.Context, sc fold.Scope, slug, id string) (wire.Proposal, error)
	// AcceptProposal makes the changes; if it was accepted before, it returns the same
	// answer again.
	AcceptProposal(ctx context.Context, sc fold.Scope, slug, id string) (wire.ProposalAccepted, error)
	// RejectProposal records that it is not wanted, so that it is not made again.
	RejectProposal(ctx context.Context, sc fold.Scope, slug, id string) (wire.Proposal, error)
}

// HistoryHandlers read and restore the history of the memories.
type HistoryHandlers interface {
	// Log lists commits newest first, of one memory if id is not "".
	Log(ctx context.Context, sc fold.Scope, slug, id string, limit int) (wire.LogReply, error)
	Diff(ctx context.Context, sc fold.Scope, slug, rev string) (wire.DiffReply, error)
	Restore(ctx context.Context, sc fold.Scope, slug string, in wire.Restore) (wire.WriteReply, error)
	// Lost lists memories written in tracked mode that only the journal still has.
	Lost(ctx context.Context, sc fold.Scope, slug string) (wire.LostList, error)
	// ForgetLost removes the lost memories from the list.
	ForgetLost(ctx context.Context, sc fold.Scope, slug string) (wire.LostForgotten, error)
	// Undo takes back what one commit changed.
	Undo(ctx context.Context, sc fold.Scope, slug string, in wire.Undo) (wire.Undone, error)
	// Decay lists the faded memories, and archives them if asked to.
	Decay(ctx context.Context, sc fold.Scope, slug string, in wire.DecayRequest) (wire.DecayReply, error)
}
