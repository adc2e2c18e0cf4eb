package wire

import "time"

// TokenCreate makes a token for another machine or program.
type TokenCreate struct {
	Name     string   `json:"name" doc:"what it is for: shown in lists, and the author of what it writes"`
	Scope    string   `json:"scope" enum:"read,write,admin"`
	Projects []string `json:"projects,omitempty" doc:"slugs; default: every project the caller may read"`
	Expires  string   `json:"expires,omitempty" doc:"after how long it ends: 90d (the default), 12h, at most 3650d"`
}

// Token is what is known of a token: everything but the token.
type Token struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Scope     string     `json:"scope" enum:"read,write,admin"`
	Projects  []string   `json:"projects" doc:"slugs; empty: every project"`
	State     string     `json:"state" enum:"active,suspended,expired,revoked" doc:"suspended: it is refused for as long as nobody vouches for the user who made it, as where the provider is disabled"`
	MadeBy    string     `json:"made_by" doc:"owner, or token: and the id of the token that made it and takes it along when it is revoked"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	LastUsed  *time.Time `json:"last_used,omitempty" doc:"kept to the minute"`
}

// TokenCreated answers TokenCreate.
type TokenCreated struct {
	Token

	Secret string `json:"token" doc:"shown here and never again; send it as Authorization: Bearer fwt_…"`
}

// TokenList is the tokens the caller may see, newest first.
type TokenList struct {
	Items      []Token `json:"items"`
	NextCursor string  `json:"next_cursor,omitempty"`
}
