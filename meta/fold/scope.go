package fold

import "slices"

// A Scope says what a caller may read or write. Every query takes one; its
// zero value may do nothing.
type Scope struct {
	All      bool     // every project
	Projects []string // slugs, where not All
	Write    bool
	Admin    bool
	Local    bool   // the caller is on this machine, at the owner's socket: it may name paths as remotes
	Author   string // name recorded on what the caller writes
}

// LocalScope is that of the user who owns the daemon: everything.
func LocalScope() Scope { return Scope{All: true, Write: true, Admin: true, Local: true} }

// CanRead reports whether the caller may read the project called slug.
func (s Scope) CanRead(slug string) bool { return s.All || slices.Contains(s.Projects, slug) }

// CanWrite reports whether the caller may write to the project called slug.
func (s Scope) CanWrite(slug string) bool { return s.Write && s.CanRead(slug) }
