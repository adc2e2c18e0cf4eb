//go:build !race

package chunker_test

import (
	"os"
	"testing"
)

const raced = false

// What these are for, raced_test.go says.
func plainWorker(*testing.T) []string { return []string{os.Args[0], "chunk-worker"} }
func ranPlain(*testing.T) bool        { return false }
func removePlain()                    {}
