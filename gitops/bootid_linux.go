package gitops

import (
	"os"
	"strings"
)

// bootID names the run of the machine: a process of another one is gone.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
