package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// lowDisk is the free space below which an index may not fit: that of a
// large project takes some hundred MB.
const lowDisk = 512 << 20

func checkProgram(_ context.Context, p *patient) finding {
	if p.e.parsers() != "tree-sitter" {
		return warn("build with a C compiler: CGO_ENABLED=1 make build",
			"foldwatch %s for %s, built without parsers: source is cut by text rules", fullVersion(), platform())
	}
	return ok("foldwatch %s for %s", fullVersion(), platform())
}

// checkConfiguration reads what the user decided. What is wrong with it keeps a daemon
// from starting, and no other check from being made.
func checkConfiguration(_ context.Context, p *patient) []finding {
	st, err := p.e.config.Settings()
	p.st, p.have, p.slips = st, st.Dirs.State != "", err
	var found []finding
	for _, slip := range conf.Slips(err) {
		found = append(found, fail(fold.Hint(slip), "%v", slip))
	}
	if !p.have {
		return found
	}
	file := st.Dirs.ConfigFile()
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return orOK(found, "defaults; no %s", file)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		mode, does := info.Mode().Perm()&^0o022, "chmod go-w "+terminal.Quote(file)
		found = append(found, fail(does, "other users may write %s", file).
			fixedBy(does, func(context.Context) error { return os.Chmod(file, mode) }))
	}
	return orOK(found, "%s", file)
}

// checkVariables names variables that mean something to the programs
// foldwatch grew from, and nothing to foldwatch: others export them too.
func checkVariables(_ context.Context, p *patient) []finding {
	var found []finding
	for _, v := range []struct{ name, use string }{
		{"HOST", "set listen in config.toml, or FOLDWATCH_LISTEN"},
		{"PORT", "set listen in config.toml, or FOLDWATCH_LISTEN"},
		{"DATABASE_PATH", "set FOLDWATCH_HOME"},
	} {
		if p.e.Getenv(v.name) != "" {
			found = append(found, warn(v.use+" if you meant foldwatch", "%s is set, and not read", v.name))
		}
	}
	return orOK(found, "none of another program is mistaken for ours")
}

// checkState looks whether the state folder is ours alone, and can be written.
func checkState(_ context.Context, p *patient) finding {
	if !p.have {
		return skipped("it is not known where things lie: see check 2")
	}
	dir := p.st.Dirs.State
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if err := makeable(dir); err != nil {
			return fail(local.StateHint(dir), "%s cannot be made: %v", dir, err)
		}
		return ok("%s is made at the first start", dir)
	case err != nil:
		return fail("look at "+terminal.Quote(dir), "%v", err)
	case !info.IsDir():
		return fail("move "+terminal.Quote(dir)+" away", "%s is not a folder", dir)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return fail("chmod 700 "+terminal.Quote(dir), "%s can be read by other users", dir).
			fixedBy("chmod 700 "+terminal.Quote(dir), func(context.Context) error { return os.Chmod(dir, 0o700) }) //nolint:gosec // a folder of our own
	}
	if err := writable(dir); err != nil {
		return fail(local.StateHint(dir), "%s cannot be written: %v", dir, err)
	}
	return ok("%s", dir)
}

func checkDisk(_ context.Context, p *patient) finding {
	if !p.have {
		return skipped("it is not known where things lie: see check 2")
	}
	dir := p.st.Dirs.State
	for !exists(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	free, err := p.e.free(dir)
	switch {
	case err != nil:
		return warn("", "free space of %s: %v", dir, err)
	case free < lowDisk:
		return fail("make room on the disk of "+terminal.Quote(dir), "%s free for the index", terminal.Size(free))
	}
	return ok("%s free", terminal.Size(free))
}

// clockSlack is how far two clocks may be apart before it is told: git's own
// stamps are whole seconds, and merges take no stamp from further ahead.
const clockSlack = 5 * time.Minute

// oldestNow is before every build of this program.
var oldestNow = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// checkClock compares the clock with what it cannot be before: this program, and
// what was written here.
func checkClock(_ context.Context, p *patient) []finding {
	now := p.e.now()
	const mend = "set the clock: timedatectl set-ntp true, or as your system does it"
	var found []finding
	if now.Before(oldestNow) {
		found = append(found, fail(mend, "it is %s by the clock, which is before this program was written", now.UTC().Format(time.DateOnly)))
	}
	if !p.have {
		return orOK(found, "%s", now.UTC().Format(time.RFC3339))
	}
	var newest time.Time
	var which string
	for _, name := range []string{"daemon.log", "state.db", "state.db-wal", "daemon.lock", "socket"} {
		path := filepath.Join(p.st.Dirs.State, name)
		if info, err := os.Stat(path); err == nil && info.ModTime().After(newest) {
			newest, which = info.ModTime(), path
		}
	}
	if ahead := newest.Sub(now); ahead > clockSlack {
		found = append(found, fail(mend, "the clock was set back: %s was written %s from now", which, terminal.Span(ahead)))
	}
	if skew, err := folderSkew(p.st.Dirs.State, now); err == nil && skew.Abs() > clockSlack {
		found = append(found, fail("set the clocks of this machine and of the file server", "the disk of %s has another time, by %s", p.st.Dirs.State, terminal.Span(skew.Abs())))
	}
	return orOK(found, "%s", now.UTC().Format(time.RFC3339))
}

// folderSkew is by how much the time that files in dir get is ahead of now.
func folderSkew(dir string, now time.Time) (time.Duration, error) {
	f, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err := errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
		return 0, err
	}
	return info.ModTime().Sub(now), nil
}
