package wire

import "time"

// ProjectCreate registers a checkout.
type ProjectCreate struct {
	Path         string `json:"path" doc:"absolute path of the checkout"`
	Name         string `json:"name,omitempty"`
	Slug         string `json:"slug,omitempty"`
	FileMemories string `json:"file_memories,omitempty" enum:"auto,fold,local"`
	FoldDir      string `json:"fold_dir,omitempty"`
	Remote       string `json:"remote,omitempty" doc:"to sync with: name of a remote of the checkout, URL, or absolute path; default: origin, else the only remote"`
	Sync         bool   `json:"sync,omitempty" doc:"publish the memories to the remote, and take those of others"`
	FromMirror   bool   `json:"from_mirror,omitempty" doc:"restore fold/ from the local mirror of this project"`
}

// ProjectUpdate changes how a project is kept.
type ProjectUpdate struct {
	Name         *string `json:"name,omitempty"`
	FileMemories *string `json:"file_memories,omitempty" enum:"auto,fold,local"`
	Mode         *string `json:"mode,omitempty" enum:"sidecar,tracked" doc:"sidecar: memories get a history of their own; tracked: you commit them with your own git. Of all work trees of the repository"`
}

// Project is a registered project and its checkouts on this machine.
type Project struct {
	Slug      string     `json:"slug"`
	Name      string     `json:"name"`
	ID        string     `json:"id,omitempty"`
	Checkouts []Checkout `json:"checkouts"`
	CreatedAt time.Time  `json:"created_at"`
}

// Checkout is a registered work tree.
type Checkout struct {
	Key    string `json:"key"`
	Path   string `json:"path"`
	Fold   string `json:"fold" doc:"absolute path of the fold folder"`
	Linked bool   `json:"linked,omitempty" doc:"a linked worktree that shares the main work tree's fold/"`
	Sync   string `json:"sync" doc:"on, off or paused"`
	Remote string `json:"remote,omitempty" doc:"that its memories are synced with"`
}

// ProjectList is every project the caller may read.
type ProjectList struct {
	Items      []Project `json:"items"`
	NextCursor string    `json:"next_cursor,omitempty"`
}

// ProjectAdded answers ProjectCreate.
type ProjectAdded struct {
	Project Project `json:"project"`
	Created bool    `json:"created" doc:"false if the checkout was registered already"`
	Key     string  `json:"key" doc:"of the checkout, which may be one of several of the project"`
	JobID   string  `json:"job_id,omitempty" doc:"the first index"`

	Repository *RepositoryAdded `json:"repository,omitempty" doc:"the sync that was turned on"`

	Notices []string `json:"notices,omitempty"`
}

// ProjectRemove says what goes with the registration.
type ProjectRemove struct {
	Path  string `json:"path,omitempty" query:"path" doc:"one checkout; default: all of the project"`
	Purge bool   `json:"purge,omitempty" query:"purge" doc:"also fold/, history, index and mirror"`
}

// Algorithm holds a project's ranking settings.
type Algorithm struct {
	StrengthWeight    float64 `json:"strength_weight"`
	DecayHalfLifeDays float64 `json:"decay_half_life_days"`
}

// Status is the state of the daemon and all projects the caller may read.
type Status struct {
	Version    string           `json:"version"`
	PID        int              `json:"pid"`
	Socket     string           `json:"socket"`
	Listen     string           `json:"listen,omitempty" doc:"URL by which programs with a token can call; none: socket only"`
	Webhooks   string           `json:"webhooks,omitempty" doc:"URL at which only webhooks are taken, below /webhooks/{github|gitlab}/{repository id}; none: they are not"`
	StartedAt  time.Time        `json:"started_at"`
	Ready      bool             `json:"ready"`
	Projects   []ProjectStatus  `json:"projects"`
	Embedder   string           `json:"embedder"`
	Notices    []string         `json:"notices,omitempty" doc:"what a person should know, each with the way out"`
	RSSBytes   int64            `json:"rss_bytes,omitempty"`
	CPUSeconds float64          `json:"cpu_seconds,omitempty" doc:"of the daemon and its workers"`
	Counters   map[string]int64 `json:"counters,omitempty" doc:"work since start: files_read, bytes_read, parses, chunk_cache_hits, embeds (texts), embed_calls, vector_cache_hits, index_operations, git_processes, commits, …"`
}

// ProjectStatus is the state of one checkout.
type ProjectStatus struct {
	Slug         string        `json:"slug"`
	Key          string        `json:"key" doc:"of the checkout: tells it from others of the project"`
	Path         string        `json:"path"`
	State        string        `json:"state" doc:"starting, indexing, ready, paused, read-only, missing, failed"`
	Reason       string        `json:"reason,omitempty"`
	Hint         string        `json:"hint,omitempty" doc:"command that resolves Reason"`
	Resting      bool          `json:"resting,omitempty" doc:"its stores are closed until somebody asks or something changes; counts are those of then"`
	Files        FileCounts    `json:"files"`
	Memories     int           `json:"memories"`
	Chunks       int           `json:"chunks"`
	Vectors      int           `json:"vectors"`
	VectorsDue   int           `json:"vectors_due" doc:"memories whose vectors are still to come; words find them already"`
	Links        int           `json:"links"`
	Conflicts    int           `json:"conflicts,omitempty" doc:"memories that hold another version of one, which a merge could not keep in place"`
	Lost         int           `json:"lost,omitempty" doc:"in tracked mode, memories that were written and that git took away before they were committed: GET …/lost"`
	Uncommitted  int           `json:"uncommitted,omitempty" doc:"in tracked mode, memories that were written here and that no commit had when git was last looked at"`
	Proposals    int           `json:"proposals,omitempty" doc:"changes of memories that wait for a decision"`
	Queued       int           `json:"queued" doc:"jobs waiting or running"`
	Progress     *Progress     `json:"progress,omitempty"`
	Engine       string        `json:"engine" doc:"vector engine that serves"`
	VectorSearch *VectorSearch `json:"vector_search,omitempty"`
	Embedder     *Embedder     `json:"embedder,omitempty" doc:"model whose vectors answer"`
	Chunker      string        `json:"chunker" doc:"tree-sitter, or text where built without cgo"`
	Watch        string        `json:"watch" doc:"events, polling or off"`
	WatchReason  string        `json:"watch_reason,omitempty"`
	FileMemories string        `json:"file_memories"`
	Mode         string        `json:"mode" doc:"sidecar: memories have a history of their own; tracked: you commit them with your own git"`
	LastCommit   *CommitInfo   `json:"last_commit,omitempty" doc:"newest that changes memories: in tracked mode of your own history, else of that beside it"`
	Sync         string        `json:"sync" doc:"off until turned on; on or paused"`
	Repository   *Repository   `json:"repository,omitempty" doc:"how the sync stands; nil while it is off"`
	Problems     []FileProblem `json:"problems,omitempty" doc:"first 50 files set aside or failed, with reasons; all of them: GET …/problems"`
	ProblemCount int           `json:"problem_count"`
	Notices      []string      `json:"notices,omitempty"`
	PausedUntil  *time.Time    `json:"paused_until,omitempty"`

	Counters map[string]int64 `json:"counters,omitempty" doc:"work for this checkout since start: files_read, bytes_read, parses, chunk_cache_hits, index_operations, git_processes, commits, …"`
	JobTimes []JobTimes       `json:"job_times,omitempty" doc:"by type of job, since start"`
}

// Embedder is the model that turns a project's texts into vectors.
type Embedder struct {
	Provider  string  `json:"provider" doc:"builtin, local, or the name of a provider"`
	Model     string  `json:"model"`
	Dimension int     `json:"dimension"`
	Where     string  `json:"where" doc:"this machine, or the host that texts are sent to"`
	Weight    float64 `json:"weight" doc:"of vectors beside words, in a search for files and memories"`
	WeightWhy string  `json:"weight_why" doc:"who decided the weight, or how it was measured"`
	// Of functions and sections: codebase_search ranks them, and not their files.
	ChunkWeight    float64    `json:"chunk_weight" doc:"of vectors beside words, in a search for functions and sections"`
	ChunkWeightWhy string     `json:"chunk_weight_why" doc:"who decided that weight, or how it was measured"`
	Next           string     `json:"next,omitempty" doc:"model that is chosen and whose vectors are being made"`
	HeldUntil      *time.Time `json:"held_until,omitempty" doc:"the provider failed too often, or said to come back later, and is asked for nothing before"`
	SentToday      int64      `json:"sent_today,omitempty" doc:"texts that left this machine today (UTC), for all projects"`
	DailyTexts     int        `json:"daily_texts,omitempty" doc:"how many may"`
}

// EmbedderList is the model of every project the caller may read.
type EmbedderList struct {
	Items []ProjectEmbedder `json:"items"`
}

// ProjectEmbedder is the model of one project.
type ProjectEmbedder struct {
	Slug     string    `json:"slug"`
	Embedder *Embedder `json:"embedder,omitempty"`
	Notice   string    `json:"notice,omitempty" doc:"why the chosen model is not in use"`
}

// AuditQuery chooses requests.
type AuditQuery struct {
	Project string `json:"project,omitempty" query:"project" doc:"only those on behalf of this project"`
	Limit   int    `json:"limit,omitempty" query:"limit" doc:"default 50, at most 1000"`
	Cursor  string `json:"cursor,omitempty" query:"cursor" doc:"next_cursor of the page before"`
}

// AuditList is a page of the requests that left this machine, newest first.
type AuditList struct {
	Items      []AuditLine `json:"items"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

// AuditLine is one request that left this machine: how large it was, and never what
// it held.
type AuditLine struct {
	At      time.Time `json:"at"`
	Project string    `json:"project" doc:"on whose behalf"`
	Host    string    `json:"host"`
	Action  string    `json:"action" doc:"provider, and how many texts"`
	Bytes   int       `json:"bytes"`
	Outcome string    `json:"outcome" doc:"what was answered, or why nothing was"`
}

// JobTimes sums up the jobs of one type since start.
type JobTimes struct {
	Type    string  `json:"type"`
	Ended   int64   `json:"ended" doc:"attempts that have ended"`
	Failed  int64   `json:"failed" doc:"of them, those that failed, to be tried again or not"`
	Seconds float64 `json:"seconds" doc:"that they took in all"`
}

// FileCounts counts a checkout's files by state.
type FileCounts struct {
	Total   int `json:"total"`
	Indexed int `json:"indexed"`
	Stale   int `json:"stale"`
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
	Queued  int `json:"queued"`
}

// A FileProblem is one file of which not all is indexed, and why.
type FileProblem struct {
	Path   string `json:"path"`
	State  string `json:"state" enum:"skipped,failed,partial,quarantined" doc:"partial: indexed, but not all of it, or not by its syntax"`
	Reason string `json:"reason"`
	ID     string `json:"id,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

// ProblemQuery selects a page of problems: quarantined files first, then failed
// ones, those indexed in part, and those skipped.
type ProblemQuery struct {
	Limit  int    `json:"limit,omitempty" query:"limit" doc:"default 100, at most 1000"`
	Cursor string `json:"cursor,omitempty" query:"cursor" doc:"next_cursor of the page before"`
}

// ProblemList is a page of the files set aside.
type ProblemList struct {
	Items      []FileProblem `json:"items"`
	NextCursor string        `json:"next_cursor,omitempty"`
}

// Progress is how far long work has come. Rates are those of the last seconds;
// what is not known yet is left out.
type Progress struct {
	Stage          string  `json:"stage" doc:"listing, reading memories, words, reading commits, describing, indexing text, embedding"`
	Done           int     `json:"done" doc:"files worked through; memories where they are read or embedded"`
	Total          int     `json:"total" doc:"of this stage; 0 while that is not known"`
	Bytes          int64   `json:"bytes,omitempty" doc:"of source, worked through"`
	BytesTotal     int64   `json:"bytes_total,omitempty"`
	PerSecond      float64 `json:"per_second,omitempty" doc:"files a second"`
	BytesPerSecond float64 `json:"bytes_per_second,omitempty"`
	ETASeconds     float64 `json:"eta_seconds,omitempty" doc:"until the end of this stage"`
	Searchable     int     `json:"searchable,omitempty" doc:"of done, what is stored: searches find it, and a crash does not lose it"`
}

// Drift compares what is derived of a project with its files.
type Drift struct {
	Files         int      `json:"files" doc:"memory files below fold/"`
	Memories      int      `json:"memories" doc:"rows: of memory files, and of source files that are described in the index only"`
	Chunks        int      `json:"chunks" doc:"rows of chunks"`
	Documents     int      `json:"documents" doc:"of the text index: one for each memory and chunk"`
	Vectors       int      `json:"vectors" doc:"one for each memory and chunk, but for those that hold a credential"`
	WithoutVector int      `json:"without_vector" doc:"memories and chunks that have none"`
	VectorsDue    int      `json:"vectors_due" doc:"memories whose vectors are still to come"`
	Queued        int      `json:"queued" doc:"jobs under way: a difference may be theirs to end"`
	Differences   []string `json:"differences" doc:"where rows, words and vectors are not in step, in words: a rebuild makes them anew"`
	Behind        []string `json:"behind" doc:"where the index is not what lies on disk, in words, of source files and of memory files: an index brings it up to them"`
}

// Job is queued work.
type Job struct {
	ID        string     `json:"id"`
	Type      string     `json:"type"`
	Project   string     `json:"project"`
	Status    string     `json:"status" enum:"pending,running,completed,failed,retry,cancelled,paused"`
	Priority  int        `json:"priority"`
	Attempts  int        `json:"attempts"`
	Error     string     `json:"error,omitempty"`
	Progress  *Progress  `json:"progress,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	StartedAt *time.Time `json:"started_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	NextRetry *time.Time `json:"next_retry,omitempty"`
}

// JobList is the queue, newest first.
type JobList struct {
	Items      []Job  `json:"items"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// Reindex asks for work on the index.
type Reindex struct {
	Full    bool `json:"full,omitempty" doc:"describe also what was deleted by hand"`
	Rebuild bool `json:"rebuild,omitempty" doc:"drop the derived stores first"`

	RetryFailed bool `json:"retry_failed,omitempty" doc:"only what an earlier attempt failed on, also what is set aside until it changes"`

	History int `json:"history,omitempty" minimum:"0" doc:"also make memories of the last N commits"`
}

// JobRef names a queued job.
type JobRef struct {
	JobID string `json:"job_id"`
}

// Health answers the health routes.
type Health struct {
	Status  string            `json:"status" enum:"ok,degraded,starting"`
	Version string            `json:"version"`
	Checks  map[string]string `json:"checks,omitempty"`
}

// CommitInfo is one commit of the memory's history.
type CommitInfo struct {
	Rev     string    `json:"rev"`
	Time    time.Time `json:"time"`
	Message string    `json:"message"`
	Author  string    `json:"author,omitempty"`
	From    string    `json:"from,omitempty" enum:"sync,remote" doc:"absent: written in this checkout; sync: brought by a sync; remote: written on another machine between two syncs"`
	Writers []string  `json:"writers,omitempty" doc:"who wrote what a sync brought, as far as it is known"`
	IDs     []string  `json:"ids,omitempty"`
	Paths   []string  `json:"paths,omitempty"`
}

// LogReply is the history of all memories, or of one, newest first.
type LogReply struct {
	Items      []CommitInfo `json:"items"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

// DiffReply is what changed since a revision, as a unified diff.
type DiffReply struct {
	From string `json:"from"`
	To   string `json:"to"`
	Diff string `json:"diff"`
}

// Restore brings one memory back as it was.
type Restore struct {
	ID string `json:"id"`
	At string `json:"at,omitempty" doc:"revision; default: the last one that differs"`
}

// A LostMemory is one that was written in tracked mode, and that git took away before it
// was committed. POST …/restore brings it back.
type LostMemory struct {
	ID        string    `json:"id"`
	Title     string    `json:"title,omitempty"`
	Path      string    `json:"path" doc:"file below fold/"`
	WrittenAt time.Time `json:"written_at"`
}

// LostList lists them.
type LostList struct {
	Items []LostMemory `json:"items"`
}

// LostForgotten tells how many lost memories nobody wants back.
type LostForgotten struct {
	Count int `json:"count"`
}

// Pause stops watching and committing for a while.
type Pause struct {
	For string `json:"for,omitempty" doc:"duration such as 1h; default: until resume"`
}

// RemoveMissing confirms that files which vanished were meant to go.
type RemoveMissing struct {
	IDs []string `json:"ids,omitempty"`
}

// RemovedMissing tells what RemoveMissing let go.
type RemovedMissing struct {
	Removed []string `json:"removed"`
}

// An Event tells that something happened. Types: job:*, indexing:*, memory:*,
// sync:*, health:changed, heartbeat.
type Event struct {
	ID      uint64         `json:"id"`
	Type    string         `json:"type"`
	Project string         `json:"project,omitempty"`
	Time    time.Time      `json:"time"`
	Data    map[string]any `json:"data,omitempty"`
}
