//go:build !linux

package vecindex

// onNicedThread runs f. Elsewhere a thread cannot be made to give way alone.
func onNicedThread(f func()) { f() }
