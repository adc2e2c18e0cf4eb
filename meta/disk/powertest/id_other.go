//go:build !unix

package powertest

import "io/fs"

type fileID struct{}

// idOf is for systems that are not recorded.
func idOf(fs.FileInfo) (fileID, bool) { return fileID{}, false }
