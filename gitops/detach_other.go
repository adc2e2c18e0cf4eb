//go:build !unix

package gitops

import "os/exec"

// detach does nothing here: a daemon has no console.
func detach(*exec.Cmd) {}
