package fold

import (
	"strings"
	"time"
)

// Source says where a memory came from.
type Source string

// The sources of a memory.
const (
	SourceFile  Source = "file"  // describes a file of the checkout
	SourceAgent Source = "agent" // written by an agent or a person
	SourceGit   Source = "git"   // tells a commit or a pull request
)

// A Memory is one markdown file under fold/, decoded. The file is the truth:
// what is kept of it elsewhere can be deleted and rebuilt.
//
// The zero value is not a valid memory: ID, Title and Source are always set by
// [Decode] and expected by [Encode].
type Memory struct {
	ID    ID     // key of the memory; for a note made by a person see NoteID
	Path  string // below fold/, forward slashes; "" if the memory has no file
	Title string // at most 100 runes when we write

	Aliases  []string
	Type     string // memory_type: codebase, decision, … or any other word
	Source   Source
	Author   string
	Tags     []string // at most 6 when we write
	Keywords []string // at most 15 when we write
	Context  string   // three to five sentences

	FilePath   string // source file it describes, for display, never opened
	Language   string
	SourceBlob string // git blob id of what was described

	OriginalDate string // YYYY-MM-DD or RFC 3339, as found
	CreatedAt    time.Time
	UpdatedAt    time.Time

	Slug                      string
	Subject, Relation, Object string // of a fact

	// Links as written in the frontmatter, by type. Wiki links in the body are
	// not among them; see [Memory.WrittenLinks].
	Links []Link
	// ByName holds links of the frontmatter whose target is no id.
	ByName []NamedLink

	Pinned     bool
	Importance float64 // 0–1; 0 if not given
	Session    string
	Agent      string
	Commit     string
	MovedFrom  string
	Layer      string
	Visibility string // "" or "shared"; "local" never leaves the journal
	Deleted    bool   // `deleted: true`: the file is there and is no memory

	// Body is what follows the frontmatter, with LF line ends, without our
	// `## Related` block.
	Body string

	Note    bool   // made by a person, keyed by its path: never renamed or rewritten
	Foreign string // id in a note's frontmatter that is not ours; resolves as an alias
}

// LinkType is the kind of a link: one of the four below or any other word.
type LinkType string

// The link types that have a frontmatter key of their own.
const (
	LinkRelated       LinkType = "related"        // related_to
	LinkReferences    LinkType = "references"     // references
	LinkDependsOn     LinkType = "depends_on"     // depends_on
	LinkModifies      LinkType = "modifies"       // modifies
	LinkConflictsWith LinkType = "conflicts_with" // conflicts_with
	LinkSupersedes    LinkType = "supersedes"     // supersedes
)

// A Link is a typed edge from one memory to another.
type Link struct {
	From    ID
	To      ID
	Type    LinkType
	Context string // why; "" if not said

	// Derived links are found in the index with their evidence and are never
	// written to a file. All others are written.
	Derived  bool
	Evidence string  // of a derived link: the rule or chunks that made it
	Weight   float64 // confidence of a derived link, 0–1; 1 for written ones
}

// alikeID begins the name of a link that is kept nowhere, so that whoever has the
// name alone knows what it is of.
const alikeID = "alike-"

// AlikeID returns the name of a link that is made from what the texts of its ends
// share, whenever one of them is looked at. It cannot be removed.
func (l Link) AlikeID() string { return alikeID + l.ID() }

// IsAlikeID reports whether id may be one of [Link.AlikeID].
func IsAlikeID(id string) bool { return strings.HasPrefix(id, alikeID) }

// ID returns the name under which the link can be removed: 16 hex digits of
// the hash of both ends and the type.
func (l Link) ID() string {
	return string(hash16("link:" + string(l.From) + ">" + string(l.To) + ":" + string(l.Type)))
}
