// Package mcp is the door for agents: tools, resources and prompts of the Model
// Context Protocol over HTTP, and the shim that carries them over stdio.
//
// Everything a model reads here was written by somebody: titles, snippets and
// texts are returned as data, framed with their provenance, and never as
// instructions.
package mcp

import (
	"context"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Handlers is what of the daemon agents may use. Methods check the scope, return
// errors that wrap the kinds of package fold, and are safe for concurrent use.
type Handlers interface {
	Projects(ctx context.Context, sc fold.Scope) (wire.ProjectList, error)
	Project(ctx context.Context, sc fold.Scope, slug string) (wire.Project, error)
	ProjectStatus(ctx context.Context, sc fold.Scope, slug string) (wire.ProjectStatus, error)
	ProjectOfPath(ctx context.Context, sc fold.Scope, path string) (slug string, err error)
	Status(ctx context.Context, sc fold.Scope) (wire.Status, error)

	AddMemory(ctx context.Context, sc fold.Scope, slug string, in wire.MemoryCreate) (wire.WriteReply, error)
	GetMemory(ctx context.Context, sc fold.Scope, slug, id string) (wire.Memory, error)
	ListMemories(ctx context.Context, sc fold.Scope, slug string, in wire.ListQuery) (wire.MemoryList, error)
	UpdateMemory(ctx context.Context, sc fold.Scope, slug, id string, in wire.MemoryUpdate) (wire.WriteReply, error)
	DeleteMemory(ctx context.Context, sc fold.Scope, slug, id, expectedHash string) (wire.WriteReply, error)
	MemorySource(ctx context.Context, sc fold.Scope, slug, id string, start, end int) (wire.SourceText, error)
	Links(ctx context.Context, sc fold.Scope, slug, id string) (wire.LinkList, error)
	AddLink(ctx context.Context, sc fold.Scope, slug, id string, in wire.LinkCreate) (wire.Link, error)
	Upload(ctx context.Context, sc fold.Scope, slug string, in wire.FilesUpload) (wire.FilesUploaded, error)

	Search(ctx context.Context, sc fold.Scope, slug string, in wire.SearchRequest) (wire.SearchReply, error)
	SearchAll(ctx context.Context, sc fold.Scope, in wire.SearchRequest) (wire.SearchReply, error)
	Context(ctx context.Context, sc fold.Scope, slug, id string, in wire.ContextRequest) (wire.ContextReply, error)
	Prime(ctx context.Context, sc fold.Scope, slug string, in wire.PrimeQuery) (wire.Prime, error)

	Reindex(ctx context.Context, sc fold.Scope, slug string, in wire.Reindex) (wire.JobRef, error)
	Job(ctx context.Context, sc fold.Scope, id string) (wire.Job, error)
	Subscribe(ctx context.Context, sc fold.Scope, after uint64) <-chan wire.Event
}
