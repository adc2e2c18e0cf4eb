package disk

import "io/fs"

const openFlags = 0

// inode is not known here without opening the file; size and time stamps and
// the content hash decide alone.
func inode(fs.FileInfo) uint64 { return 0 }
