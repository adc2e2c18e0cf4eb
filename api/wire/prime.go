package wire

import "time"

// A PrimeQuery asks for the brief of a session.
type PrimeQuery struct {
	Budget int `query:"budget" minimum:"200" maximum:"8000" doc:"tokens of the text at most; default 1500"`
}

// A Prime is what an agent should know when its session begins.
type Prime struct {
	Project  string         `json:"project"`
	Name     string         `json:"name,omitempty"`
	Path     string         `json:"path"`
	State    string         `json:"state"`
	Memories int            `json:"memories"`
	Notices  []string       `json:"notices" doc:"what is paused or fails, and the command that ends it"`
	Sections []PrimeSection `json:"sections"`
	Omitted  int            `json:"omitted,omitempty" doc:"memories that had no room"`
	Tokens   int            `json:"tokens" doc:"of the text, counted on the safe side"`
	Text     string         `json:"text" doc:"all of it as markdown"`
}

// A PrimeSection is one list of a Prime.
type PrimeSection struct {
	Title string      `json:"title"`
	Items []PrimeItem `json:"items"`
}

// A PrimeItem names a memory.
type PrimeItem struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Type      string    `json:"type"`
	Author    string    `json:"author,omitempty"`
	UpdatedAt time.Time `json:"updated_at"`
	Text      string    `json:"text,omitempty" doc:"its beginning"`
}
