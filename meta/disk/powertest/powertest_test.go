package powertest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSaver is the program that the tests below record: it saves one file over
// another, as its environment says, and then says so.
func TestSaver(t *testing.T) {
	dir, how := os.Getenv("POWERTEST_DIR"), os.Getenv("POWERTEST_HOW")
	if dir == "" {
		t.Skip("runs in a process of its own, started by the other tests")
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	name, temp := filepath.Join(dir, "a", "memory"), filepath.Join(dir, "a", "temp")
	must(os.MkdirAll(filepath.Join(dir, "a"), 0o755))
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	must(err)
	for _, s := range []string{"now ", "and ", "whole"} {
		_, err := f.WriteString(s)
		must(err)
	}
	if how != "no file sync" {
		must(f.Sync())
	}
	must(f.Close())
	must(os.Rename(temp, name))
	for _, d := range []string{"a", "."} {
		if how == "no folder sync" || how == "no parent sync" && d == "." {
			continue
		}
		f, err := os.Open(filepath.Join(dir, d))
		must(err)
		must(f.Sync())
		must(f.Close())
	}
	told, err := os.OpenFile(filepath.Join(dir, "told", "it"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	must(err)
	_, err = told.WriteString("saved")
	must(err)
}

// faults returns what is wrong with the states of one way to save.
func faults(t *testing.T, l *Log, mode Mode, was string) (bad []string) {
	t.Helper()
	dir := t.TempDir()
	n := 0
	for s := range l.States(mode, 3, 1) {
		n++
		if err := s.WriteTo(dir); err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(filepath.Join(dir, "a", "memory"))
		told, _ := os.ReadFile(filepath.Join(dir, "told", "it"))
		switch now := "now and whole"; {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			t.Fatal(err)
		case string(told) == "saved" && string(have) != now:
			bad = append(bad, s.Name+": lost: "+string(have))
		case string(have) != was && string(have) != now:
			bad = append(bad, s.Name+": torn: "+string(have))
		}
	}
	t.Logf("%s: %d states, %d bad", mode, n, len(bad))
	return bad
}

func record(t *testing.T, how, was string) *Log {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "told"), 0o755); err != nil {
		t.Fatal(err)
	}
	if was != "" {
		if err := os.Mkdir(filepath.Join(dir, "a"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a", "memory"), []byte(was), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSaver$")
	cmd.Env = append(os.Environ(), "POWERTEST_DIR="+dir, "POWERTEST_HOW="+how)
	l, err := Record(cmd, dir)
	if errors.Is(err, ErrNoTracer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.Elsewhere("told")
	return l
}

// TestPowerCut: a file that is saved as it should be survives in every state, and
// each sync that is left out is found, by the file system it matters on.
func TestPowerCut(t *testing.T) {
	for _, tc := range []struct {
		how, was         string
		journaled, loose string // what is found; "" for nothing
	}{
		{"well", "before", "", ""},
		{"well", "", "", ""},
		{"no file sync", "before", "torn", "torn"},
		{"no folder sync", "before", "lost", "lost"},
		{"no parent sync", "before", "", ""}, // the folder was there
		{"no parent sync", "", "", "lost"},   // it came with the names in it
	} {
		t.Run(tc.how+" over "+tc.was, func(t *testing.T) {
			t.Parallel()
			l := record(t, tc.how, tc.was)
			for mode, want := range map[Mode]string{Journaled: tc.journaled, Loose: tc.loose} {
				bad := faults(t, l, mode, tc.was)
				if found := strings.Contains(strings.Join(bad, "\n"), want); want == "" && len(bad) > 0 || !found {
					t.Errorf("%s: want %q, found %q", mode, want, bad)
				}
			}
			if tc.how != "well" {
				return
			}
			all, n := l.Without(func(string) bool { return true })
			if bad := faults(t, all, Journaled, tc.was); len(bad) == 0 || n < 3 {
				t.Errorf("without its %d syncs nothing is found", n)
			}
		})
	}
}

// TestCallsThatNeverEnd: a thread may be ended in the middle of a call, and strace says
// so in three ways.
func TestCallsThatNeverEnd(t *testing.T) {
	calls, err := readCalls(strings.NewReader(`1 fsync(3<\x2f\x61>) = 0
1 write(4<\x2f\x62>, "\x61", 1 <detached ...>
2 write(4<\x2f\x62>, "\x61", 1 <unfinished ...>
1 fsync(5<\x2f\x63>) = 0
2 <... write resumed> <detached ...>
3 write(4<\x2f\x62>, "\x61", 1 <unfinished ...>
1 fsync(6<\x2f\x64>) = ?
`))
	if err != nil || len(calls) != 2 || calls[0].args[0].path != "/a" || calls[1].args[0].path != "/c" {
		t.Errorf("calls %+v, %v", calls, err)
	}
}
