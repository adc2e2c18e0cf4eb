//go:build !linux

package gitops

// bootID names the run of the machine, where that is known.
func bootID() string { return "unknown" }
