//go:build !linux

package daemon

// residentBytes is not known without asking more of the system than a number
// in status is worth.
func residentBytes() int64 { return 0 }
