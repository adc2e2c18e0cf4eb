package doctor

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

func checkProgram(_ context.Context, x *exam) Result {
	if x.host.Parsers != "tree-sitter" {
		return Warning("build with a C compiler: CGO_ENABLED=1 make build",
			"foldwatch %s for %s, built without parsers: source is cut by text rules", x.host.Daemon.Version, runtime.GOOS+"/"+runtime.GOARCH)
	}
	return Pass("foldwatch %s for %s", x.host.Daemon.Version, runtime.GOOS+"/"+runtime.GOARCH)
}

// checkConfiguration reads what the user decided. What is wrong with it keeps a daemon
// from starting, and no other check from being made.
func checkConfiguration(_ context.Context, x *exam) []Result {
	st, err := x.host.Daemon.Config.Settings()
	x.settings, x.wrong = st, err
	var found []Result
	for _, slip := range conf.ErrorList(err) {
		found = append(found, Fault(fold.Hint(slip), "%v", slip))
	}
	if x.settings.Dirs.State == "" {
		return found
	}
	file := st.Dirs.ConfigFile()
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return OrPass(found, "defaults; no %s", file)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		mode, does := info.Mode().Perm()&^0o022, "chmod go-w "+terminal.Quote(file)
		found = append(found, Fault(does, "other users may write %s", file).
			remediedBy(does, func(context.Context) error { return os.Chmod(file, mode) }))
	}
	return OrPass(found, "%s", file)
}

// checkVariables names variables that mean something to the programs
// foldwatch grew from, and nothing to foldwatch: others export them too.
func checkVariables(_ context.Context, x *exam) []Result {
	var found []Result
	for _, v := range []struct{ name, use string }{
		{"HOST", "set listen in config.toml, or FOLDWATCH_LISTEN"},
		{"PORT", "set listen in config.toml, or FOLDWATCH_LISTEN"},
		{"DATABASE_PATH", "set FOLDWATCH_HOME"},
	} {
		if x.host.Daemon.Config.Getenv(v.name) != "" {
			found = append(found, Warning(v.use+" if you meant foldwatch", "%s is set, and not read", v.name))
		}
	}
	return OrPass(found, "none of another program is mistaken for ours")
}

// checkState looks whether the state folder is ours alone, and can be written.
func checkState(_ context.Context, x *exam) Result {
	dir := x.settings.Dirs.State
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if err := local.Makeable(dir); err != nil {
			return Fault(local.StateHint(dir), "%s cannot be made: %v", dir, err)
		}
		return Pass("%s is made at the first start", dir)
	case err != nil:
		return Fault("look at "+terminal.Quote(dir), "%v", err)
	case !info.IsDir():
		return Fault("move "+terminal.Quote(dir)+" away", "%s is not a folder", dir)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return Fault("chmod 700 "+terminal.Quote(dir), "%s can be read by other users", dir).
			remediedBy("chmod 700 "+terminal.Quote(dir), func(context.Context) error { return os.Chmod(dir, 0o700) }) //nolint:gosec // a folder of our own
	}
	if err := local.Writable(dir); err != nil {
		return Fault(local.StateHint(dir), "%s cannot be written: %v", dir, err)
	}
	return Pass("%s", dir)
}

func checkDisk(_ context.Context, x *exam) Result {
	dir := x.settings.Dirs.State
	for !local.Exists(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	free, err := x.host.Free(dir)
	switch {
	case err != nil:
		return Warning("", "free space of %s: %v", dir, err)
	case free < lowDisk:
		return Fault("make room on the disk of "+terminal.Quote(dir), "%s free for the index", terminal.Size(free))
	}
	return Pass("%s free", terminal.Size(free))
}

// clockSlack is how far two clocks may be apart before it is told: git's own
// stamps are whole seconds, and merges take no stamp from further ahead.
const clockSlack = 5 * time.Minute

// oldestNow is before every build of this program.
var oldestNow = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// checkClock compares the clock with what it cannot be before: this program, and
// what was written here.
func checkClock(_ context.Context, x *exam) []Result {
	now := x.host.Now()
	const mend = "set the clock: timedatectl set-ntp true, or as your system does it"
	var found []Result
	if now.Before(oldestNow) {
		found = append(found, Fault(mend, "it is %s by the clock, which is before this program was written", now.UTC().Format(time.DateOnly)))
	}
	if x.settings.Dirs.State == "" {
		return OrPass(found, "%s", now.UTC().Format(time.RFC3339))
	}
	var newest time.Time
	var which string
	for _, name := range []string{"daemon.log", "state.db", "state.db-wal", "daemon.lock", "socket"} {
		path := filepath.Join(x.settings.Dirs.State, name)
		if info, err := os.Stat(path); err == nil && info.ModTime().After(newest) {
			newest, which = info.ModTime(), path
		}
	}
	if ahead := newest.Sub(now); ahead > clockSlack {
		found = append(found, Fault(mend, "the clock was set back: %s was written %s from now", which, terminal.Span(ahead)))
	}
	return OrPass(found, "%s", now.UTC().Format(time.RFC3339))
}
