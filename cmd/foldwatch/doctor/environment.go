package doctor

import (
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
)

// checkEnvironment looks whether the daemon has in its environment what git needs: a
// service has not that of a session.
func checkEnvironment(_ context.Context, x *exam) []Result {
	getenv, known := x.environment()
	if !known {
		return []Result{Skip("that of a daemon is not looked at here")}
	}
	const again = "foldwatch service install, from a session where it is right; without a service: foldwatch service restart"
	var found []Result
	if path := getenv("PATH"); !onPath("git", path) && !noGit() {
		found = append(found, Fault(again, "git is in no folder of the daemon's PATH (%s)", path))
	}
	if a := getenv("SSH_AUTH_SOCK"); a != "" && !local.Exists(a) {
		found = append(found, Warning(again, "the daemon's ssh agent is not there (SSH_AUTH_SOCK=%s)", a))
	}
	if info, err := os.Stat(getenv("HOME")); err != nil || !info.IsDir() {
		found = append(found, Fault(again, "the daemon's HOME is no folder (%s)", getenv("HOME")))
	}
	return OrPass(found, "the daemon has PATH and HOME as it needs them")
}

// environment returns how the daemon's environment looks variables up, as the kernel
// has it; that of this session, and false, where no daemon runs or no kernel tells.
func (x *exam) environment() (getenv func(string) string, known bool) {
	if x.daemon == nil {
		return x.host.Daemon.Config.Getenv, false
	}
	b, err := x.kernel(strconv.Itoa(x.daemon.PID), "environ")
	if err != nil || len(b) == 0 {
		return x.host.Daemon.Config.Getenv, false
	}
	vars := map[string]string{}
	for kv := range strings.SplitSeq(string(b), "\x00") {
		name, value, _ := strings.Cut(kv, "=")
		vars[name] = value
	}
	return func(name string) string { return vars[name] }, true
}
