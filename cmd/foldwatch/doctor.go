package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const (
	// lowDisk is the free space below which an index may not fit: that of a
	// large project takes some hundred MB.
	lowDisk = 512 << 20
	// lowWatches is the number of watches below which a medium project, with
	// other programs that watch it too, falls back to polling.
	lowWatches = 16384
)

// A finding is what one check of doctor came to.
type finding struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, note, problem, fixed, skipped
	Text   string `json:"text"`
	Mend   string `json:"mend,omitempty"` // the command that mends it
	// fix does what Mend says where that is safe; nil where a person decides.
	fix func(ctx context.Context) error
}

func ok(format string, args ...any) finding {
	return finding{Status: "ok", Text: fmt.Sprintf(format, args...)}
}

func note(mend, format string, args ...any) finding {
	return finding{Status: "note", Text: fmt.Sprintf(format, args...), Mend: mend}
}

func skipped(why string) finding { return finding{Status: "skipped", Text: why} }

func problem(mend, format string, args ...any) finding {
	return finding{Status: "problem", Text: fmt.Sprintf(format, args...), Mend: mend}
}

func (f finding) fixedBy(fix func(ctx context.Context) error) finding {
	f.fix = fix
	return f
}

// A patient is what the checks of one run of doctor share.
type patient struct {
	e    *environment
	st   settings // zero where the configuration cannot be read
	have bool     // st is there
	c    daemonClient
	stat *wire.Status
}

type check struct {
	name string
	run  func(ctx context.Context, p *patient) []finding
}

func checks() []check {
	one := func(fn func(context.Context, *patient) finding) func(context.Context, *patient) []finding {
		return func(ctx context.Context, p *patient) []finding { return []finding{fn(ctx, p)} }
	}
	return []check{
		{"program", one(checkProgram)},
		{"configuration", one(checkConfiguration)},
		{"environment", checkEnvironment},
		{"git", one(checkGit)},
		{"state folder", one(checkState)},
		{"disk space", one(checkDisk)},
		{"daemon", one(checkDaemon)},
		{"service", checkUnit},
		{"version", one(checkVersion)},
		{"socket", one(checkSocket)},
		{"listen", one(checkListen)},
		{"watches", one(checkWatches)},
		{"this folder", one(checkFolder)},
		{"projects", checkProjects},
	}
}

func doctorCommand(e *environment) *cobra.Command {
	var fix bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything, and name the command that mends each problem",
		Args:  between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			e.noticesTold = true // the checks tell more
			found := examine(cmd.Context(), e, fix)
			if err := e.emit(map[string]any{"checks": found}, func(p printer) { printFindings(p, found) }); err != nil {
				return err
			}
			n := 0
			for _, f := range found {
				if f.Status == "problem" {
					n++
				}
			}
			if n > 0 {
				return fmt.Errorf("%w: %s", errDegraded, plural(n, "problem"))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&fix, "fix", false, "mend what can be mended without asking")
	return c
}

// examine runs every check in order. With fix it mends what it safely can, and
// checks that again.
func examine(ctx context.Context, e *environment, fix bool) []finding {
	p := &patient{e: e}
	var all []finding
	for _, ch := range checks() {
		for _, f := range ch.run(ctx, p) {
			f.Name = ch.name
			if f.Status == "problem" && fix && f.fix != nil {
				was := f.Text
				if err := f.fix(ctx); err != nil {
					f.Text = fmt.Sprintf("%s; to mend it failed: %v", was, err)
				} else {
					f.Status, f.Text, f.Mend = "fixed", was, ""
				}
			}
			all = append(all, f)
		}
	}
	return all
}

func printFindings(p printer, found []finding) {
	for i, f := range found {
		p.printf("%2d  %-8s %-14s %s\n", i+1, f.Status, f.Name, f.Text)
		if f.Mend != "" {
			p.printf("             mend: %s\n", f.Mend)
		}
	}
}

func checkProgram(context.Context, *patient) finding {
	if chunker.Engine() != "tree-sitter" {
		return note("build with a C compiler: CGO_ENABLED=1 make build",
			"foldwatch %s for %s, built without parsers: source is cut by text rules", fullVersion(), platform())
	}
	return ok("foldwatch %s for %s", fullVersion(), platform())
}

func checkConfiguration(_ context.Context, p *patient) finding {
	st, err := p.e.settings()
	if err != nil {
		dirs, _ := conf.Locate(p.e.getenv)
		return problem("edit "+quoteArg(dirs.ConfigFile()), "%v", err)
	}
	p.st, p.have = st, true
	if !exists(st.dirs.ConfigFile()) {
		return ok("defaults; no %s", st.dirs.ConfigFile())
	}
	return ok("%s", st.dirs.ConfigFile())
}

// checkEnvironment names variables that mean something to the programs
// foldwatch grew from, and nothing to foldwatch: others export them too.
func checkEnvironment(_ context.Context, p *patient) []finding {
	var found []finding
	for _, v := range []struct{ name, use string }{
		{"HOST", "set listen in config.toml, or FOLDWATCH_LISTEN"},
		{"PORT", "set listen in config.toml, or FOLDWATCH_LISTEN"},
		{"DATABASE_PATH", "set FOLDWATCH_HOME"},
	} {
		if p.e.getenv(v.name) != "" {
			found = append(found, note(v.use, "%s is set, and not read", v.name))
		}
	}
	if len(found) == 0 {
		return []finding{ok("no variable of another program is mistaken for ours")}
	}
	return found
}

func checkGit(ctx context.Context, _ *patient) finding {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		return problem("install git 2.25 or newer", "the git program cannot be run: %v", err)
	}
	v := strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")
	var major, minor int
	if _, err := fmt.Sscanf(v, "%d.%d", &major, &minor); err == nil && (major < 2 || major == 2 && minor < 25) {
		return problem("install git 2.25 or newer", "git %s is too old", v)
	}
	return ok("git %s", v)
}

func checkState(_ context.Context, p *patient) finding {
	if !p.have {
		return skipped("the configuration comes first")
	}
	dir := p.st.dirs.State
	make0700 := func(context.Context) error {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		return os.Chmod(dir, 0o700) //nolint:gosec // a folder of our own
	}
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return ok("%s is made at the first start", dir)
	case err != nil:
		return problem("look at "+quoteArg(dir), "%v", err)
	case !info.IsDir():
		return problem("move "+quoteArg(dir)+" away", "%s is not a folder", dir)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return problem("chmod 700 "+quoteArg(dir), "%s can be read by other users", dir).fixedBy(make0700)
	}
	probe, err := os.CreateTemp(dir, ".doctor-")
	if err != nil {
		return problem("chown or chmod "+quoteArg(dir), "%s cannot be written: %v", dir, err)
	}
	_ = probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return problem("rm "+quoteArg(probe.Name()), "%v", err)
	}
	return ok("%s", dir)
}

func checkDisk(_ context.Context, p *patient) finding {
	if !p.have {
		return skipped("the configuration comes first")
	}
	dir := p.st.dirs.State
	for !exists(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	free, err := freeSpace(dir)
	switch {
	case err != nil:
		return note("", "free space of %s: %v", dir, err)
	case free < lowDisk:
		return problem("make room on the disk of "+quoteArg(dir), "%s free for the index", size(free))
	}
	return ok("%s free", size(free))
}

func checkDaemon(ctx context.Context, p *patient) finding {
	if !p.have {
		return skipped("the configuration comes first")
	}
	c, err := p.e.running(ctx)
	if err != nil {
		return problem("ls -l "+quoteArg(p.st.dirs.Socket), "the socket cannot be used: %v", err)
	}
	started := ""
	if c == nil {
		if c, err = p.e.start(ctx); err != nil {
			mend := fold.Hint(err)
			if mend == "" {
				mend = "foldwatch serve"
			}
			return problem(mend, "%v", err).fixedBy(func(ctx context.Context) error {
				c, err := p.e.spawn(ctx, "--auto")
				p.c = c
				return err
			})
		}
		started = ", started just now"
	}
	st, err := c.Status(ctx)
	if err != nil {
		return problem("foldwatch status", "the daemon answers, but not with its status: %v", err)
	}
	p.c, p.stat = c, &st
	return ok("pid %d, up %s%s", st.PID, span(p.e.now().Sub(st.StartedAt)), started)
}

func checkVersion(_ context.Context, p *patient) finding {
	switch {
	case p.stat == nil:
		return skipped("no daemon")
	case p.stat.Version == fullVersion():
		return ok("daemon and program are both %s", p.stat.Version)
	}
	return problem("foldwatch doctor --fix", "the daemon is %s, this program is %s", p.stat.Version, fullVersion()).
		fixedBy(func(ctx context.Context) error { return p.restart(ctx) })
}

// restart ends the daemon and starts one of this program's version.
func (p *patient) restart(ctx context.Context) error {
	if err := p.end(ctx); err != nil {
		return err
	}
	c, err := p.e.spawn(ctx, "--auto")
	if err != nil {
		return err
	}
	st, err := c.Status(ctx)
	p.c, p.stat = c, &st
	return err
}

// end ends the daemon, and waits until its socket is gone.
func (p *patient) end(ctx context.Context) error {
	proc, err := os.FindProcess(p.stat.PID)
	if err != nil {
		return err
	}
	if err := terminate(proc); err != nil {
		return fmt.Errorf("stop pid %d: %w", p.stat.PID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := p.e.dial(ctx, p.e); err == nil && c == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("pid %d does not stop", p.stat.PID)
		}
	}
}

func checkListen(_ context.Context, p *patient) finding {
	switch {
	case p.stat == nil:
		return skipped("no daemon")
	case p.stat.Listen == "" && p.have && p.st.cfg.Listen != "":
		return problem("free that address or change listen, then restart the daemon", "listen is %s, and the daemon does not listen there", p.st.cfg.Listen)
	case p.stat.Webhooks == "" && p.have && p.st.cfg.Webhooks.Listen != "":
		return problem("foldwatch status says why; then restart the daemon", "webhooks.listen is %s, and the daemon does not listen there", p.st.cfg.Webhooks.Listen)
	}
	var where []string
	if p.stat.Listen != "" {
		where = append(where, p.stat.Listen+", for callers with a token")
	}
	if p.stat.Webhooks != "" {
		where = append(where, p.stat.Webhooks+", for signed webhooks")
	}
	if len(where) == 0 {
		return ok("the socket only")
	}
	return ok("%s", strings.Join(where, "; "))
}

func checkSocket(_ context.Context, p *patient) finding {
	if p.stat == nil {
		return skipped("no daemon")
	}
	if runtime.GOOS == "windows" {
		return ok("%s", p.stat.Socket) // its access list is set when it is made
	}
	path := p.stat.Socket
	for _, at := range []struct {
		path string
		mode os.FileMode
	}{{filepath.Dir(path), 0o700}, {path, 0o600}} {
		info, err := os.Lstat(at.path)
		if err != nil {
			return problem("foldwatch doctor --fix", "%v", err)
		}
		if info.Mode().Perm()&0o077 != 0 && !sharedTemp(at.path) {
			return problem(fmt.Sprintf("chmod %o %s", at.mode, quoteArg(at.path)), "%s is open to other users (who are refused all the same)", at.path).
				fixedBy(func(context.Context) error { return os.Chmod(at.path, at.mode) })
		}
	}
	return ok("%s", path)
}

// sharedTemp reports whether a folder is FOLDWATCH_HOME's own choice of the
// user and not one that we made for sockets.
func sharedTemp(path string) bool { return filepath.Clean(path) == filepath.Clean(os.TempDir()) }

func checkWatches(_ context.Context, p *patient) finding {
	if p.stat != nil {
		for _, pr := range p.stat.Projects {
			if pr.Watch == "polling" {
				return problem("sudo sysctl fs.inotify.max_user_watches=524288", "%s is watched by polling: %s", pr.Slug, pr.WatchReason)
			}
		}
	}
	b, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	if err != nil {
		return ok("no limit to speak of on %s", runtime.GOOS)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	switch {
	case err != nil:
		return note("", "the limit of watches cannot be read: %v", err)
	case n < lowWatches:
		return problem("sudo sysctl fs.inotify.max_user_watches=524288", "only %d folders can be watched by this user", n)
	}
	return ok("up to %d folders", n)
}

// checkFolder looks at the working directory: whether it is registered, and
// whether a fold/ in it is somebody else's.
func checkFolder(ctx context.Context, p *patient) finding {
	wd, err := p.e.workDir()
	if err != nil {
		return note("", "%v", err)
	}
	if !inRepository(wd) {
		return ok("%s is in no git repository", wd)
	}
	if p.c != nil {
		if pr, err := p.c.ProjectOfPath(ctx, wd); err == nil {
			return ok("%s is in project %s", wd, pr.Slug)
		}
	}
	foldDir := filepath.Join(wd, "fold")
	entries, err := os.ReadDir(foldDir)
	if err == nil && len(entries) > 0 && !exists(filepath.Join(foldDir, "project.toml")) {
		return note("foldwatch up --fold-dir memory", "%s is not a fold of ours", foldDir)
	}
	return note("foldwatch up", "%s is not registered", wd)
}

// checkProjects tells what each project's own status complains of.
func checkProjects(_ context.Context, p *patient) []finding {
	if p.stat == nil {
		return []finding{skipped("no daemon")}
	}
	var found []finding
	for _, pr := range p.stat.Projects {
		found = append(found, projectFindings(pr)...)
	}
	if len(found) == 0 {
		return []finding{ok("none is registered")}
	}
	return found
}

func projectFindings(pr wire.ProjectStatus) []finding {
	var found []finding
	at := " -p " + pr.Slug
	switch pr.State {
	case "ready", "starting", "indexing":
	default:
		mend := pr.Hint
		if mend == "" {
			mend = "foldwatch status" + at
		}
		found = append(found, problem(mend, "%s is %s: %s", pr.Slug, pr.State, pr.Reason))
	}
	if pr.Files.Failed > 0 {
		found = append(found, problem("foldwatch quarantine"+at, "%s: %s failed", pr.Slug, plural(pr.Files.Failed, "file")))
	}
	for _, f := range pr.Problems {
		if f.State != "quarantined" {
			continue
		}
		mend := f.Hint
		if mend == "" {
			mend = "foldwatch quarantine" + at
		}
		found = append(found, problem(mend, "%s: %s: %s", pr.Slug, f.Path, f.Reason))
	}
	for _, n := range pr.Notices {
		found = append(found, note("", "%s: %s", pr.Slug, n))
	}
	if len(found) == 0 {
		found = append(found, ok("%s: %s, %s", pr.Slug, plural(pr.Files.Indexed, "file"), plural(pr.Memories, "memory")))
	}
	return found
}
