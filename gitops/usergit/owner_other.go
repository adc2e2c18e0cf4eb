//go:build !unix

package usergit

// ownedByUs is true where the git program checks owners by itself.
func ownedByUs(string) bool { return true }
