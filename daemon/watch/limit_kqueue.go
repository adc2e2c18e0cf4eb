//go:build darwin || freebsd || openbsd || netbsd || dragonfly

package watch

import "os"

// watchBudget is how many descriptors the watches of one checkout may use: a
// kqueue watch opens the directory and each of its files (fsnotify#129).
const watchBudget = 4096

// watchCost returns how many descriptors a watch on dir takes.
func watchCost(dir string) int {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 1
	}
	return 1 + len(entries)
}
