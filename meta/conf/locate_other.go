//go:build !unix

package conf

import "os"

// ownedByUser is not asked where sockets are named pipes.
func ownedByUser(string) bool { return false }

// nonBlocking is nothing where files have no FIFOs among them.
const nonBlocking = 0

// fileOwnedByUser takes any file for the user's: what others may read, modes do not say here.
func fileOwnedByUser(os.FileInfo) bool { return true }
