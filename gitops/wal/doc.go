// Package wal is the write-ahead log of one fold/: what was acknowledged and is not in
// the journal yet (git.md G3).
//
// Append returns when its entries are durable; writers that come while a sync is under
// way share the next one. A damaged record is skipped and the rest is read; a damaged
// log is kept beside the new one. A Log is safe for concurrent use, and its calls block
// on the disk.
package wal
