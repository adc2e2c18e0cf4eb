package local

import (
	"context"

	"github.com/foldwatch/foldwatch/api/wire"
)

// A Client is what the commands need of the daemon: what it writes and
// finds, and what is around that. The client of the socket is one; tests have another. An empty slug is allowed only where it says so.
type Client interface {
	Projects(ctx context.Context) (wire.ProjectList, error)
	Project(ctx context.Context, slug string) (wire.Project, error)
	UpdateProject(ctx context.Context, slug string, in wire.ProjectUpdate) (wire.Project, error)
	AddProject(ctx context.Context, in wire.ProjectCreate) (wire.ProjectAdded, error)
	RemoveProject(ctx context.Context, slug string, in wire.ProjectRemove) error
	ProjectOfPath(ctx context.Context, path string) (wire.Project, error) // the checkout that contains path
	Status(ctx context.Context) (wire.Status, error)
	ProjectStatus(ctx context.Context, slug string) (wire.ProjectStatus, error)
	Health(ctx context.Context) (wire.Health, error)
	Events(ctx context.Context, after uint64, connected func(), fn func(wire.Event) error) error
	ReloadModels(ctx context.Context) (wire.EmbedderList, error)
	Audit(ctx context.Context, query wire.AuditQuery) (wire.AuditList, error)
	Problems(ctx context.Context, slug string, query wire.ProblemQuery) (wire.ProblemList, error)

	CreateToken(ctx context.Context, in wire.TokenCreate) (wire.TokenCreated, error)
	Tokens(ctx context.Context) (wire.TokenList, error)
	RevokeToken(ctx context.Context, id string) error

	Repositories(ctx context.Context, slug string) (wire.RepositoryList, error)
	AddRepository(ctx context.Context, slug string, in wire.RepositoryCreate) (wire.RepositoryAdded, error)
	RemoveRepository(ctx context.Context, slug, id string) error
	Sync(ctx context.Context, slug, id string, in wire.SyncRequest) (wire.SyncReply, error)

	AddMemory(ctx context.Context, slug string, in wire.MemoryCreate) (wire.WriteReply, error)
	GetMemory(ctx context.Context, slug, id string) (wire.Memory, error)
	ListMemories(ctx context.Context, slug string, q wire.ListQuery) (wire.MemoryList, error)
	UpdateMemory(ctx context.Context, slug, id string, in wire.MemoryUpdate) (wire.WriteReply, error)
	DeleteMemory(ctx context.Context, slug, id, expectedHash string) (wire.WriteReply, error)
	MemorySource(ctx context.Context, slug, id string, start, end int) (wire.SourceText, error)
	Adopt(ctx context.Context, slug string, in wire.Adopt) (wire.Adopted, error)
	RemoveMissing(ctx context.Context, slug string, in wire.RemoveMissing) (wire.RemovedMissing, error)

	Search(ctx context.Context, slug string, in wire.SearchRequest) (wire.SearchReply, error)
	SearchAll(ctx context.Context, in wire.SearchRequest) (wire.SearchReply, error)
	Context(ctx context.Context, slug, id string, in wire.ContextRequest) (wire.ContextReply, error)

	Links(ctx context.Context, slug, id string) (wire.LinkList, error)
	AddLink(ctx context.Context, slug, id string, in wire.LinkCreate) (wire.Link, error)
	RemoveLink(ctx context.Context, slug, linkID string) error

	Proposals(ctx context.Context, slug string, q wire.ProposalQuery) (wire.ProposalList, error)
	Proposal(ctx context.Context, slug, id string) (wire.Proposal, error)
	AcceptProposal(ctx context.Context, slug, id string) (wire.ProposalAccepted, error)
	RejectProposal(ctx context.Context, slug, id string) (wire.Proposal, error)

	Reindex(ctx context.Context, slug string, in wire.Reindex) (wire.JobRef, error)
	Jobs(ctx context.Context, slug string, limit int) (wire.JobList, error) // slug "" = all
	Job(ctx context.Context, id string) (wire.Job, error)

	Log(ctx context.Context, slug, id string, limit int) (wire.LogReply, error) // id "" = all
	Diff(ctx context.Context, slug, rev string) (wire.DiffReply, error)
	Restore(ctx context.Context, slug string, in wire.Restore) (wire.WriteReply, error)
	Lost(ctx context.Context, slug string) (wire.LostList, error)
	ForgetLost(ctx context.Context, slug string) (wire.LostForgotten, error)
	Prime(ctx context.Context, slug string, in wire.PrimeQuery) (wire.Prime, error)
	ReportEvent(ctx context.Context, slug, session string, in wire.SessionEvent) error
	Undo(ctx context.Context, slug string, in wire.Undo) (wire.Undone, error)
	Decay(ctx context.Context, slug string, in wire.DecayRequest) (wire.DecayReply, error)
	Drift(ctx context.Context, slug string) (wire.Drift, error)
	Pause(ctx context.Context, slug string, in wire.Pause) (wire.ProjectStatus, error)
	Resume(ctx context.Context, slug string) (wire.ProjectStatus, error)
}
