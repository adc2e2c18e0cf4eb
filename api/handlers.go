// Package api is the HTTP face of the two doors: it turns requests into calls
// of [Doors] and answers, errors and events into HTTP. It decides nothing about
// memories itself.
//
// # What holds on every route
//
// Who may call a route stands beside it in one table, see [Routes]. Errors are
// problem documents (RFC 9457) made from one table of kinds, see [Kind]. Bodies
// are those of package wire. A POST with an Idempotency-Key is done once. A
// memory has its content hash as strong ETag; a write with a stale If-Match is
// answered 412, one with a stale expected_hash 409, both with the two versions.
package api

import (
	"context"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Doors is what the daemon does for a caller. Every method checks the scope by
// itself, wraps errors with the kinds of package fold, and is safe for
// concurrent use. A slug is "" only where said.
type Doors interface {
	ProjectDoors
	RepositoryDoors
	MemoryDoors
	ProposalDoors
	HistoryDoors

	// Search finds in one project, SearchAll in all that the scope may read.
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

// ProjectDoors keep the registry of checkouts.
type ProjectDoors interface {
	Projects(ctx context.Context, sc fold.Scope) (wire.ProjectList, error)
	Project(ctx context.Context, sc fold.Scope, slug string) (wire.Project, error)
	AddProject(ctx context.Context, sc fold.Scope, in wire.ProjectCreate) (wire.ProjectAdded, error)
	UpdateProject(ctx context.Context, sc fold.Scope, slug string, in wire.ProjectUpdate) (wire.Project, error)
	RemoveProject(ctx context.Context, sc fold.Scope, slug string, in wire.ProjectRemove) error
	Status(ctx context.Context, sc fold.Scope) (wire.Status, error)
	ProjectStatus(ctx context.Context, sc fold.Scope, slug string) (wire.ProjectStatus, error)
	Health(ctx context.Context) wire.Health
	Problems(ctx context.Context, sc fold.Scope, slug string, in wire.ProblemQuery) (wire.ProblemList, error)
	// Drift compares what is derived of a project with its files; it reads all of both.
	Drift(ctx context.Context, sc fold.Scope, slug string) (wire.Drift, error)
	Algorithm(ctx context.Context, sc fold.Scope, slug string) (wire.Algorithm, error)
	SetAlgorithm(ctx context.Context, sc fold.Scope, slug string, in wire.Algorithm) (wire.Algorithm, error)
	Pause(ctx context.Context, sc fold.Scope, slug string, in wire.Pause) (wire.ProjectStatus, error)
	Resume(ctx context.Context, sc fold.Scope, slug string) (wire.ProjectStatus, error)
	// ReloadModels takes over what the user file says now about models and what
	// projects may use, and has their vectors made.
	ReloadModels(ctx context.Context, sc fold.Scope) (wire.EmbedderList, error)
	// Audit lists the requests that left this machine.
	Audit(ctx context.Context, sc fold.Scope, in wire.AuditQuery) (wire.AuditList, error)
	// ProjectOfPath returns the slug of the checkout that contains path, and
	// ErrNotFound if none does.
	ProjectOfPath(ctx context.Context, sc fold.Scope, path string) (slug string, err error)
}

// RepositoryDoors keep memories in step with a remote. An id is that of a
// [wire.Repository].
type RepositoryDoors interface {
	Repositories(ctx context.Context, sc fold.Scope, slug string) (wire.RepositoryList, error)
	// AddRepository turns sync on, RemoveRepository off.
	AddRepository(ctx context.Context, sc fold.Scope, slug string, in wire.RepositoryCreate) (wire.RepositoryAdded, error)
	RemoveRepository(ctx context.Context, sc fold.Scope, slug, id string) error
	// Sync makes one round and returns when what came is found by searches.
	Sync(ctx context.Context, sc fold.Scope, slug, id string, in wire.SyncRequest) (wire.SyncReply, error)
}

// MemoryDoors read and write memories and their links.
type MemoryDoors interface {
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

// ProposalDoors decide about changes of memories that were proposed. An id is that of
// a proposal, or the beginning of one.
type ProposalDoors interface {
	Proposals(ctx context.Context, sc fold.Scope, slug string, in wire.ProposalQuery) (wire.ProposalList, error)
	// Proposal returns one, with what accepting it would change.
	Proposal(ctx context.Context, sc fold.Scope, slug, id string) (wire.Proposal, error)
	// AcceptProposal does what is proposed; what was accepted before is answered again.
	AcceptProposal(ctx context.Context, sc fold.Scope, slug, id string) (wire.ProposalAccepted, error)
	// RejectProposal remembers that it is not wanted: it does not come again.
	RejectProposal(ctx context.Context, sc fold.Scope, slug, id string) (wire.Proposal, error)
}

// HistoryDoors read the history of the memories and bring them back.
type HistoryDoors interface {
	// Log lists commits newest first, of one memory if id is not "".
	Log(ctx context.Context, sc fold.Scope, slug, id string, limit int) (wire.LogReply, error)
	Diff(ctx context.Context, sc fold.Scope, slug, rev string) (wire.DiffReply, error)
	Restore(ctx context.Context, sc fold.Scope, slug string, in wire.Restore) (wire.WriteReply, error)
	// Lost lists what was written in tracked mode and is nowhere any more but in the journal.
	Lost(ctx context.Context, sc fold.Scope, slug string) (wire.LostList, error)
	// ForgetLost ends the matter of what is lost.
	ForgetLost(ctx context.Context, sc fold.Scope, slug string) (wire.LostForgotten, error)
	// Undo takes back what one commit changed.
	Undo(ctx context.Context, sc fold.Scope, slug string, in wire.Undo) (wire.Undone, error)
	// Decay tells which memories have faded, and archives them if asked to.
	Decay(ctx context.Context, sc fold.Scope, slug string, in wire.DecayRequest) (wire.DecayReply, error)
}
