//go:build !unix

package conf

import "os"

// ownedByUser is not asked where sockets are named pipes.
func ownedByUser(string) bool { return false }

// withoutWaiting is nothing where files have no FIFOs among them.
const withoutWaiting = 0

// ofUser takes any file for the user's: what others may read, modes do not say here.
func ofUser(os.FileInfo) bool { return true }
