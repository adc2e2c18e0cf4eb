package describe

import (
	"path"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/ingest/imports"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// The limits of what we write (design.md 4).
const (
	MaxTitle      = 100 // runes
	maxKeywords   = 15
	MaxTags       = 6
	maxComponents = 15
	maxAlso       = 20 // names behind the components shown
	maxDeps       = 20
	maxSummary    = 700 // runes
)

// A Subject is one source file as it stood in a tree, cut into chunks.
type Subject struct {
	Slug     string // of the project
	Path     string // relative to the checkout, forward slashes
	Language string // as the chunker names it; "" if not known
	Blob     string // git blob id of Source
	Source   []byte // may be cut short for a very long file

	Chunks  []fold.Chunk // in order; Doc holds the first sentence of their comment
	Package string       // as the file declares it
	Doc     string       // first sentence of the file's own comment
	Imports []string     // as written

	// Tested is the file of the same tree that a test is named after, "" if
	// there is none.
	Tested string

	// Created and Committed are the times of the first and the last commit of
	// the path. A zero Created is taken to be Committed.
	Created   time.Time
	Committed time.Time

	// Resolve returns the file of the same tree that an import means, if it
	// means one. May be nil.
	Resolve func(imp string) (path string, ok bool)
}

// NewSubject returns what is known of a source file in the tree of files, cut as res.
func NewSubject(slug, path, blob string, src []byte, res chunker.Result, when time.Time, files *imports.Files) Subject {
	return Subject{
		Slug: slug, Path: path, Language: res.Language, Blob: blob, Source: src,
		Chunks: res.Chunks, Package: res.Package, Doc: res.Doc, Imports: res.Imports, Tested: files.Tested(path), Committed: when,
		Resolve: func(imp string) (string, bool) { return files.Resolve(path, res.Language, imp) },
	}
}

// Times returns when the memory was made and changed.
func (s *Subject) Times() (created, updated time.Time) {
	created = s.Created
	if created.IsZero() || created.After(s.Committed) {
		created = s.Committed
	}
	return created.UTC(), s.Committed.UTC()
}

// tailPath returns the file's name with the folder it is in.
func tailPath(p string) string {
	dir := path.Base(path.Dir(p))
	if dir == "." || dir == "/" {
		return path.Base(p)
	}
	return dir + "/" + path.Base(p)
}

// Stem returns the file's name without extensions, lower case.
func Stem(p string) string {
	base := path.Base(p)
	if i := strings.IndexByte(base[min(1, len(base)):], '.'); i >= 0 {
		base = base[:i+1]
	}
	return strings.ToLower(base)
}
