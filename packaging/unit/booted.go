package unit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// byHand is what to do where nothing starts the daemon by itself.
const byHand = "foldwatch up -d; or have what supervises this machine run: foldwatch serve"

// Manages returns an ErrUnavailable if the system that starts services of the spec's
// kind does not run on this machine: it says which is missing, and what is there.
func (m Machine) Manages(s Spec) error {
	if s.OS != "linux" || isDir(filepath.Join(m.Root, "/run/systemd/system")) { // sd_booted(3)
		return nil
	}
	what, hint := m.instead()
	return fold.WithHint(fmt.Errorf("systemd does not run on this machine (%s): %w", what, fold.ErrUnavailable), hint)
}

// instead says what a Linux without systemd is, as far as it can be told.
func (m Machine) instead() (what, hint string) {
	text := func(path string) string {
		b, _ := os.ReadFile(filepath.Join(m.Root, path)) // not there: not that
		return strings.TrimSpace(string(b))
	}
	there := func(path string) bool {
		_, err := os.Stat(filepath.Join(m.Root, path))
		return err == nil
	}
	first := text("/proc/1/comm")
	switch {
	case strings.Contains(strings.ToLower(text("/proc/sys/kernel/osrelease")), "microsoft"):
		return "it is WSL", "foldwatch up -d; or, in WSL 2, put systemd=true below [boot] in /etc/wsl.conf and run: wsl.exe --shutdown"
	case there("/.dockerenv") || there("/run/.containerenv"):
		return "it is a container", "have the container run: foldwatch serve; or for now: foldwatch up -d"
	case there("/run/openrc"):
		return "it has OpenRC", byHand
	case there("/run/runit"), first == "runit":
		return "it has runit", byHand
	case first != "":
		return "its first process is " + first, byHand
	}
	return "/run/systemd/system is not there", byHand
}
