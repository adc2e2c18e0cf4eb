package gitops

import (
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// known is what a store knows of the journal and of the files below fold/.
type known struct {
	tip       plumbing.Hash
	tipTime   time.Time
	setAside  map[string]string    // path → reason
	guard     *guardState          // nil unless the vanish guard is up
	gone      map[string]time.Time // path → since when its file is known to be gone
	seen      map[string]seenFile
	pushed    plumbing.Hash           // tip the mirror holds
	described plumbing.Hash           // tree of the newest descriptions; zero before the first
	pending   map[string]pendingWrite // by path; see pending.go
	closed    bool
}

// A seenFile is a file of fold/ whose bytes are known to be a blob.
type seenFile struct {
	Size  int64  `json:"s"`
	Mtime int64  `json:"m"`
	Inode uint64 `json:"i"`
	Blob  string `json:"b"`
	At    int64  `json:"t"` // when it was looked at, ns; as young as Mtime proves nothing
}

// guardState is the guard while it is up.
type guardState struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

// A pendingWrite is the last acknowledged version of one file.
type pendingWrite struct {
	ID   fold.ID   `json:"id,omitempty"`
	Blob string    `json:"blob"` // in the journal
	At   time.Time `json:"at"`   // when the journal got it
	Lost bool      `json:"lost,omitempty"`
}
