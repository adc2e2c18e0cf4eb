// Package rank decides the order of what was found: it normalises and sums the
// channels of a search, lets chunks, parents and neighbours support each
// other, and blends relevance with strength.
//
// The package is pure: no clock, no disk, no randomness. All of its functions
// are total, and safe for concurrent use as long as nobody changes their
// arguments meanwhile.
package rank
