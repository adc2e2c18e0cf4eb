package wire

import "time"

// A DecayRequest asks which memories have faded.
type DecayRequest struct {
	Archive   bool    `json:"archive,omitempty" doc:"move them out of fold/, as one commit that undo takes back"`
	DryRun    bool    `json:"dry_run,omitempty" doc:"change nothing, whatever archive says"`
	Threshold float64 `json:"threshold,omitempty" minimum:"0" maximum:"1" doc:"strength below which a memory has faded; default 0.05"`
}

// A DecayReply tells which memories have faded.
type DecayReply struct {
	Decayed   int           `json:"decayed" doc:"how many have faded"`
	Deleted   int           `json:"deleted" doc:"how many were archived"`
	Threshold float64       `json:"threshold"`
	Checked   int           `json:"checked" doc:"how many were looked at: those that agents and people wrote"`
	Kept      int           `json:"kept,omitempty" doc:"faded, but linked from a memory that is not"`
	Rev       string        `json:"rev,omitempty" doc:"commit of the archive, which undo takes back"`
	Items     []FadedMemory `json:"items" doc:"weakest first, at most 1,000"`
}

// A FadedMemory is one whose strength is below a threshold.
type FadedMemory struct {
	ID             string     `json:"id"`
	Title          string     `json:"title"`
	Type           string     `json:"type"`
	Strength       float64    `json:"strength"`
	UpdatedAt      time.Time  `json:"updated_at"`
	LastAccessed   *time.Time `json:"last_accessed,omitempty"`
	RetrievalCount int        `json:"retrieval_count,omitempty"`
}

// An Undo takes back what one commit changed.
type Undo struct {
	Rev string `json:"rev" doc:"revision, as the log shows it"`
}

// Undone tells what an Undo changed.
type Undone struct {
	Rev   string   `json:"rev" doc:"commit that was taken back"`
	Paths []string `json:"paths" doc:"files below fold/ that were written"`
}
