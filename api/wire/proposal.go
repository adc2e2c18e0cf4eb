package wire

import "time"

// ProposalQuery chooses proposals.
type ProposalQuery struct {
	State  string `json:"state,omitempty" query:"state" enum:"open,accepted,rejected,all" doc:"default: open"`
	Limit  int    `json:"limit,omitempty" query:"limit" minimum:"0" doc:"default 50, at most 200"`
	Cursor string `json:"cursor,omitempty" query:"cursor" doc:"next_cursor of the page before"`
}

// ProposalList is a page of proposals, newest first.
type ProposalList struct {
	Items      []Proposal `json:"items"`
	Open       int        `json:"open" doc:"how many wait for a decision in all"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

// A Proposal is a change of memories that waits for a decision, or had one.
type Proposal struct {
	ID         string           `json:"id" doc:"16 hex digits"`
	Project    string           `json:"project"`
	Kind       string           `json:"kind" enum:"link,annotate,merge"`
	Maker      string           `json:"maker" doc:"consolidation, or the model that made it"`
	State      string           `json:"state" enum:"open,accepted,rejected"`
	Memories   []ProposalMemory `json:"memories" doc:"the first is the one that changes"`
	Does       string           `json:"does" doc:"what accepting it does, in a sentence"`
	Reason     string           `json:"reason"`
	Evidence   string           `json:"evidence,omitempty"`
	Confidence float64          `json:"confidence" doc:"0 to 1"`
	LinkType   string           `json:"link_type,omitempty" doc:"of a link"`
	Context    string           `json:"context,omitempty" doc:"of a link: why; of an annotate: the new context"`
	Tags       []string         `json:"tags,omitempty" doc:"of an annotate: to be added"`
	Stale      bool             `json:"stale,omitempty" doc:"a memory has changed since: it cannot be accepted any more, and is dropped or made anew"`
	CreatedAt  time.Time        `json:"created_at"`
	DecidedAt  *time.Time       `json:"decided_at,omitempty"`
	DecidedBy  string           `json:"decided_by,omitempty" doc:"absent: the owner"`
	Diff       string           `json:"diff,omitempty" doc:"what accepting it changes, unified; only of one that is asked for alone, and can be accepted"`
}

// A ProposalMemory is a memory that a proposal is about.
type ProposalMemory struct {
	ID          string `json:"id"`
	Title       string `json:"title,omitempty" doc:"absent: it is gone"`
	Role        string `json:"role" enum:"changed,superseded,target" doc:"what becomes of it"`
	ContentHash string `json:"content_hash" doc:"as it was when the proposal was made"`
}

// ProposalAccepted tells what came of accepting a proposal.
type ProposalAccepted struct {
	WriteReply
	Proposal   Proposal `json:"proposal"`
	Superseded string   `json:"superseded,omitempty" doc:"memory that was merged into this one, and removed"`
	Rev        string   `json:"rev,omitempty" doc:"commit of its own, which undo takes back; absent where it was accepted before"`
}
