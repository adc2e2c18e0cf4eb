//go:build !linux

package chunker_test

const limited = false
