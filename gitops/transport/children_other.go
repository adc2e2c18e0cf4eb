//go:build !unix

package transport

import "os/exec"

// ownGroup does nothing: what a program started ends when its pipes break.
func ownGroup(*exec.Cmd) {}

// passesFiles reports whether a child can be given an open file by its number.
const passesFiles = false
