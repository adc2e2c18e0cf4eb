// Package fold says what a memory is: its identity, its file format, its
// links, the chunks that are found under it, who may read it, and the kinds of
// error every other package reports.
//
// A memory is one markdown file under the fold/ folder of a checkout. The file
// is the truth; every row, word and vector about it can be deleted and rebuilt.
// The package is pure: it reads bytes and returns bytes, and touches neither
// disk, clock nor network. All of its functions are safe for concurrent use.
package fold
