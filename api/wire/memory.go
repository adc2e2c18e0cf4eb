package wire

import "time"

// A WriteState says how far a write has come. Later stages never undo earlier
// ones: what is durable survives a crash, indexed is found by search,
// committed is in history, pushed is on the remote.
type WriteState struct {
	Durable       bool   `json:"durable"`
	Indexed       bool   `json:"indexed"`
	Committed     bool   `json:"committed"`
	Pushed        bool   `json:"pushed"`
	BlockedReason string `json:"blocked_reason,omitempty"`
}

// A WriteReply answers every write.
type WriteReply struct {
	ID          string `json:"id"`
	Title       string `json:"title,omitempty"`
	Created     bool   `json:"created,omitempty" doc:"false if the write changed a memory that was there"`
	ContentHash string `json:"content_hash,omitempty"`
	Path        string `json:"path,omitempty" doc:"file below fold/"`
	Project     string `json:"project,omitempty"`
	WriteState
}

// A NewLink is a link as it is asked for.
type NewLink struct {
	Target  string `json:"target"`
	Type    string `json:"type,omitempty" doc:"related (default), references, depends_on, modifies or any word"`
	Context string `json:"context,omitempty"`
}

// MemoryCreate is what makes a memory.
type MemoryCreate struct {
	Content      string    `json:"content" minLength:"1" doc:"markdown text"`
	Title        string    `json:"title,omitempty" doc:"default: the first heading or line"`
	Type         string    `json:"type,omitempty" doc:"default: general"`
	Source       string    `json:"source,omitempty" doc:"default: agent"`
	Tags         []string  `json:"tags,omitempty"`
	Keywords     []string  `json:"keywords,omitempty"`
	Context      string    `json:"context,omitempty"`
	Author       string    `json:"author,omitempty"`
	Slug         string    `json:"slug,omitempty" doc:"adding under the same slug again updates"`
	FilePath     string    `json:"file_path,omitempty"`
	Links        []NewLink `json:"links,omitempty"`
	Pinned       bool      `json:"pinned,omitempty"`
	Importance   float64   `json:"importance,omitempty" minimum:"0" maximum:"1"`
	OriginalDate string    `json:"original_date,omitempty"`
	Visibility   string    `json:"visibility,omitempty" doc:"shared (default) or local"`
	AutoMetadata *bool     `json:"auto_metadata,omitempty" doc:"default: true"`
	AllowSecret  string    `json:"allow_secret,omitempty" doc:"rule to allow for this text"`
}

// Replace names one exact piece of text and what takes its place.
type Replace struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// Section names a heading and the text that shall stand under it.
type Section struct {
	Heading string `json:"heading"`
	Text    string `json:"text"`
}

// MemoryUpdate changes the named fields of a memory and leaves the rest alone.
type MemoryUpdate struct {
	ExpectedHash string    `json:"expected_hash,omitempty" doc:"content_hash the caller read; a mismatch is refused with both versions"`
	Content      *string   `json:"content,omitempty"`
	Append       string    `json:"append,omitempty"`
	Prepend      string    `json:"prepend,omitempty"`
	Replace      *Replace  `json:"replace,omitempty"`
	Section      *Section  `json:"section,omitempty"`
	Title        *string   `json:"title,omitempty"`
	Type         *string   `json:"type,omitempty"`
	Tags         *[]string `json:"tags,omitempty"`
	Keywords     *[]string `json:"keywords,omitempty"`
	Context      *string   `json:"context,omitempty"`
	Author       *string   `json:"author,omitempty"`
	FilePath     *string   `json:"file_path,omitempty"`
	Links        []NewLink `json:"links,omitempty" brief:"" doc:"added to those that are there"`
	Pinned       *bool     `json:"pinned,omitempty"`
	Importance   *float64  `json:"importance,omitempty"`
	OriginalDate *string   `json:"original_date,omitempty"`
	Visibility   *string   `json:"visibility,omitempty"`
	AllowSecret  string    `json:"allow_secret,omitempty"`
}

// A Link is an edge as seen from one memory.
type Link struct {
	ID        string  `json:"id"`
	SourceID  string  `json:"source_id"`
	TargetID  string  `json:"target_id"`
	Type      string  `json:"type"`
	Context   string  `json:"context,omitempty"`
	Direction string  `json:"direction,omitempty" enum:"out,in"`
	Title     string  `json:"title,omitempty" doc:"of the memory at the other end"`
	Derived   bool    `json:"derived,omitempty"`
	Evidence  string  `json:"evidence,omitempty"`
	Weight    float64 `json:"weight,omitempty"`

	Chunks []LinkChunk `json:"chunks,omitempty" doc:"of a link from chunks: that of the source, then that of the target"`
}

// A LinkChunk is one of the two chunks that are alike and tie their memories; of a
// memory without chunks, all of it.
type LinkChunk struct {
	MemoryID  string `json:"memory_id"`
	ID        string `json:"id,omitempty"`
	FilePath  string `json:"file_path,omitempty"`
	NodeType  string `json:"node_type,omitempty"`
	NodeName  string `json:"node_name,omitempty"`
	StartLine int    `json:"start_line,omitempty"`
	EndLine   int    `json:"end_line,omitempty"`
}

// LinkCreate makes a link from the memory in the path.
type LinkCreate struct {
	TargetID string `json:"target_id"`
	Type     string `json:"type,omitempty" doc:"default: related"`
	Context  string `json:"context,omitempty"`
}

// LinkList holds the links of one memory in both directions.
type LinkList struct {
	Items      []Link `json:"items"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// A Memory is one memory in full.
type Memory struct {
	ID             string     `json:"id"`
	Title          string     `json:"title"`
	Type           string     `json:"type"`
	Source         string     `json:"source"`
	Author         string     `json:"author,omitempty"`
	Slug           string     `json:"slug,omitempty"`
	Aliases        []string   `json:"aliases,omitempty"`
	Tags           []string   `json:"tags,omitempty"`
	Keywords       []string   `json:"keywords,omitempty"`
	Context        string     `json:"context,omitempty"`
	FilePath       string     `json:"file_path,omitempty"`
	Language       string     `json:"language,omitempty"`
	SourceBlob     string     `json:"source_blob,omitempty"`
	OriginalDate   string     `json:"original_date,omitempty"`
	Subject        string     `json:"subject,omitempty"`
	Relation       string     `json:"relation,omitempty"`
	Object         string     `json:"object,omitempty"`
	Pinned         bool       `json:"pinned,omitempty"`
	Importance     float64    `json:"importance,omitempty"`
	Session        string     `json:"session,omitempty"`
	Agent          string     `json:"agent,omitempty"`
	Commit         string     `json:"commit,omitempty"`
	MovedFrom      string     `json:"moved_from,omitempty"`
	Visibility     string     `json:"visibility,omitempty"`
	CreatedAt      time.Time  `json:"created_at"`
	UpdatedAt      time.Time  `json:"updated_at"`
	Content        string     `json:"content"`
	ContentHash    string     `json:"content_hash"`
	Path           string     `json:"path,omitempty" doc:"file below fold/; absent if kept in the index only"`
	Described      string     `json:"described,omitempty" enum:"fold,index"`
	Note           bool       `json:"note,omitempty" doc:"made by a person, keyed by its path"`
	Project        string     `json:"project"`
	RepositoryID   string     `json:"repository_id,omitempty"`
	Links          []Link     `json:"links"`
	Backlinks      []Link     `json:"backlinks"`
	Strength       float64    `json:"strength"`
	RetrievalCount int        `json:"retrieval_count"`
	LastAccessed   *time.Time `json:"last_accessed,omitempty"`
	Stale          bool       `json:"stale"`
	State          WriteState `json:"state"`
}

// A MemoryItem is a memory in a list, without its text.
type MemoryItem struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Type      string    `json:"type"`
	Source    string    `json:"source"`
	Author    string    `json:"author,omitempty"`
	Tags      []string  `json:"tags,omitempty"`
	FilePath  string    `json:"file_path,omitempty"`
	Path      string    `json:"path,omitempty"`
	Snippet   string    `json:"snippet,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Stale     bool      `json:"stale,omitempty"`
	Project   string    `json:"project,omitempty"`
}

// ListQuery selects memories.
type ListQuery struct {
	Source        string   `json:"source,omitempty" query:"source"`
	Type          string   `json:"type,omitempty" query:"type"`
	Author        string   `json:"author,omitempty" query:"author"`
	Tags          []string `json:"tags,omitempty" query:"tags" doc:"all of them"`
	Q             string   `json:"q,omitempty" query:"q" doc:"text in title, path or context"`
	CreatedAfter  string   `json:"created_after,omitempty" query:"created_after"`
	CreatedBefore string   `json:"created_before,omitempty" query:"created_before"`
	UpdatedAfter  string   `json:"updated_after,omitempty" query:"updated_after"`
	UpdatedBefore string   `json:"updated_before,omitempty" query:"updated_before"`
	SortBy        string   `json:"sort_by,omitempty" query:"sort_by" doc:"updated_at (default), created_at or title"`
	SortDir       string   `json:"sort_dir,omitempty" query:"sort_dir" doc:"desc (default) or asc"`
	Limit         int      `json:"limit,omitempty" query:"limit" doc:"default 20, at most 200"`
	Cursor        string   `json:"cursor,omitempty" query:"cursor"`
}

// MemoryList is one page of memories.
type MemoryList struct {
	Items      []MemoryItem `json:"items"`
	Total      int          `json:"total"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

// SourceText is the source a memory describes, or some of its lines.
type SourceText struct {
	ID        string `json:"id"`
	FilePath  string `json:"file_path"`
	Language  string `json:"language,omitempty"`
	StartLine int    `json:"start_line"`
	EndLine   int    `json:"end_line"`
	Content   string `json:"content"`
	Stale     bool   `json:"stale"`
}

// An UploadFile is one file that becomes a memory.
type UploadFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// FilesUpload turns files into memories with slug `upload:<path>`.
type FilesUpload struct {
	Files  []UploadFile `json:"files" minItems:"1"`
	Author string       `json:"author,omitempty"`
}

// FilesUploaded answers FilesUpload, one result a file in their order.
type FilesUploaded struct {
	Results []UploadResult `json:"results"`
}

// UploadResult is one file's outcome.
type UploadResult struct {
	Path  string `json:"path"`
	Error string `json:"error,omitempty"`
	WriteReply
}

// Adopt gives hand-made notes their ids and places.
type Adopt struct {
	IDs []string `json:"ids,omitempty"`
	All bool     `json:"all,omitempty"`
}

// Adopted tells what Adopt moved.
type Adopted struct {
	Moved []AdoptedNote `json:"moved"`
}

// An AdoptedNote is a note under its new id.
type AdoptedNote struct {
	OldID string `json:"old_id"`
	NewID string `json:"new_id"`
	From  string `json:"from"`
	To    string `json:"to"`
}
