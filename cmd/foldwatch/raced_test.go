//go:build race

package main

// raced says that the race detector is on, which makes indexing ten times slower.
const raced = true
