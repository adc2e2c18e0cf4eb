// Package doctor looks for what is wrong with this machine, its daemon and its checkouts,
// and mends what can be mended without a decision of a person.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A check looks at one thing. Its number and name are in scripts and bug reports:
// a new check takes the next number, and that of one that went is never used
// again.
type check struct {
	number int
	name   string
	needs  need
	run    func(ctx context.Context, x *exam) []Result
}

// A need is what has to be there for a check to look at anything.
type need uint8

const (
	settings  need = 1 << iota // it is known where things lie
	daemon                     // one answers
	git                        // there is a git program
	checkouts                  // there is at least one
)

// checks is the table, in the order in which they run: what needs the daemon
// stands below it. A result brings its remedy with it, where there is a safe one.
func checks() []check {
	one := func(fn func(context.Context, *exam) Result) func(context.Context, *exam) []Result {
		return func(ctx context.Context, x *exam) []Result { return []Result{fn(ctx, x)} }
	}
	return []check{
		{1, "program", 0, one(checkProgram)},
		{2, "configuration", 0, checkConfiguration},
		{3, "variables", 0, checkVariables},
		{4, "state-folder", settings, one(checkState)},
		{5, "disk-space", settings, one(checkDisk)},
		{6, "clock", 0, checkClock},
		{7, "git", 0, one(checkGit)},
		{8, "lock", settings, checkLock},
		{9, "daemon", settings, one(checkDaemon)},
		{10, "other-daemon", 0, checkOthers},
		{11, "version", daemon, one(checkVersion)},
		{12, "socket", daemon, one(checkSocket)},
		{13, "listen", daemon, one(checkListen)},
		{14, "open-files", 0, one(checkOpenFiles)},
		{15, "watches", 0, checkWatches},
		{16, "service", 0, func(_ context.Context, x *exam) []Result { return x.host.Service(x.daemon) }},
		{17, "environment", 0, checkEnvironment},
		{18, "identity", git | checkouts, checkIdentity},
		{19, "credentials", daemon, checkCredentials},
		{20, "folder", 0, one(checkFolder)},
		{21, "projects", daemon, checkProjects},
		{22, "git-lock", git | checkouts, checkGitLock},
		{23, "history", git | checkouts, checkHistory},
		{24, "sync", daemon, checkSync},
		{25, "branch", git, checkTracked},
		{26, "merge-driver", git, checkMergeDriver},
		{27, "packers", checkouts, checkPackers},
		{28, "obsidian", checkouts, checkObsidian},
		{29, "embedder", daemon, checkEmbedder},
		{30, "index", daemon, checkIndex},
		{31, "agents", 0, checkAgents},
	}
}

// lacks returns the result of a check whose needs are not met.
func (x *exam) lacks(ctx context.Context, n need) (Result, bool) {
	switch {
	case n&settings != 0 && x.settings.Dirs.State == "":
		return Skip("it is not known where things lie: see check 2"), true
	case n&daemon != 0 && x.daemon == nil:
		return Skip("no daemon"), true
	case n&git != 0 && noGit():
		return Skip("there is no git program to ask: see check 7"), true
	case n&checkouts == 0 || len(x.allCheckouts(ctx)) > 0:
		return Result{}, false
	case x.client != nil:
		return Pass("no project is registered"), true
	case noGit():
		return Skip("no daemon, and no git program to find a checkout by: see check 7"), true
	}
	return Skip("no daemon, and this folder is in no repository"), true
}

// patience bounds the wait for one answer of the daemon: somebody who looks what is
// wrong asks it several things, and it may be what is wrong.
const patience = 4 * time.Second

// Run makes every check in order. With fix it mends what it safely can, and looks
// again.
func Run(ctx context.Context, h *Host, fix bool) []Result {
	h.Daemon.Timeout = min(h.Daemon.Timeout, patience)
	x := &exam{host: h}
	var all []Result
	for _, c := range checks() {
		all = append(all, c.on(ctx, x, fix)...)
	}
	return all
}

// Names are those of the checks, in their order.
func Names() []string {
	var names []string
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}

// RunOne makes one check, after those that it needs, which are not reported.
func RunOne(ctx context.Context, h *Host, name string, fix bool) []Result {
	x := &exam{host: h}
	for _, c := range checks() {
		switch c.name {
		case name:
			return c.on(ctx, x, fix)
		case "configuration", "daemon":
			c.look(ctx, x)
		}
	}
	return nil
}

func (c check) look(ctx context.Context, x *exam) []Result {
	var found []Result
	if r, lacks := x.lacks(ctx, c.needs); lacks {
		found = []Result{r}
	} else {
		found = c.run(ctx, x)
	}
	for i := range found {
		found[i].Number, found[i].Name = c.number, c.name
	}
	return found
}

// on makes one check. With fix, what it finds is mended until nothing is left that
// can be: one thing may hide another. What was mended stands before what was found
// last.
func (c check) on(ctx context.Context, x *exam, fix bool) []Result {
	const rounds = 3
	var fixed []Result
	for round := 0; ; round++ {
		found := c.look(ctx, x)
		did := false
		for i := range found {
			r := &found[i]
			if !fix || round == rounds || !r.NeedsAction() || r.remedy == nil {
				continue
			}
			if err := r.remedy(ctx); err != nil {
				r.Text, r.remedy = fmt.Sprintf("%s; to mend it failed: %v", r.Text, err), nil
				left := slices.DeleteFunc(found, func(r Result) bool { return r.Status == Fixed })
				return append(fixed, left...)
			}
			r.Status, r.Mend, did = Fixed, "", true
			fixed = append(fixed, *r)
		}
		if !did {
			return append(fixed, found...)
		}
		x.again(ctx)
	}
}

// Tally counts results by status.
func Tally(found []Result) map[string]int {
	n := map[string]int{OK: 0, Warn: 0, Fail: 0, Skipped: 0, Fixed: 0}
	for _, r := range found {
		n[r.Status]++
	}
	return n
}
