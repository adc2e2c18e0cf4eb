//go:build !linux

package chunker_test

func residentOf(int) int64 { return 0 }

func childrenResident() []int64 { return nil }
