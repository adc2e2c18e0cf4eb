// Package objdb keeps objects and references in a bare repository of our own, durably:
// an object or reference that a call has written survives a power cut (go-git syncs
// nothing; the file system under it is wrapped). Trees are changed by splicing in what
// differs, so that a commit costs what it changes.
//
// A Repo is safe for concurrent use, and its calls block on the disk. Errors of the
// disk are ErrUnavailable.
package objdb
