//go:build !unix

package gitops

// openFlags is empty where there are no FIFOs among files.
const openFlags = 0
