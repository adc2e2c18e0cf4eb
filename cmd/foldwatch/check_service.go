package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/doctor"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// serviceChecks are the checks of doctor that are about the system's service.
type serviceChecks struct{ app *App }

// Check looks at the services that are of concern here: this user's; and the
// machine's, for root and the account of it.
func (c serviceChecks) Check(ctx context.Context, running *wire.Status) []doctor.Result {
	specs, err := c.units()
	if err != nil {
		return []doctor.Result{doctor.Skip("%v", err)}
	}
	var found []doctor.Result
	for _, s := range specs {
		found = append(found, c.examine(ctx, s, running)...)
	}
	return found
}

// units are the services that are looked at. Root and the account of the machine's
// service have one of their own only where it is installed.
func (c serviceChecks) units() ([]unit.Spec, error) {
	own, err := c.app.unitSpec(unitFlags{})
	if err != nil {
		return nil, err
	}
	machine, _, there := c.app.machineUnit()
	if !there {
		return []unit.Spec{own}, nil
	}
	_, account := c.app.machineUse()
	if now, _ := c.app.installed(machine); !account && (os.Geteuid() != 0 || !now.Installed) {
		return []unit.Spec{own}, nil
	}
	if now, _ := c.app.installed(own); now.Installed {
		return []unit.Spec{own, machine}, nil
	}
	return []unit.Spec{machine}, nil
}

// examine looks whether a service is as it would be installed now, runs, and has
// the daemon that answers.
func (c serviceChecks) examine(ctx context.Context, s unit.Spec, running *wire.Status) []doctor.Result {
	install := "foldwatch service install" + scopeFlag(s.Scope)
	now, _ := c.app.installed(s)
	if !now.Installed && now.Packaged == "" {
		return []doctor.Result{doctor.Pass("none is installed; to have the daemon after each login: %s", install)}
	}
	var found []doctor.Result
	now, text, state, err := c.app.standing(ctx, s)
	if !now.Installed {
		return []doctor.Result{doctor.Pass("a package brought %s, which nobody has enabled; to have the daemon started: %s", now.Packaged, install)}
	}
	if err != nil {
		found = append(found, doctor.Warning("log in as the user whose service it is", "the service manager does not answer: %v", err))
	}
	if now.Own && s.Path() != "" && text != s.Text() && (s.Scope == unit.User || os.Geteuid() == 0) && (running == nil || !local.Older(fullVersion(), running.Version)) {
		found = append(found, doctor.Warning(install, "this session would install it otherwise (program, environment or version)"))
	}
	inUse, used := c.app.serviceInUse()
	switch {
	case state.State == "failed":
		found = append(found, doctor.Fault(fmt.Sprintf("foldwatch service logs%[1]s, then: foldwatch service restart%[1]s", scopeFlag(s.Scope)), "it has failed: %s, exit code %d", state.Result, state.Code))
	case running != nil && used && inUse.Scope == s.Scope && state.PID > 0 && running.PID != state.PID:
		found = append(found, doctor.Fault("foldwatch service restart"+scopeFlag(s.Scope), "the daemon that answers is pid %d, the service's is %d", running.PID, state.PID))
	case err == nil && s.OS == "linux" && state.State != "" && !state.Enabled:
		found = append(found, doctor.Warning(install, "it is installed, and not started by itself"))
	}
	if s.OS == "linux" && s.Scope == unit.User && !c.app.lingering(s.Account) {
		return doctor.OrPass(found, "%s, %s; it stops when you log out", s.Manager(), fileOf(s, now))
	}
	return doctor.OrPass(found, "%s, %s", s.Manager(), fileOf(s, now))
}

// CheckEnvironment looks at the environment that the service was installed with; it
// has no other.
func (c serviceChecks) CheckEnvironment(ctx context.Context) []doctor.Result {
	specs, err := c.units()
	if err != nil {
		return []doctor.Result{doctor.Skip("%v", err)}
	}
	var found []doctor.Result
	for _, s := range specs {
		if vars, recorded := c.environmentOf(ctx, s); recorded {
			found = append(found, examineRecorded(s, vars)...)
		}
	}
	return doctor.OrPass(found, "that of this session; a service would record PATH, HOME and SSH_AUTH_SOCK")
}

func examineRecorded(s unit.Spec, vars map[string]string) []doctor.Result {
	if len(vars) == 0 {
		return []doctor.Result{doctor.Skip("the service manager does not say what a unit of a package is given")}
	}
	install := "foldwatch service install" + scopeFlag(s.Scope)
	again := install + ", from a session where it is right"
	var found []doctor.Result
	if path, there := vars["PATH"]; (!there || !onPath("git", path)) && hasGit() {
		found = append(found, doctor.Fault("install git, then: "+install, "git is in no folder of the service's PATH (%s)", path))
	}
	if a := vars["SSH_AUTH_SOCK"]; a != "" && !local.Exists(a) {
		found = append(found, doctor.Warning(again, "the service's ssh agent is not there (SSH_AUTH_SOCK=%s)", a))
	}
	if info, err := os.Stat(vars["HOME"]); runtime.GOOS != "windows" && (err != nil || !info.IsDir()) {
		found = append(found, doctor.Fault(again, "the service's HOME is no folder (%s)", vars["HOME"]))
	}
	if program := vars[recordedProgram]; program != "" && !local.Exists(program) {
		found = append(found, doctor.Fault(install, "the service's program is not there any more (%s)", program))
	}
	var names []string
	for name := range vars {
		if name != recordedProgram {
			names = append(names, name)
		}
	}
	return doctor.OrPass(found, "the service was installed with %s", terminal.Sorted(names))
}

// recordedProgram is under what serviceEnvironment tells of the program; no
// variable has such a name.
const recordedProgram = "="

// environmentOf is the environment that a service was installed with; false where
// there is none. A unit of a package records none and has that of the
// service manager; empty where that does not answer.
func (c serviceChecks) environmentOf(ctx context.Context, s unit.Spec) (map[string]string, bool) {
	if s.Path() == "" {
		return nil, false
	}
	now, text := c.app.installed(s)
	if !now.Installed {
		return nil, false
	}
	vars := map[string]string{}
	if ask := s.AskEnvironment(); !now.Own && ask != nil {
		out, err := c.app.machine(s).Output(ctx, ask)
		if err != nil {
			return nil, true
		}
		for _, v := range unit.ParseEnvironment(out) {
			vars[v.Name] = v.Value
		}
	}
	vars[recordedProgram] = programOf(text)
	for _, v := range unit.Recorded(text) {
		vars[v.Name] = v.Value
	}
	return vars, true
}

// Environment returns how the daemon's environment looks variables up: that of the
// service, else that of this session.
func (c serviceChecks) Environment(ctx context.Context) (getenv func(string) string, whose string) {
	if s, used := c.app.serviceInUse(); used {
		if vars, recorded := c.environmentOf(ctx, s); recorded && len(vars) > 0 {
			return func(name string) string { return vars[name] }, "the service"
		}
	}
	return c.app.Getenv, "the daemon"
}

// hasGit reports whether there is a git program to be found by anybody.
func hasGit() bool {
	_, err := exec.LookPath("git")
	return err == nil
}
