package api

// The document, the client and the table of answers are made from the routes.
//
//go:generate go test . -run ^(TestDocumentIsCheckedIn|TestClientIsGenerated|TestContract)$ -update

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const project = "/api/projects/{slug}"

// Routes is the one table of what can be called, and by whom. Every pattern
// that the server answers is in it.
func Routes() []Route {
	return slices.Concat(projectRoutes(), repositoryRoutes(), memoryRoutes(), proposalRoutes(), recallRoutes(), workRoutes(), tokenRoutes(), loginRoutes(), browserRoutes(), plainRoutes())
}

type inNone struct{}

// InSlug names a project. Like the other embedded parts of requests it is exported
// because huma passes over embedded structs that are not.
type InSlug struct {
	Slug string `path:"slug" doc:"project"`
}

// InMemory names a memory of a project.
type InMemory struct {
	InSlug
	ID string `path:"id" doc:"memory: 16 hex digits"`
}

// InSession names an agent's session in a project.
type InSession struct {
	InSlug
	Session string `path:"session" maxLength:"200" doc:"the agent's name for its session"`
}

type inBody[B any] struct {
	Body B
}

type inSlugBody[B any] struct {
	InSlug
	Body B
}

type inOptional[B any] struct {
	InSlug
	Body *B
}

func orZero[B any](b *B) B {
	if b == nil {
		var zero B
		return zero
	}
	return *b
}

func projectRoutes() []Route {
	type inPath struct {
		Path string `query:"path" required:"true" doc:"absolute path"`
	}
	type inProblems struct {
		InSlug
		wire.ProblemQuery
	}
	type inAudit struct{ wire.AuditQuery }
	type inRemove struct {
		InSlug
		wire.ProjectRemove
	}
	added := on(AdminOfAll, "POST", "/api/projects", "addProject", "Register a checkout",
		func(ctx context.Context, h Handlers, sc fold.Scope, in *inBody[wire.ProjectCreate]) (wire.ProjectAdded, error) {
			return h.AddProject(ctx, sc, in.Body)
		})
	added.Status = http.StatusCreated
	added.Also = []Answer{{Status: http.StatusOK, Says: "It was registered already.", Type: jsonType, Body: added.Out}}
	return []Route{
		added,
		on(Read, "GET", "/api/projects", "projects", "List projects",
			func(ctx context.Context, h Handlers, sc fold.Scope, _ *inNone) (wire.ProjectList, error) {
				return h.Projects(ctx, sc)
			}),
		on(Read, "GET", "/api/locate", "projectOfPath", "Find the project whose checkout contains a path",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inPath) (wire.Project, error) {
				slug, err := h.ProjectOfPath(ctx, sc, in.Path)
				if err != nil {
					return wire.Project{}, err
				}
				return h.Project(ctx, sc, slug)
			}),
		on(Read, "GET", project, "project", "Get a project",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InSlug) (wire.Project, error) {
				return h.Project(ctx, sc, in.Slug)
			}),
		on(Admin, "PUT", project, "updateProject", "Change how a project is kept",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inSlugBody[wire.ProjectUpdate]) (wire.Project, error) {
				return h.UpdateProject(ctx, sc, in.Slug, in.Body)
			}),
		done(Admin, "DELETE", project, "removeProject", "Remove a project from the registry",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inRemove) error {
				return h.RemoveProject(ctx, sc, in.Slug, in.ProjectRemove)
			}),
		on(Read, "GET", project+"/status", "projectStatus", "Get the state of a project",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InSlug) (wire.ProjectStatus, error) {
				return h.ProjectStatus(ctx, sc, in.Slug)
			}),
		on(Read, "GET", project+"/stats", "projectStats", "Count what a project holds",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InSlug) (wire.ProjectStatus, error) {
				return h.ProjectStatus(ctx, sc, in.Slug)
			}),
		on(Read, "GET", project+"/config/algorithm", "algorithm", "Get the ranking settings",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InSlug) (wire.Algorithm, error) {
				return h.Algorithm(ctx, sc, in.Slug)
			}),
		on(Admin, "PUT", project+"/config/algorithm", "setAlgorithm", "Change the ranking settings",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inSlugBody[wire.Algorithm]) (wire.Algorithm, error) {
				return h.SetAlgorithm(ctx, sc, in.Slug, in.Body)
			}),
		on(Admin, "POST", project+"/pause", "pause", "Stop watching and committing for a while",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inOptional[wire.Pause]) (wire.ProjectStatus, error) {
				return h.Pause(ctx, sc, in.Slug, orZero(in.Body))
			}),
		on(Admin, "POST", project+"/resume", "resume", "Watch and commit again",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InSlug) (wire.ProjectStatus, error) {
				return h.Resume(ctx, sc, in.Slug)
			}),
		on(AdminOfAll, "POST", "/api/models/reload", "reloadModels", "Take over the models that the user file names now",
			func(ctx context.Context, h Handlers, sc fold.Scope, _ *inNone) (wire.EmbedderList, error) {
				return h.ReloadModels(ctx, sc)
			}),
		on(Read, "GET", "/api/audit", "audit", "List requests that left this machine, newest first",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inAudit) (wire.AuditList, error) {
				return h.Audit(ctx, sc, in.AuditQuery)
			}),
		on(Read, "GET", project+"/problems", "problems", "List files set aside, with reasons",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inProblems) (wire.ProblemList, error) {
				return h.Problems(ctx, sc, in.Slug, in.ProblemQuery)
			}),
		on(Read, "GET", project+"/drift", "drift", "Compare the index of a project with its files",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InSlug) (wire.Drift, error) {
				return h.Drift(ctx, sc, in.Slug)
			}),
	}
}

// InRepository names a repository of a project.
type InRepository struct {
	InSlug
	ID string `path:"id" doc:"repository: repository_id of the project's memories"`
}

func repositoryRoutes() []Route {
	const repositories = project + "/repositories"
	type inSync struct {
		InRepository
		Body *wire.SyncRequest
	}
	add := on(Admin, "POST", repositories, "addRepository", "Sync a project's memories with a remote",
		func(ctx context.Context, h Handlers, sc fold.Scope, in *inOptional[wire.RepositoryCreate]) (wire.RepositoryAdded, error) {
			return h.AddRepository(ctx, sc, in.Slug, orZero(in.Body))
		})
	add.Status = http.StatusCreated
	return []Route{
		add,
		on(Read, "GET", repositories, "repositories", "List the remotes of a project, and how their sync stands",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InSlug) (wire.RepositoryList, error) {
				return h.Repositories(ctx, sc, in.Slug)
			}),
		done(Admin, "DELETE", repositories+"/{id}", "removeRepository", "Stop syncing; what was published stays there",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InRepository) error {
				return h.RemoveRepository(ctx, sc, in.Slug, in.ID)
			}),
		on(Write, "POST", repositories+"/{id}/sync", "sync", "Sync now",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inSync) (wire.SyncReply, error) {
				return h.Sync(ctx, sc, in.Slug, in.ID, orZero(in.Body))
			}),
	}
}

type inGet struct {
	InMemory
	IfNoneMatch string `header:"If-None-Match"`
}

func (in *inGet) knows(tag string) bool {
	for t := range strings.SplitSeq(in.IfNoneMatch, ",") {
		if t = strings.TrimPrefix(strings.TrimSpace(t), "W/"); t == tag || t == "*" {
			return true
		}
	}
	return false
}

type inUpdate struct {
	InMemory
	Match
	Body wire.MemoryUpdate
}

type inDelete struct {
	InMemory
	Match
	ExpectedHash string `query:"expected_hash" doc:"content_hash as it was read; a mismatch is answered 409"`
}

func memoryRoutes() []Route {
	const memories, memory = project + "/memories", project + "/memories/{id}"
	type inList struct {
		InSlug
		wire.ListQuery
	}
	type inSource struct {
		InMemory
		Start int `query:"start_line" minimum:"0" doc:"from 1; default: the first"`
		End   int `query:"end_line" minimum:"0" doc:"inclusive; default: the last"`
	}
	upload := on(Write, "POST", project+"/files", "upload", "Turn files into memories",
		func(ctx context.Context, h Handlers, sc fold.Scope, in *inSlugBody[wire.FilesUpload]) (wire.FilesUploaded, error) {
			return h.Upload(ctx, sc, in.Slug, in.Body)
		})
	upload.Limit = uploadLimit
	add := on(Write, "POST", memories, "addMemory", "Add a memory",
		func(ctx context.Context, h Handlers, sc fold.Scope, in *inSlugBody[wire.MemoryCreate]) (wire.WriteReply, error) {
			return h.AddMemory(ctx, sc, in.Slug, in.Body)
		})
	add.Also = []Answer{{Status: http.StatusCreated, Says: "It is new; 200 is for one that was there already.", Type: jsonType, Body: add.Out}}
	get := on(Read, "GET", memory, "getMemory", "Get a memory in full",
		func(ctx context.Context, h Handlers, sc fold.Scope, in *inGet) (wire.Memory, error) {
			return h.GetMemory(ctx, sc, in.Slug, in.ID)
		})
	get.Also = []Answer{{Status: http.StatusNotModified, Says: "It is what If-None-Match names."}}
	return append([]Route{
		add, get,
		on(Read, "GET", memories, "listMemories", "List memories",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inList) (wire.MemoryList, error) {
				return h.ListMemories(ctx, sc, in.Slug, in.ListQuery)
			}),
		on(Write, "PUT", memory, "updateMemory", "Change the named fields of a memory",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inUpdate) (_ wire.WriteReply, err error) {
				if in.Body.ExpectedHash, err = in.expect(in.Body.ExpectedHash); err != nil {
					return wire.WriteReply{}, err
				}
				return h.UpdateMemory(ctx, sc, in.Slug, in.ID, in.Body)
			}),
		on(Write, "DELETE", memory, "deleteMemory", "Delete a memory",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inDelete) (wire.WriteReply, error) {
				hash, err := in.expect(in.ExpectedHash)
				if err != nil {
					return wire.WriteReply{}, err
				}
				return h.DeleteMemory(ctx, sc, in.Slug, in.ID, hash)
			}),
		on(Read, "GET", memory+"/source", "memorySource", "Get the source that a memory describes",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inSource) (wire.SourceText, error) {
				return h.MemorySource(ctx, sc, in.Slug, in.ID, in.Start, in.End)
			}),
		on(Write, "POST", memories+"/adopt", "adopt", "Give notes made by hand their ids and places",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inSlugBody[wire.Adopt]) (wire.Adopted, error) {
				return h.Adopt(ctx, sc, in.Slug, in.Body)
			}),
		on(Write, "POST", memories+"/missing", "removeMissing", "Confirm that files which vanished were meant to go",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inOptional[wire.RemoveMissing]) (wire.RemovedMissing, error) {
				return h.RemoveMissing(ctx, sc, in.Slug, orZero(in.Body))
			}),
		upload,
	}, linkRoutes()...)
}

type inLink struct {
	InMemory
	Body wire.LinkCreate
}

func linkRoutes() []Route {
	const memory = project + "/memories/{id}"
	type inRemove struct {
		InSlug
		LinkID string `path:"link_id"`
	}
	type inRemoveOf struct {
		InMemory
		LinkID string `path:"link_id"`
	}
	add := on(Write, "POST", memory+"/links", "addLink", "Link a memory to another",
		func(ctx context.Context, h Handlers, sc fold.Scope, in *inLink) (wire.Link, error) {
			return h.AddLink(ctx, sc, in.Slug, in.ID, in.Body)
		})
	add.Status = http.StatusCreated
	return []Route{
		add,
		on(Read, "GET", memory+"/links", "links", "List the links of a memory, both directions",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InMemory) (wire.LinkList, error) {
				return h.Links(ctx, sc, in.Slug, in.ID)
			}),
		done(Write, "DELETE", project+"/links/{link_id}", "removeLink", "Remove a link",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inRemove) error {
				return h.RemoveLink(ctx, sc, in.Slug, in.LinkID)
			}),
		done(Write, "DELETE", memory+"/links/{link_id}", "removeLinkOf", "Remove a link",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inRemoveOf) error {
				return h.RemoveLink(ctx, sc, in.Slug, in.LinkID)
			}),
	}
}

type inContext struct {
	InMemory
	Body *wire.ContextRequest
}

func recallRoutes() []Route {
	return []Route{
		on(Read, "POST", project+"/search", "search", "Search a project",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inSlugBody[wire.SearchRequest]) (wire.SearchReply, error) {
				return h.Search(ctx, sc, in.Slug, in.Body)
			}),
		on(Read, "POST", "/api/search", "searchAll", "Search all projects",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inBody[wire.SearchRequest]) (wire.SearchReply, error) {
				return h.SearchAll(ctx, sc, in.Body)
			}),
		on(Read, "POST", project+"/context/{id}", "context", "Get what surrounds a memory",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inContext) (wire.ContextReply, error) {
				return h.Context(ctx, sc, in.Slug, in.ID, orZero(in.Body))
			}),
		on(Read, "POST", project+"/context", "taskContext", "Get what helps with a task",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inSlugBody[wire.TaskContextRequest]) (wire.TaskContextReply, error) {
				return h.TaskContext(ctx, sc, in.Slug, in.Body)
			}),
	}
}

func workRoutes() []Route {
	type inLog struct {
		InSlug
		ID    string `query:"id" doc:"one memory; default: all"`
		Limit int    `query:"limit" minimum:"0"`
	}
	type inPrime struct {
		InSlug
		wire.PrimeQuery
	}
	type inEvent struct {
		InSession
		Body wire.SessionEvent
	}
	type inDiff struct {
		InSlug
		Rev string `query:"rev" doc:"revision; default: the one before the last"`
	}
	type inJobs struct {
		Project string `query:"project" doc:"default: all"`
		Limit   int    `query:"limit" minimum:"0"`
	}
	type inJob struct {
		ID string `path:"id"`
	}
	reindex := on(Write, "POST", project+"/reindex", "reindex", "Queue work on the index",
		func(ctx context.Context, h Handlers, sc fold.Scope, in *inOptional[wire.Reindex]) (wire.JobRef, error) {
			return h.Reindex(ctx, sc, in.Slug, orZero(in.Body))
		})
	reindex.Status = http.StatusAccepted
	return []Route{
		reindex,
		on(Read, "GET", "/status/jobs", "jobs", "List jobs, newest first",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inJobs) (wire.JobList, error) {
				return h.Jobs(ctx, sc, in.Project, in.Limit)
			}),
		on(Read, "GET", "/status/jobs/{id}", "job", "Get a job",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inJob) (wire.Job, error) {
				return h.Job(ctx, sc, in.ID)
			}),
		on(Read, "GET", project+"/prime", "prime", "Get the brief of a session",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inPrime) (wire.Prime, error) {
				return h.Prime(ctx, sc, in.Slug, in.PrimeQuery)
			}),
		done(Write, "POST", project+"/sessions/{session}/events", "reportEvent", "Record what happened in an agent's session",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inEvent) error {
				return h.ReportEvent(ctx, sc, in.Slug, in.Session, in.Body)
			}),
		on(Read, "GET", project+"/sessions/{session}/events", "sessionEvents", "List what a session holds, oldest first",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InSession) (wire.SessionEvents, error) {
				return h.SessionEvents(ctx, sc, in.Slug, in.Session)
			}),
		on(Read, "GET", project+"/log", "log", "List the history, newest first",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inLog) (wire.LogReply, error) {
				return h.Log(ctx, sc, in.Slug, in.ID, in.Limit)
			}),
		on(Read, "GET", project+"/diff", "diff", "Show what changed since a revision",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inDiff) (wire.DiffReply, error) {
				return h.Diff(ctx, sc, in.Slug, in.Rev)
			}),
		on(Write, "POST", project+"/restore", "restore", "Bring a memory back as it was",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inSlugBody[wire.Restore]) (wire.WriteReply, error) {
				return h.Restore(ctx, sc, in.Slug, in.Body)
			}),
		on(Read, "GET", project+"/lost", "lost", "List memories that git took away before they were committed, in tracked mode",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InSlug) (wire.LostList, error) {
				return h.Lost(ctx, sc, in.Slug)
			}),
		on(Write, "DELETE", project+"/lost", "forgetLost", "Tell no more of memories that are lost",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *InSlug) (wire.LostForgotten, error) {
				return h.ForgetLost(ctx, sc, in.Slug)
			}),
		on(Write, "POST", project+"/undo", "undo", "Take back what a commit changed",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inSlugBody[wire.Undo]) (wire.Undone, error) {
				return h.Undo(ctx, sc, in.Slug, in.Body)
			}),
		on(Write, "POST", project+"/decay", "decay", "Tell which memories have faded, and archive them if asked to",
			func(ctx context.Context, h Handlers, sc fold.Scope, in *inOptional[wire.DecayRequest]) (wire.DecayReply, error) {
				return h.Decay(ctx, sc, in.Slug, orZero(in.Body))
			}),
		on(Read, "GET", "/status", "status", "Get the state of the daemon and its projects",
			func(ctx context.Context, h Handlers, sc fold.Scope, _ *inNone) (wire.Status, error) {
				return h.Status(ctx, sc)
			}),
	}
}
