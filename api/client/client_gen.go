// Code generated from the routes of package api; DO NOT EDIT.

package client

import (
	"context"
	"net/url"

	"github.com/foldwatch/foldwatch/api/wire"
)

// AddProject calls POST /api/projects: register a checkout.
func (c *Client) AddProject(ctx context.Context, in wire.ProjectCreate) (wire.ProjectAdded, error) {
	var out wire.ProjectAdded
	err := c.call(ctx, "POST", "/api/projects", nil, in, &out)
	return out, err
}

// Projects calls GET /api/projects: list projects.
func (c *Client) Projects(ctx context.Context) (wire.ProjectList, error) {
	var out wire.ProjectList
	err := c.call(ctx, "GET", "/api/projects", nil, nil, &out)
	return out, err
}

// ProjectOfPath calls GET /api/locate: find the project whose checkout contains a path.
func (c *Client) ProjectOfPath(ctx context.Context, path string) (wire.Project, error) {
	q := url.Values{}
	setString(q, "path", path)
	var out wire.Project
	err := c.call(ctx, "GET", "/api/locate", q, nil, &out)
	return out, err
}

// Project calls GET /api/projects/{slug}: get a project.
func (c *Client) Project(ctx context.Context, slug string) (wire.Project, error) {
	var out wire.Project
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug), nil, nil, &out)
	return out, err
}

// UpdateProject calls PUT /api/projects/{slug}: change how a project is kept.
func (c *Client) UpdateProject(ctx context.Context, slug string, in wire.ProjectUpdate) (wire.Project, error) {
	var out wire.Project
	err := c.call(ctx, "PUT", "/api/projects/"+url.PathEscape(slug), nil, in, &out)
	return out, err
}

// RemoveProject calls DELETE /api/projects/{slug}: remove a project from the registry.
func (c *Client) RemoveProject(ctx context.Context, slug string, query wire.ProjectRemove) error {
	q := url.Values{}
	setString(q, "path", query.Path)
	setBool(q, "purge", query.Purge)
	return c.call(ctx, "DELETE", "/api/projects/"+url.PathEscape(slug), q, nil, nil)
}

// ProjectStatus calls GET /api/projects/{slug}/status: get the state of a project.
func (c *Client) ProjectStatus(ctx context.Context, slug string) (wire.ProjectStatus, error) {
	var out wire.ProjectStatus
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/status", nil, nil, &out)
	return out, err
}

// ProjectStats calls GET /api/projects/{slug}/stats: count what a project holds.
func (c *Client) ProjectStats(ctx context.Context, slug string) (wire.ProjectStatus, error) {
	var out wire.ProjectStatus
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/stats", nil, nil, &out)
	return out, err
}

// Algorithm calls GET /api/projects/{slug}/config/algorithm: get the ranking settings.
func (c *Client) Algorithm(ctx context.Context, slug string) (wire.Algorithm, error) {
	var out wire.Algorithm
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/config/algorithm", nil, nil, &out)
	return out, err
}

// SetAlgorithm calls PUT /api/projects/{slug}/config/algorithm: change the ranking settings.
func (c *Client) SetAlgorithm(ctx context.Context, slug string, in wire.Algorithm) (wire.Algorithm, error) {
	var out wire.Algorithm
	err := c.call(ctx, "PUT", "/api/projects/"+url.PathEscape(slug)+"/config/algorithm", nil, in, &out)
	return out, err
}

// Pause calls POST /api/projects/{slug}/pause: stop watching and committing for a while.
func (c *Client) Pause(ctx context.Context, slug string, in wire.Pause) (wire.ProjectStatus, error) {
	var out wire.ProjectStatus
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/pause", nil, in, &out)
	return out, err
}

// Resume calls POST /api/projects/{slug}/resume: watch and commit again.
func (c *Client) Resume(ctx context.Context, slug string) (wire.ProjectStatus, error) {
	var out wire.ProjectStatus
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/resume", nil, nil, &out)
	return out, err
}

// ReloadModels calls POST /api/models/reload: take over the models that the user file names now.
func (c *Client) ReloadModels(ctx context.Context) (wire.EmbedderList, error) {
	var out wire.EmbedderList
	err := c.call(ctx, "POST", "/api/models/reload", nil, nil, &out)
	return out, err
}

// Audit calls GET /api/audit: list requests that left this machine, newest first.
func (c *Client) Audit(ctx context.Context, query wire.AuditQuery) (wire.AuditList, error) {
	q := url.Values{}
	setString(q, "project", query.Project)
	setInt(q, "limit", query.Limit)
	setString(q, "cursor", query.Cursor)
	var out wire.AuditList
	err := c.call(ctx, "GET", "/api/audit", q, nil, &out)
	return out, err
}

// Problems calls GET /api/projects/{slug}/problems: list files set aside, with reasons.
func (c *Client) Problems(ctx context.Context, slug string, query wire.ProblemQuery) (wire.ProblemList, error) {
	q := url.Values{}
	setInt(q, "limit", query.Limit)
	setString(q, "cursor", query.Cursor)
	var out wire.ProblemList
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/problems", q, nil, &out)
	return out, err
}

// Drift calls GET /api/projects/{slug}/drift: compare the index of a project with its files.
func (c *Client) Drift(ctx context.Context, slug string) (wire.Drift, error) {
	var out wire.Drift
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/drift", nil, nil, &out)
	return out, err
}

// AddRepository calls POST /api/projects/{slug}/repositories: sync a project's memories with a remote.
func (c *Client) AddRepository(ctx context.Context, slug string, in wire.RepositoryCreate) (wire.RepositoryAdded, error) {
	var out wire.RepositoryAdded
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/repositories", nil, in, &out)
	return out, err
}

// Repositories calls GET /api/projects/{slug}/repositories: list the remotes of a project, and how their sync stands.
func (c *Client) Repositories(ctx context.Context, slug string) (wire.RepositoryList, error) {
	var out wire.RepositoryList
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/repositories", nil, nil, &out)
	return out, err
}

// RemoveRepository calls DELETE /api/projects/{slug}/repositories/{id}: stop syncing; what was published stays there.
func (c *Client) RemoveRepository(ctx context.Context, slug string, id string) error {
	return c.call(ctx, "DELETE", "/api/projects/"+url.PathEscape(slug)+"/repositories/"+url.PathEscape(id), nil, nil, nil)
}

// Sync calls POST /api/projects/{slug}/repositories/{id}/sync: sync now.
func (c *Client) Sync(ctx context.Context, slug string, id string, in wire.SyncRequest) (wire.SyncReply, error) {
	var out wire.SyncReply
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/repositories/"+url.PathEscape(id)+"/sync", nil, in, &out)
	return out, err
}

// AddMemory calls POST /api/projects/{slug}/memories: add a memory.
func (c *Client) AddMemory(ctx context.Context, slug string, in wire.MemoryCreate) (wire.WriteReply, error) {
	var out wire.WriteReply
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/memories", nil, in, &out)
	return out, err
}

// GetMemory calls GET /api/projects/{slug}/memories/{id}: get a memory in full.
func (c *Client) GetMemory(ctx context.Context, slug string, id string) (wire.Memory, error) {
	var out wire.Memory
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/memories/"+url.PathEscape(id), nil, nil, &out)
	return out, err
}

// ListMemories calls GET /api/projects/{slug}/memories: list memories.
func (c *Client) ListMemories(ctx context.Context, slug string, query wire.ListQuery) (wire.MemoryList, error) {
	q := url.Values{}
	setString(q, "source", query.Source)
	setString(q, "type", query.Type)
	setString(q, "author", query.Author)
	setString(q, "tags", listOf(query.Tags))
	setString(q, "q", query.Q)
	setString(q, "created_after", query.CreatedAfter)
	setString(q, "created_before", query.CreatedBefore)
	setString(q, "updated_after", query.UpdatedAfter)
	setString(q, "updated_before", query.UpdatedBefore)
	setString(q, "sort_by", query.SortBy)
	setString(q, "sort_dir", query.SortDir)
	setInt(q, "limit", query.Limit)
	setString(q, "cursor", query.Cursor)
	var out wire.MemoryList
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/memories", q, nil, &out)
	return out, err
}

// UpdateMemory calls PUT /api/projects/{slug}/memories/{id}: change the named fields of a memory.
func (c *Client) UpdateMemory(ctx context.Context, slug string, id string, in wire.MemoryUpdate) (wire.WriteReply, error) {
	var out wire.WriteReply
	err := c.call(ctx, "PUT", "/api/projects/"+url.PathEscape(slug)+"/memories/"+url.PathEscape(id), nil, in, &out)
	return out, err
}

// DeleteMemory calls DELETE /api/projects/{slug}/memories/{id}: delete a memory.
func (c *Client) DeleteMemory(ctx context.Context, slug string, id string, expectedHash string) (wire.WriteReply, error) {
	q := url.Values{}
	setString(q, "expected_hash", expectedHash)
	var out wire.WriteReply
	err := c.call(ctx, "DELETE", "/api/projects/"+url.PathEscape(slug)+"/memories/"+url.PathEscape(id), q, nil, &out)
	return out, err
}

// MemorySource calls GET /api/projects/{slug}/memories/{id}/source: get the source that a memory describes.
func (c *Client) MemorySource(ctx context.Context, slug string, id string, start int, end int) (wire.SourceText, error) {
	q := url.Values{}
	setInt(q, "start_line", start)
	setInt(q, "end_line", end)
	var out wire.SourceText
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/memories/"+url.PathEscape(id)+"/source", q, nil, &out)
	return out, err
}

// Adopt calls POST /api/projects/{slug}/memories/adopt: give notes made by hand their ids and places.
func (c *Client) Adopt(ctx context.Context, slug string, in wire.Adopt) (wire.Adopted, error) {
	var out wire.Adopted
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/memories/adopt", nil, in, &out)
	return out, err
}

// RemoveMissing calls POST /api/projects/{slug}/memories/missing: confirm that files which vanished were meant to go.
func (c *Client) RemoveMissing(ctx context.Context, slug string, in wire.RemoveMissing) (wire.RemovedMissing, error) {
	var out wire.RemovedMissing
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/memories/missing", nil, in, &out)
	return out, err
}

// Upload calls POST /api/projects/{slug}/files: turn files into memories.
func (c *Client) Upload(ctx context.Context, slug string, in wire.FilesUpload) (wire.FilesUploaded, error) {
	var out wire.FilesUploaded
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/files", nil, in, &out)
	return out, err
}

// AddLink calls POST /api/projects/{slug}/memories/{id}/links: link a memory to another.
func (c *Client) AddLink(ctx context.Context, slug string, id string, in wire.LinkCreate) (wire.Link, error) {
	var out wire.Link
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/memories/"+url.PathEscape(id)+"/links", nil, in, &out)
	return out, err
}

// Links calls GET /api/projects/{slug}/memories/{id}/links: list the links of a memory, both directions.
func (c *Client) Links(ctx context.Context, slug string, id string) (wire.LinkList, error) {
	var out wire.LinkList
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/memories/"+url.PathEscape(id)+"/links", nil, nil, &out)
	return out, err
}

// RemoveLink calls DELETE /api/projects/{slug}/links/{link_id}: remove a link.
func (c *Client) RemoveLink(ctx context.Context, slug string, linkID string) error {
	return c.call(ctx, "DELETE", "/api/projects/"+url.PathEscape(slug)+"/links/"+url.PathEscape(linkID), nil, nil, nil)
}

// Proposals calls GET /api/projects/{slug}/proposals: list what is proposed for the memories of a project, newest first.
func (c *Client) Proposals(ctx context.Context, slug string, query wire.ProposalQuery) (wire.ProposalList, error) {
	q := url.Values{}
	setString(q, "state", query.State)
	setInt(q, "limit", query.Limit)
	setString(q, "cursor", query.Cursor)
	var out wire.ProposalList
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/proposals", q, nil, &out)
	return out, err
}

// Proposal calls GET /api/projects/{slug}/proposals/{id}: get a proposal, with what accepting it changes.
func (c *Client) Proposal(ctx context.Context, slug string, id string) (wire.Proposal, error) {
	var out wire.Proposal
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/proposals/"+url.PathEscape(id), nil, nil, &out)
	return out, err
}

// AcceptProposal calls POST /api/projects/{slug}/proposals/{id}/accept: do what is proposed, as one commit.
func (c *Client) AcceptProposal(ctx context.Context, slug string, id string) (wire.ProposalAccepted, error) {
	var out wire.ProposalAccepted
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/proposals/"+url.PathEscape(id)+"/accept", nil, nil, &out)
	return out, err
}

// RejectProposal calls POST /api/projects/{slug}/proposals/{id}/reject: remember that a proposal is not wanted.
func (c *Client) RejectProposal(ctx context.Context, slug string, id string) (wire.Proposal, error) {
	var out wire.Proposal
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/proposals/"+url.PathEscape(id)+"/reject", nil, nil, &out)
	return out, err
}

// Search calls POST /api/projects/{slug}/search: search a project.
func (c *Client) Search(ctx context.Context, slug string, in wire.SearchRequest) (wire.SearchReply, error) {
	var out wire.SearchReply
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/search", nil, in, &out)
	return out, err
}

// SearchAll calls POST /api/search: search all projects.
func (c *Client) SearchAll(ctx context.Context, in wire.SearchRequest) (wire.SearchReply, error) {
	var out wire.SearchReply
	err := c.call(ctx, "POST", "/api/search", nil, in, &out)
	return out, err
}

// Context calls POST /api/projects/{slug}/context/{id}: get what surrounds a memory.
func (c *Client) Context(ctx context.Context, slug string, id string, in wire.ContextRequest) (wire.ContextReply, error) {
	var out wire.ContextReply
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/context/"+url.PathEscape(id), nil, in, &out)
	return out, err
}

// TaskContext calls POST /api/projects/{slug}/context: get what helps with a task.
func (c *Client) TaskContext(ctx context.Context, slug string, in wire.TaskContextRequest) (wire.TaskContextReply, error) {
	var out wire.TaskContextReply
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/context", nil, in, &out)
	return out, err
}

// Reindex calls POST /api/projects/{slug}/reindex: queue work on the index.
func (c *Client) Reindex(ctx context.Context, slug string, in wire.Reindex) (wire.JobRef, error) {
	var out wire.JobRef
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/reindex", nil, in, &out)
	return out, err
}

// Jobs calls GET /status/jobs: list jobs, newest first.
func (c *Client) Jobs(ctx context.Context, project string, limit int) (wire.JobList, error) {
	q := url.Values{}
	setString(q, "project", project)
	setInt(q, "limit", limit)
	var out wire.JobList
	err := c.call(ctx, "GET", "/status/jobs", q, nil, &out)
	return out, err
}

// Job calls GET /status/jobs/{id}: get a job.
func (c *Client) Job(ctx context.Context, id string) (wire.Job, error) {
	var out wire.Job
	err := c.call(ctx, "GET", "/status/jobs/"+url.PathEscape(id), nil, nil, &out)
	return out, err
}

// Prime calls GET /api/projects/{slug}/prime: get the brief of a session.
func (c *Client) Prime(ctx context.Context, slug string, query wire.PrimeQuery) (wire.Prime, error) {
	q := url.Values{}
	setInt(q, "budget", query.Budget)
	var out wire.Prime
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/prime", q, nil, &out)
	return out, err
}

// ReportEvent calls POST /api/projects/{slug}/sessions/{session}/events: record what happened in an agent's session.
func (c *Client) ReportEvent(ctx context.Context, slug string, session string, in wire.SessionEvent) error {
	return c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/sessions/"+url.PathEscape(session)+"/events", nil, in, nil)
}

// SessionEvents calls GET /api/projects/{slug}/sessions/{session}/events: list what a session holds, oldest first.
func (c *Client) SessionEvents(ctx context.Context, slug string, session string) (wire.SessionEvents, error) {
	var out wire.SessionEvents
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/sessions/"+url.PathEscape(session)+"/events", nil, nil, &out)
	return out, err
}

// Log calls GET /api/projects/{slug}/log: list the history, newest first.
func (c *Client) Log(ctx context.Context, slug string, id string, limit int) (wire.LogReply, error) {
	q := url.Values{}
	setString(q, "id", id)
	setInt(q, "limit", limit)
	var out wire.LogReply
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/log", q, nil, &out)
	return out, err
}

// Diff calls GET /api/projects/{slug}/diff: show what changed since a revision.
func (c *Client) Diff(ctx context.Context, slug string, rev string) (wire.DiffReply, error) {
	q := url.Values{}
	setString(q, "rev", rev)
	var out wire.DiffReply
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/diff", q, nil, &out)
	return out, err
}

// Restore calls POST /api/projects/{slug}/restore: bring a memory back as it was.
func (c *Client) Restore(ctx context.Context, slug string, in wire.Restore) (wire.WriteReply, error) {
	var out wire.WriteReply
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/restore", nil, in, &out)
	return out, err
}

// Lost calls GET /api/projects/{slug}/lost: list memories that git took away before they were committed, in tracked mode.
func (c *Client) Lost(ctx context.Context, slug string) (wire.LostList, error) {
	var out wire.LostList
	err := c.call(ctx, "GET", "/api/projects/"+url.PathEscape(slug)+"/lost", nil, nil, &out)
	return out, err
}

// ForgetLost calls DELETE /api/projects/{slug}/lost: tell no more of memories that are lost.
func (c *Client) ForgetLost(ctx context.Context, slug string) (wire.LostForgotten, error) {
	var out wire.LostForgotten
	err := c.call(ctx, "DELETE", "/api/projects/"+url.PathEscape(slug)+"/lost", nil, nil, &out)
	return out, err
}

// Undo calls POST /api/projects/{slug}/undo: take back what a commit changed.
func (c *Client) Undo(ctx context.Context, slug string, in wire.Undo) (wire.Undone, error) {
	var out wire.Undone
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/undo", nil, in, &out)
	return out, err
}

// Decay calls POST /api/projects/{slug}/decay: tell which memories have faded, and archive them if asked to.
func (c *Client) Decay(ctx context.Context, slug string, in wire.DecayRequest) (wire.DecayReply, error) {
	var out wire.DecayReply
	err := c.call(ctx, "POST", "/api/projects/"+url.PathEscape(slug)+"/decay", nil, in, &out)
	return out, err
}

// Status calls GET /status: get the state of the daemon and its projects.
func (c *Client) Status(ctx context.Context) (wire.Status, error) {
	var out wire.Status
	err := c.call(ctx, "GET", "/status", nil, nil, &out)
	return out, err
}

// CreateToken calls POST /me/tokens: make a token that may at most what the caller may.
func (c *Client) CreateToken(ctx context.Context, in wire.TokenCreate) (wire.TokenCreated, error) {
	var out wire.TokenCreated
	err := c.call(ctx, "POST", "/me/tokens", nil, in, &out)
	return out, err
}

// Tokens calls GET /me/tokens: list the caller's tokens; an administrator of all projects sees every token.
func (c *Client) Tokens(ctx context.Context) (wire.TokenList, error) {
	var out wire.TokenList
	err := c.call(ctx, "GET", "/me/tokens", nil, nil, &out)
	return out, err
}

// RevokeToken calls DELETE /me/tokens/{id}: revoke a token, and those that were made by it.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.call(ctx, "DELETE", "/me/tokens/"+url.PathEscape(id), nil, nil, nil)
}

// AuthProviders calls GET /auth/providers: list what people can log in by.
func (c *Client) AuthProviders(ctx context.Context) (wire.AuthProviderList, error) {
	var out wire.AuthProviderList
	err := c.call(ctx, "GET", "/auth/providers", nil, nil, &out)
	return out, err
}

// AddAuthProvider calls POST /auth/providers: let the people of one more provider log in.
func (c *Client) AddAuthProvider(ctx context.Context, in wire.AuthProviderCreate) (wire.AuthProvider, error) {
	var out wire.AuthProvider
	err := c.call(ctx, "POST", "/auth/providers", nil, in, &out)
	return out, err
}

// RemoveAuthProvider calls DELETE /auth/providers/{provider}: end a login provider, with the sessions that came by it.
func (c *Client) RemoveAuthProvider(ctx context.Context, provider string) error {
	return c.call(ctx, "DELETE", "/auth/providers/"+url.PathEscape(provider), nil, nil, nil)
}

// Me calls GET /auth/me: tell who is calling.
func (c *Client) Me(ctx context.Context) (wire.Me, error) {
	var out wire.Me
	err := c.call(ctx, "GET", "/auth/me", nil, nil, &out)
	return out, err
}

// Users calls GET /auth/users: list who logged in once.
func (c *Client) Users(ctx context.Context) (wire.UserList, error) {
	var out wire.UserList
	err := c.call(ctx, "GET", "/auth/users", nil, nil, &out)
	return out, err
}

// RemoveUser calls DELETE /auth/users/{id}: forget a user, with sessions and tokens.
func (c *Client) RemoveUser(ctx context.Context, id string) error {
	return c.call(ctx, "DELETE", "/auth/users/"+url.PathEscape(id), nil, nil, nil)
}

// AssignRole calls PUT /auth/users/{id}: give a user a role, whatever the claims say.
func (c *Client) AssignRole(ctx context.Context, id string, in wire.UserAssign) (wire.User, error) {
	var out wire.User
	err := c.call(ctx, "PUT", "/auth/users/"+url.PathEscape(id), nil, in, &out)
	return out, err
}

// Health calls GET /health: tell how the daemon is.
func (c *Client) Health(ctx context.Context) (wire.Health, error) {
	var out wire.Health
	err := c.call(ctx, "GET", "/health", nil, nil, &out)
	return out, err
}
