package textindex

import (
	"math"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// Kind says what a document is.
type Kind string

// The kinds of document.
const (
	File    Kind = "file"    // the memory of a source file; scored with the text of its chunks
	Chunk   Kind = "chunk"   // a span of source code
	Section Kind = "section" // a span of text for people
	Memory  Kind = "memory"  // a memory of its own: written, or about a commit
)

// kinds in the order of Hit lists and of stored sums.
var kinds = [...]Kind{File, Chunk, Section, Memory}

// Numbers of kinds.
const (
	fileKind = iota
	chunkKind
	sectionKind
	memoryKind
)

// A Doc is one document to index.
type Doc struct {
	Key    string // "m:<memory id>" or "c:<chunk id>", unique
	Kind   Kind
	Memory fold.ID // the memory it is shown under

	Title   string // of the memory; of a section: its heading and those above it
	Symbol  string // qualified name
	Path    string // of the source file, forward slashes
	Body    string
	Context string // a few sentences, neighbours, date and author in words

	Tags, Keywords                 []string
	Source, Type, Author, Language string    // filtered, not searched
	Updated                        time.Time // filtered; a chunk is as old as the document of its memory says

	// Dates says of a chunk that Updated is the time of its memory, too, if that
	// is later than what the document of the memory says, which need not be put
	// again for it. Of the document of a memory it says that no chunk does.
	Dates bool
}

// Searched fields. Each kind has terms of its own,
// so that one that is common in chunks may be rare in memories.
const (
	body = iota
	symbol
	pathWords
	title
	about // context
	tags
	keywords
	exact // not a field: joined forms of all of them
	numFields
)

// prose reports whether the body is text for people rather than code: there
// phrases tell more (sections: nDCG@10 +0.04), in code they mislead (functions:
// -0.03) and would double the dictionary.
func (d *Doc) prose() bool {
	return d.Kind == Memory || d.Kind == Section || Prose(d.Language)
}

// Prose reports whether files of a language are text for people rather than code.
func Prose(language string) bool {
	switch language {
	case "", "markdown", "text", "html":
		return true
	}
	return false
}

// nanos returns t in nanoseconds from 1970, clamped to what 64 bits hold, in an
// unsigned form that keeps the order.
func nanos(t time.Time) uint64 {
	var n int64
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		n = math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		n = math.MaxInt64
	default:
		n = t.UnixNano()
	}
	return uint64(n) ^ 1<<63
}
