//go:build !linux

package chunker_test

import "time"

func residentOf(int) int64 { return 0 }

func childrenResident() []int64 { return nil }

func cpuTime() time.Duration { return 0 }
