package wire

import "time"

// A Repository is the remote that the memories of a checkout are synced with, or
// could be.
type Repository struct {
	ID     string `json:"id" doc:"of the checkout: the repository_id of its memories"`
	Path   string `json:"path" doc:"the checkout"`
	Kind   string `json:"kind" enum:"github,gitlab,git,local,none" doc:"where the remote is; none: there is no remote"`
	Remote string `json:"remote,omitempty" doc:"its address, without credentials"`
	Branch string `json:"branch" doc:"of the remote, that memories are published on"`
	Sync   string `json:"sync" enum:"on,off,paused" doc:"off until turned on"`

	LastSync      *time.Time `json:"last_sync,omitempty" doc:"when the remote was last found to have what this machine has"`
	LastPush      *time.Time `json:"last_push,omitempty"`
	Unpushed      int        `json:"unpushed" doc:"memories of which the remote does not have what is here"`
	UnpushedSince *time.Time `json:"unpushed_since,omitempty"`
	NextTry       *time.Time `json:"next_try,omitempty" doc:"when it is tried again by itself, after a failure"`
	Reason        string     `json:"reason,omitempty" doc:"why less than everything is synced"`
	Hint          string     `json:"hint,omitempty" doc:"what resolves Reason"`
	Stopped       string     `json:"stopped,omitempty" enum:"auth,policy,refused,rewritten" doc:"set where only the user can go on: another login is wanted, a rule of the remote rejects the push, we refuse the remote, its history was rewritten"`

	Held  []FileProblem `json:"held,omitempty" doc:"files of the remote that did not become memories here, and why"`
	Ahead *RemoteAhead  `json:"ahead,omitempty" doc:"what the default branch of the remote has and the local one has not, as a webhook told last"`
}

// RemoteAhead says how far the default branch of a remote is ahead.
type RemoteAhead struct {
	Branch  string    `json:"branch"`
	Commits int       `json:"commits" doc:"that the local branch lacks; they are memories already"`
	Rev     string    `json:"rev" doc:"the newest of them"`
	SeenAt  time.Time `json:"seen_at" doc:"when it was fetched"`
}

// RepositoryList is the remotes of a project's checkouts.
type RepositoryList struct {
	Items      []Repository `json:"items"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

// RepositoryCreate turns sync on for a project's checkout.
type RepositoryCreate struct {
	Remote string `json:"remote,omitempty" doc:"name of a remote of the checkout, URL, or absolute path; default: origin, else the only remote"`
}

// A RepositoryAdded answers RepositoryCreate.
type RepositoryAdded struct {
	Repository Repository `json:"repository"`
	Project    string     `json:"project" doc:"slug; another than before where the remote gave the project one already"`
	Sends      string     `json:"sends" doc:"what leaves this machine from now on, and where to"`
	Synced     *SyncReply `json:"synced,omitempty" doc:"what the first sync did; none where it failed: see repository.reason"`
}

// SyncRequest asks for a sync now.
type SyncRequest struct {
	Resync bool `json:"resync,omitempty" doc:"go on although the history of the remote was rewritten: by the last commit that both have, nothing is lost"`
}

// A SyncReply tells what one sync did.
type SyncReply struct {
	Project   string   `json:"project" doc:"slug; another than before where the remote gave the project one already"`
	Remote    string   `json:"remote"`
	Pushed    int      `json:"pushed" doc:"memories that went to the remote"`
	Received  int      `json:"received" doc:"memories that came from it"`
	Merged    int      `json:"merged" doc:"memories that both sides had changed"`
	Conflicts int      `json:"conflicts" doc:"of those, where the other text is kept beside, in a note or in history"`
	Unpushed  int      `json:"unpushed"`
	Notices   []string `json:"notices,omitempty"`
}
