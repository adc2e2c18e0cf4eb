package disk

import "io/fs"

// InfoOf returns what fi says as an Info, for callers that stat by themselves.
func InfoOf(fi fs.FileInfo) Info { return infoOf(fi) }
