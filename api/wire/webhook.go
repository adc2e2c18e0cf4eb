package wire

import "time"

// What a webhook tells of.
const (
	EventPush   = "push"
	EventTag    = "tag"
	EventMerged = "merged" // a pull request or merge request
)

// A Delivery is a webhook whose sender is known, as far as it counts: that
// something happened, and no address of anything.
type Delivery struct {
	// IDs are hashes of what is said only once, 64 hex digits each.
	IDs    []string      `json:"-"`
	Event  string        `json:"event"`
	Ref    string        `json:"ref,omitempty"`   // refs/heads/main, of a push
	After  string        `json:"after,omitempty"` // the commit it names now
	Merged *MergeRequest `json:"merged,omitempty"`
}

// A MergeRequest is one that was merged: what people wrote elsewhere, as it was
// sent.
type MergeRequest struct {
	Forge  string    `json:"forge"` // github or gitlab
	Host   string    `json:"host"`  // lower case
	Repo   string    `json:"repo"`  // owner/name
	Number int       `json:"number"`
	Title  string    `json:"title"`
	Text   string    `json:"text,omitempty"`
	Author string    `json:"author,omitempty"`
	From   string    `json:"from,omitempty"` // branch
	Onto   string    `json:"onto,omitempty"` // branch
	Commit string    `json:"commit,omitempty"`
	Labels []string  `json:"labels,omitempty"`
	At     time.Time `json:"at"` // when it was merged, UTC
}

// A DeliveryReply answers a webhook.
type DeliveryReply struct {
	Status string `json:"status" enum:"queued,ignored,ok" doc:"queued: the registered remote is going to be asked"`
	Reason string `json:"reason,omitempty"`
}
