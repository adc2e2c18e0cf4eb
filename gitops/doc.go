// Package gitops keeps one fold/: a Store writes memories durably, records each settled
// change in a journal of its own beside the user's repository, and reads that back;
// package gitsync syncs it with a remote. In tracked mode the history is the user's, and
// the store only writes files, log and journal.
//
// Nothing is written outside fold/ and the folder foldwatch/ of the common git
// directory. Rules cited as G1…G20, T1…T8 and F01…F64 are those of the project's git and
// threat documents.
package gitops
