//go:build !unix

package usergit

// openFlags is empty where there are no FIFOs among files.
const openFlags = 0
