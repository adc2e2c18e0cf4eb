package wire

import "time"

// SearchRequest asks for what fits a query. All filters act inside the query.
type SearchRequest struct {
	Query          string   `json:"query" minLength:"1"`
	Source         string   `json:"source,omitempty" doc:"file, agent or git"`
	Type           string   `json:"type,omitempty"`
	Tags           []string `json:"tags,omitempty" doc:"all of them"`
	Author         string   `json:"author,omitempty"`
	FilePattern    string   `json:"file_pattern,omitempty" doc:"glob over the source path, ** crosses folders"`
	Language       string   `json:"language,omitempty"`
	After          string   `json:"after,omitempty" doc:"RFC 3339 or YYYY-MM-DD; compares updated_at"`
	Before         string   `json:"before,omitempty"`
	Limit          int      `json:"limit,omitempty" doc:"default 10, at most 100"`
	Cursor         string   `json:"cursor,omitempty" doc:"next_cursor of the page before, of the same query and filters"`
	TokenBudget    int      `json:"token_budget,omitempty" doc:"the most tokens the results may have, counted conservatively; at least 300, default none. What does not fit is on the next page"`
	MinScore       float64  `json:"min_score,omitempty" doc:"leave out scores below it. Scores compare results of one search, in which 1 is the best that could be; where words of the query occur nowhere (not_found), all are less by the share that is missing. What is enough differs from query to query"`
	IncludeChunks  *bool    `json:"include_chunks,omitempty" doc:"default true: up to 3 matched chunks a result; with chunks_first all that are among the best places"`
	Explain        bool     `json:"explain,omitempty" doc:"also tell how each score comes about, where the words of the query occur, and what each filter takes away"`
	WaitForPending bool     `json:"wait_for_pending,omitempty" doc:"wait until queued writes are searchable"`
	ChunksFirst    bool     `json:"chunks_first,omitempty" doc:"rank by the best chunk (codebase_search)"`
}

// SearchReply holds what was found, best first.
type SearchReply struct {
	Query      string         `json:"query"`
	Results    []SearchResult `json:"results"`
	Total      int            `json:"total"`
	TookMS     float64        `json:"took_ms"`
	IndexStale bool           `json:"index_stale" doc:"true while queued changes are not yet searchable"`
	Notice     string         `json:"notice,omitempty" doc:"what to know of all results, such as that no word of the query matched"`
	NotFound   []string       `json:"not_found,omitempty" doc:"words and names of the query, as they were typed, that occur nowhere in what was searched, whatever the filters: results have other words of it, or parts of a name. All scores are less for it"`
	Words      []QueryWord    `json:"words,omitempty" doc:"with explain, and where nothing was found: where the words of the query occur"`
	Filters    []FilterEffect `json:"filters,omitempty" doc:"with explain, and where nothing was found: what each filter that was set keeps and takes away"`
	Cursor     string         `json:"cursor,omitempty" doc:"of this page"`
	NextCursor string         `json:"next_cursor,omitempty" doc:"of the next page; absent on the last"`
	Omitted    int            `json:"omitted,omitempty" doc:"results that limit asked for and token_budget has no room for"`
}

// NoticeNear is the notice of a search that found by meaning alone.
const NoticeNear = "near; no word matched"

// A QueryWord is one word or name of a query. Words that say nothing alone (the, is,
// how) are not looked for.
type QueryWord struct {
	Word     string      `json:"word" doc:"as it was typed"`
	Found    int         `json:"found" doc:"about how many memories and spans of source have it; 0: none"`
	Filtered bool        `json:"filtered,omitempty" doc:"none of them passes the filters"`
	Parts    []QueryWord `json:"parts,omitempty" doc:"of a name that is not found: its words"`
}

// A FilterEffect is what one filter of a search does.
type FilterEffect struct {
	Name    string   `json:"name" enum:"source,type,tags,author,file_pattern,language,after,before,min_score" doc:"as in the request; each tag has its own"`
	Value   string   `json:"value"`
	Passing int      `json:"passing" doc:"memories that pass it alone, whatever the query; of min_score: results that have it"`
	Removed int      `json:"removed" doc:"how many of those that the query finds without filters it takes away"`
	Known   []string `json:"known,omitempty" doc:"where none passes: some of the values there are, likely ones first; of a date the last or first there is, of min_score the best"`
}

// A SearchResult is one memory with the chunks that matched.
type SearchResult struct {
	ID            string         `json:"id"`
	Type          string         `json:"type"`
	Title         string         `json:"title"`
	Snippet       string         `json:"snippet"`
	Score         float64        `json:"score"`
	Relevance     float64        `json:"relevance"`
	Strength      float64        `json:"strength"`
	Metadata      ResultMetadata `json:"metadata"`
	CreatedAt     time.Time      `json:"created_at"`
	UpdatedAt     time.Time      `json:"updated_at"`
	Stale         bool           `json:"stale"`
	Project       string         `json:"project,omitempty"`
	MatchedChunks []MatchedChunk `json:"matched_chunks,omitempty"`
	Highlights    []Range        `json:"highlights,omitempty" doc:"of snippet: what of the query stands in it"`
	Why           []Reason       `json:"why,omitempty" doc:"what made it a result, most telling first"`
	Explain       []ScoreTerm    `json:"explain,omitempty" doc:"the addends of score"`
	Lacks         []string       `json:"lacks,omitempty" doc:"with explain: words of the query that are neither in its name nor in its text or the matched chunks"`
}

// A Range is a part of a text, [Start, End), in characters (Unicode code points)
// from 0. Ranges of one text are in order and do not touch.
type Range struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Kinds of [Reason].
const (
	WhyChunk   = "chunk"   // a span of source has words of the query
	WhyText    = "text"    // title, path or text of the memory has
	WhyCommit  = "commit"  // a commit whose message is like the query touched the file
	WhySession = "session" // said in the session of what matched
	WhyLink    = "link"    // tied to what matched
	WhyMeaning = "meaning" // near in meaning, whatever its words
)

// A Reason says why a memory is among the results.
type Reason struct {
	Kind    string   `json:"kind" enum:"chunk,text,commit,session,link,meaning"`
	Text    string   `json:"text" doc:"a phrase for people; it holds stored text"`
	Words   []string `json:"words,omitempty" doc:"words of the query, as they are in it"`
	Chunk   string   `json:"chunk,omitempty" doc:"id of the matched chunk"`
	Commit  string   `json:"commit,omitempty" doc:"hash of the commit"`
	Subject string   `json:"subject,omitempty" doc:"first line of its message"`
}

// ResultMetadata says where a result comes from.
type ResultMetadata struct {
	Source   string   `json:"source"`
	FilePath string   `json:"file_path,omitempty"`
	Path     string   `json:"path,omitempty" doc:"file below fold/"`
	Author   string   `json:"author,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Language string   `json:"language,omitempty"`
}

// A MatchedChunk is a span of the source that matched.
type MatchedChunk struct {
	ID        string  `json:"id"`
	NodeType  string  `json:"node_type"`
	NodeName  string  `json:"node_name,omitempty"`
	StartLine int     `json:"start_line"`
	EndLine   int     `json:"end_line"`
	Score     float64 `json:"score"`
	Snippet   string  `json:"snippet" doc:"its best lines; empty where it holds a credential or the file has changed"`

	SnippetLines []int   `json:"snippet_lines,omitempty" doc:"number in the source of each line of snippet"`
	Highlights   []Range `json:"highlights,omitempty" doc:"of snippet: what of the query stands in it"`
}

// A ScoreTerm is one addend of a score. Those of a result sum up to its score.
type ScoreTerm struct {
	Name    string  `json:"name" doc:"of the feature"`
	Channel string  `json:"channel" doc:"the way of finding that it belongs to"`
	About   string  `json:"about,omitempty" doc:"what it measures"`
	Value   float64 `json:"value" doc:"of the feature, in [0, 1]: 1 is the best of this search"`
	Weight  float64 `json:"weight" doc:"its share of the score; below 0 it corrects another"`
	Adds    float64 `json:"adds" doc:"value × weight"`
}

// ContextRequest bounds the context of a memory.
type ContextRequest struct {
	Depth       int `json:"depth,omitempty" doc:"1 (default) to 3 links away"`
	Limit       int `json:"limit,omitempty" doc:"default 20, at most 100"`
	TokenBudget int `json:"token_budget,omitempty" doc:"the most tokens of the reply, counted conservatively; at least 300, default none"`
}

// ContextReply is the holographic context of one memory.
type ContextReply struct {
	Memory          Memory          `json:"memory"`
	RelatedMemories []RelatedMemory `json:"related_memories"`
	SimilarMemories []SimilarMemory `json:"similar_memories"`
	Truncated       bool            `json:"truncated,omitempty"`
	Omitted         int             `json:"omitted,omitempty" doc:"linked and similar memories that token_budget has no room for; ask with a larger one, or for the links of the memory"`
}

// A RelatedMemory is reached over links; each appears once, nearest first.
type RelatedMemory struct {
	MemoryItem
	Relationship string `json:"relationship"`
	Direction    string `json:"direction" enum:"out,in"`
	Depth        int    `json:"depth"`
	Via          string `json:"via,omitempty" doc:"id of the memory whose link led here"`
	Derived      bool   `json:"derived,omitempty"`
	Context      string `json:"context,omitempty"`
	Evidence     string `json:"evidence,omitempty" doc:"of a derived link"`
}

// A SimilarMemory is close in meaning and not linked.
type SimilarMemory struct {
	MemoryItem
	Relevance float64 `json:"relevance"`
}

// TaskContextRequest asks for what helps with a task.
type TaskContextRequest struct {
	Task    string   `json:"task" minLength:"1"`
	Sources []string `json:"sources,omitempty"`
	Limit   int      `json:"limit,omitempty" doc:"default 20"`

	TokenBudget int `json:"token_budget,omitempty" doc:"the most tokens of the reply, counted conservatively; at least 300, default none"`
}

// TaskContextReply ranks context for a task, each with a reason.
type TaskContextReply struct {
	Task    string            `json:"task"`
	Context []TaskContextItem `json:"context"`
	Omitted int               `json:"omitted,omitempty" doc:"items that limit asked for and token_budget has no room for"`
}

// A TaskContextItem is one memory that helps, and why.
type TaskContextItem struct {
	ID        string  `json:"id"`
	Title     string  `json:"title"`
	Type      string  `json:"type"`
	Source    string  `json:"source"`
	FilePath  string  `json:"file_path,omitempty"`
	Content   string  `json:"content"`
	Relevance float64 `json:"relevance"`
	Reason    string  `json:"reason"`
}
