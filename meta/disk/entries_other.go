//go:build !unix

package disk

import (
	"io/fs"
	"os"
)

// Entries returns the entries of an open directory with their types, in no
// order.
func Entries(d *os.File) ([]fs.DirEntry, error) { return d.ReadDir(-1) }
