package wire

import "time"

// AuthProvider is what people can log in by.
type AuthProvider struct {
	ID     string `json:"id"`
	Name   string `json:"name" doc:"as people call it"`
	Kind   string `json:"kind" enum:"oidc,github"`
	Issuer string `json:"issuer"`
	Source string `json:"source" enum:"config,added" doc:"the user file or the environment, or this API"`
	Login  string `json:"login" doc:"where a browser begins"`
}

// AuthProviderList is what people can log in by, sorted by id.
type AuthProviderList struct {
	Items      []AuthProvider `json:"items"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

// AuthProviderCreate makes the people of one more provider known.
type AuthProviderCreate struct {
	ID           string   `json:"id" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$" doc:"part of the address of its login and callback"`
	Name         string   `json:"name,omitempty" doc:"as people call it; default: id"`
	Kind         string   `json:"kind,omitempty" enum:"oidc,github" default:"oidc"`
	Issuer       string   `json:"issuer,omitempty" doc:"https://…; default, for github only: https://github.com"`
	ClientID     string   `json:"client_id"`
	ClientSecret string   `json:"client_secret,omitempty" doc:"kept in a file that only the daemon's user can read, and never shown again"`
	Scopes       []string `json:"scopes,omitempty" doc:"default for oidc: openid profile email"`
	RoleClaim    string   `json:"role_claim,omitempty" doc:"the claim that gives roles; dots lead into objects"`
	Admin        []string `json:"admin,omitempty" doc:"values of role_claim that make an admin; * is whoever can log in"`
	Member       []string `json:"member,omitempty" doc:"values that make a member, who reads and writes"`
	Viewer       []string `json:"viewer,omitempty" doc:"values that make a viewer, who reads"`
	Projects     []string `json:"projects,omitempty" doc:"slugs for which those roles are; default: every project"`
}

// User is somebody who logged in once.
type User struct {
	ID        string    `json:"id"`
	Name      string    `json:"name,omitempty"`
	Email     string    `json:"email,omitempty"`
	Issuer    string    `json:"issuer" doc:"with subject, who it is; name and email may change"`
	Subject   string    `json:"subject"`
	Provider  string    `json:"provider" doc:"by which the last login came"`
	Role      string    `json:"role,omitempty" enum:"admin,member,viewer" doc:"absent: none, and no way in"`
	Assigned  bool      `json:"assigned" doc:"the role was given by an administrator, not by claims"`
	Projects  []string  `json:"projects" doc:"slugs the role is for; empty: every project"`
	Sessions  int       `json:"sessions"`
	CreatedAt time.Time `json:"created_at"`
	LastLogin time.Time `json:"last_login"`
}

// UserList is who logged in once, the last first.
type UserList struct {
	Items      []User `json:"items"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// UserAssign gives a user a role, whatever the claims say.
type UserAssign struct {
	Role     string   `json:"role" enum:"admin,member,viewer," doc:"empty: as the claims say"`
	Projects []string `json:"projects,omitempty" doc:"slugs; default: every project"`
}

// Me is who is calling.
type Me struct {
	ID        string     `json:"id" doc:"owner, token: or user: and an id"`
	Name      string     `json:"name"`
	Email     string     `json:"email,omitempty"`
	Provider  string     `json:"provider,omitempty" doc:"by which the login came"`
	Role      string     `json:"role" enum:"admin,member,viewer"`
	Scope     string     `json:"scope" enum:"read,write,admin"`
	Projects  []string   `json:"projects" doc:"slugs; empty: every project"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// ResourceMetadata says where to get an access token for MCP (RFC 9728).
type ResourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Methods  []string `json:"bearer_methods_supported"`
	Name     string   `json:"resource_name"`
}
