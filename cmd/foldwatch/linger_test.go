package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
)

// TestLingerIsOffered: `service install` asks a person whether the service shall
// outlast the session, runs loginctl if so, and tells everybody else the command.
func TestLingerIsOffered(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIP: systemd is of Linux")
	}
	for _, tc := range []struct {
		name, answer string
		person       bool
		runs         bool
	}{
		{"a person who wants it", "y\n", true, true},
		{"a person who does not", "n\n", true, false},
		{"a script", "y\n", false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWard(t)
			w.vars["XDG_CONFIG_HOME"] = filepath.Join(w.home, "xdg")
			w.must(os.MkdirAll(w.app.at("/run/systemd/system"), 0o700))
			ran := filepath.Join(w.home, "ran")
			w.onPath("systemctl", `echo "systemctl $*" >> `+ran)
			w.onPath("loginctl", `echo "loginctl $*" >> `+ran)
			s, err := w.app.unitSpec(unitFlags{})
			w.must(err)
			if w.app.lingering(s.Account) {
				t.Skip("SKIP: this user's services outlast the session already")
			}
			// No daemon runs before the service is started, and then its own does.
			w.app.daemon.Dial = func(context.Context) (local.Client, error) {
				if b, _ := os.ReadFile(ran); strings.Contains(string(b), " start ") {
					return w.f, nil
				}
				return nil, nil
			}
			w.app.Stdin, w.app.TTY = strings.NewReader(tc.answer), func(any) bool { return tc.person }
			if code := w.run("service", "install"); code != 0 {
				t.Fatalf("exit code %d: %s", code, w.err.String())
			}
			b, err := os.ReadFile(ran)
			w.must(err)
			if got := strings.Contains(string(b), "loginctl enable-linger "+s.Account); got != tc.runs {
				t.Errorf("loginctl was run: %v, want %v\n%s", got, tc.runs, b)
			}
			if asked := strings.Contains(w.err.String(), "while you are not logged in"); asked != tc.person {
				t.Errorf("asked: %v, want %v", asked, tc.person)
			}
			if told := strings.Contains(w.out.String(), "loginctl enable-linger"); told == tc.runs {
				t.Errorf("the command is told: %v\n%s", told, w.out.String())
			}
		})
	}
}
