// Package rank orders the candidates of a search: it normalises and sums the features
// of each, among them those of its file, chunks and neighbours, and blends relevance with
// strength.
//
// The package is pure: no clock, no disk, no randomness. All of its functions
// are total, and safe for concurrent use as long as nobody changes their
// arguments meanwhile.
package rank
