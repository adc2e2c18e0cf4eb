package unit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// Where there is no systemd, it is said what there is, and what to do.
func TestManagesTellsWhatIsThereInstead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files map[string]string
		says  string // "" for none missing
		hint  string
	}{
		"systemd":   {map[string]string{"run/systemd/system/x": "", "proc/1/comm": "systemd\n"}, "", ""},
		"WSL":       {map[string]string{"proc/sys/kernel/osrelease": "4.4.0-19041-Microsoft\n", "proc/1/comm": "init\n"}, "it is WSL", "systemd=true"},
		"container": {map[string]string{".dockerenv": "", "proc/1/comm": "tini\n"}, "it is a container", "foldwatch serve"},
		"podman":    {map[string]string{"run/.containerenv": ""}, "it is a container", "foldwatch up -d"},
		"OpenRC":    {map[string]string{"run/openrc/softlevel": "", "proc/1/comm": "init\n"}, "it has OpenRC", "foldwatch serve"},
		"another":   {map[string]string{"proc/1/comm": "s6-svscan\n"}, "its first process is s6-svscan", "foldwatch serve"},
		"nothing":   {nil, "/run/systemd/system is not there", "foldwatch up -d"},
	} {
		m := unit.Machine{Root: t.TempDir()}
		for file, text := range tc.files {
			at := filepath.Join(m.Root, filepath.FromSlash(file))
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		err := m.Manages(specs()["systemd-user.service"])
		switch {
		case tc.says == "":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case !errors.Is(err, fold.ErrUnavailable), !strings.Contains(err.Error(), "systemd does not run"), !strings.Contains(err.Error(), tc.says), !strings.Contains(fold.Hint(err), tc.hint):
			t.Errorf("%s: %v; hint %s", name, err, fold.Hint(err))
		}
		if err := m.Manages(specs()["launchd-agent.plist"]); err != nil {
			t.Errorf("%s: macOS needs no systemd: %v", name, err)
		}
	}
}
