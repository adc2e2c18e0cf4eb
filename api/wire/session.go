package wire

import (
	"encoding/json"
	"time"
)

// A SessionEvent is something that happened in an agent's session.
type SessionEvent struct {
	Type    string          `json:"type" minLength:"1" maxLength:"100" doc:"as the agent calls it: PostToolUse, SessionStart, …"`
	Payload json.RawMessage `json:"payload,omitempty" doc:"what the agent says of it, at most 64 KiB"`
	Time    *time.Time      `json:"time,omitempty" doc:"when it was recorded; not taken from the caller"`
}

// SessionEvents are what a session holds, oldest first.
type SessionEvents struct {
	Items []SessionEvent `json:"items"`
}
