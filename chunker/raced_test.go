//go:build race

package chunker_test

// workerMemory is the memory cap of workers that are built with the race
// detector, which maps more than they may take.
const workerMemory = 4 << 30

const raced = true // what things cost says nothing
