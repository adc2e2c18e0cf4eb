//go:build !race

package chunker_test

// workerMemory is the memory cap of workers: the default.
const workerMemory = 0

const raced = false
