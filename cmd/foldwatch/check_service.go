package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// checkUnit looks at the services that are of concern here: this user's; and the
// machine's, for root and the account of it.
func checkUnit(ctx context.Context, p *patient) []finding {
	specs, err := p.units()
	if err != nil {
		return []finding{skipped("%v", err)}
	}
	var found []finding
	for _, s := range specs {
		found = append(found, p.examineUnit(ctx, s)...)
	}
	return found
}

// units are the services that are looked at. Root and the account of the machine's
// service have one of their own only where it is installed.
func (p *patient) units() ([]unit.Spec, error) {
	own, err := p.e.unitSpec(unitFlags{})
	if err != nil {
		return nil, err
	}
	machine, _, there := p.e.machineUnit()
	if !there {
		return []unit.Spec{own}, nil
	}
	_, account := p.e.machineUse()
	if now, _ := p.e.installed(machine); !account && (os.Geteuid() != 0 || !now.Installed) {
		return []unit.Spec{own}, nil
	}
	if now, _ := p.e.installed(own); now.Installed {
		return []unit.Spec{own, machine}, nil
	}
	return []unit.Spec{machine}, nil
}

// examineUnit looks whether a service is as it would be installed now, runs, and has
// the daemon that answers.
func (p *patient) examineUnit(ctx context.Context, s unit.Spec) []finding {
	install := "foldwatch service install" + scopeFlag(s.Scope)
	now, _ := p.e.installed(s)
	if !now.Installed && now.Packaged == "" {
		return []finding{ok("none is installed; to have the daemon after each login: %s", install)}
	}
	var found []finding
	now, text, state, err := p.e.standing(ctx, s)
	if !now.Installed {
		return []finding{ok("a package brought %s, which nobody has enabled; to have the daemon started: %s", now.Packaged, install)}
	}
	if err != nil {
		found = append(found, warn("log in as the user whose service it is", "the service manager does not answer: %v", err))
	}
	if now.Own && s.Path() != "" && text != s.Text() && (s.Scope == unit.User || os.Geteuid() == 0) && !p.older() {
		found = append(found, warn(install, "this session would install it otherwise (program, environment or version)"))
	}
	inUse, used := p.e.serviceInUse()
	switch {
	case state.State == "failed":
		found = append(found, fail(fmt.Sprintf("foldwatch service logs%[1]s, then: foldwatch service restart%[1]s", scopeFlag(s.Scope)), "it has failed: %s, exit code %d", state.Result, state.Code))
	case p.stat != nil && used && inUse.Scope == s.Scope && state.PID > 0 && p.stat.PID != state.PID:
		found = append(found, fail("foldwatch service restart"+scopeFlag(s.Scope), "the daemon that answers is pid %d, the service's is %d", p.stat.PID, state.PID))
	case err == nil && s.OS == "linux" && state.State != "" && !state.Enabled:
		found = append(found, warn(install, "it is installed, and not started by itself"))
	}
	if s.OS == "linux" && s.Scope == unit.User && !p.e.lingering(s.Account) {
		return orOK(found, "%s, %s; it stops when you log out", s.Manager(), fileOf(s, now))
	}
	return orOK(found, "%s, %s", s.Manager(), fileOf(s, now))
}

// checkRecorded looks at the environment that the service was installed with; it
// has no other.
func checkRecorded(ctx context.Context, p *patient) []finding {
	specs, err := p.units()
	if err != nil {
		return []finding{skipped("%v", err)}
	}
	var found []finding
	for _, s := range specs {
		if vars, recorded := p.environmentOf(ctx, s); recorded {
			found = append(found, examineRecorded(s, vars)...)
		}
	}
	return orOK(found, "that of this session; a service would record PATH, HOME and SSH_AUTH_SOCK")
}

func examineRecorded(s unit.Spec, vars map[string]string) []finding {
	if len(vars) == 0 {
		return []finding{skipped("the service manager does not say what a unit of a package is given")}
	}
	install := "foldwatch service install" + scopeFlag(s.Scope)
	again := install + ", from a session where it is right"
	var found []finding
	if path, there := vars["PATH"]; (!there || !onPath("git", path)) && !noGit() {
		found = append(found, fail("install git, then: "+install, "git is in no folder of the service's PATH (%s)", path))
	}
	if a := vars["SSH_AUTH_SOCK"]; a != "" && !exists(a) {
		found = append(found, warn(again, "the service's ssh agent is not there (SSH_AUTH_SOCK=%s)", a))
	}
	if info, err := os.Stat(vars["HOME"]); runtime.GOOS != "windows" && (err != nil || !info.IsDir()) {
		found = append(found, fail(again, "the service's HOME is no folder (%s)", vars["HOME"]))
	}
	if program := vars[recordedProgram]; program != "" && !exists(program) {
		found = append(found, fail(install, "the service's program is not there any more (%s)", program))
	}
	var names []string
	for name := range vars {
		if name != recordedProgram {
			names = append(names, name)
		}
	}
	return orOK(found, "the service was installed with %s", terminal.Sorted(names))
}

// recordedProgram is under what serviceEnvironment tells of the program; no
// variable has such a name.
const recordedProgram = "="

// environmentOf is the environment that a service was installed with; false where
// there is none. A unit of a package records none and has that of the
// service manager; empty where that does not answer.
func (p *patient) environmentOf(ctx context.Context, s unit.Spec) (map[string]string, bool) {
	if s.Path() == "" {
		return nil, false
	}
	now, text := p.e.installed(s)
	if !now.Installed {
		return nil, false
	}
	vars := map[string]string{}
	if ask := s.AskEnvironment(); !now.Own && ask != nil {
		out, err := p.e.machine(s).Output(ctx, ask)
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

// environment returns how the daemon's environment looks variables up: that of the
// service, else that of this session.
func (p *patient) environment(ctx context.Context) (getenv func(string) string, whose string) {
	if s, used := p.e.serviceInUse(); used {
		if vars, recorded := p.environmentOf(ctx, s); recorded && len(vars) > 0 {
			return func(name string) string { return vars[name] }, "the service"
		}
	}
	return p.e.Getenv, "the daemon"
}

// checkCredentials looks whether the daemon can log in where memories are synced
// with: what the remote said last, and whether its environment has what git needs.
func checkCredentials(ctx context.Context, p *patient) []finding {
	if p.stat == nil {
		return []finding{skipped("no daemon")}
	}
	var found []finding
	synced := 0
	for _, t := range p.mainTrees(ctx) {
		if t.status == nil || t.status.Repository == nil {
			continue
		}
		r := t.status.Repository
		synced++
		if r.Stopped == "auth" {
			found = append(found, fail("log in to it by hand once (ssh-add, gh auth login, git fetch), then: foldwatch sync -p "+terminal.Quote(t.slug), "%s: %s", t.slug, r.Reason))
			continue
		}
		if noGit() {
			found = append(found, skipped("%s: there is no git program to ask: see check 7", t.slug))
			continue
		}
		if f, lacks := p.lacksLogin(ctx, t.slug, r.Remote, t.path); lacks {
			found = append(found, f)
		}
	}
	if synced == 0 {
		return []finding{ok("none is needed: nothing is synced")}
	}
	return orOK(found, "%s let in", terminal.Plural(synced, "sync"))
}

// lacksLogin reports what a login at remote would need, and is not to be had in the
// daemon's environment.
func (p *patient) lacksLogin(ctx context.Context, slug, remote, dir string) (finding, bool) {
	getenv, whose := p.environment(ctx)
	switch remoteScheme(remote) {
	case "ssh":
		return p.lacksSSH(ctx, slug, remote)
	case "https":
		helper, err := p.git(ctx, dir, "config", "--get-urlmatch", "credential.helper", remote)
		if err != nil || helper == "" {
			return warn("have git keep the login: git config --global credential.helper store, or that of your system", "%s: git keeps no login for %s", slug, remote), true
		}
		command, isCommand := strings.CutPrefix(helper, "!")
		name, plain := firstWord(command)
		switch {
		case !plain: // what a shell makes of it cannot be judged
			return finding{}, false
		case filepath.IsAbs(name):
			if exists(name) {
				return finding{}, false
			}
		case isCommand:
			if onPath(name, getenv("PATH")) {
				return finding{}, false
			}
		case onPath("git-credential-"+name, getenv("PATH")) || p.gitHas(ctx, "git-credential-"+name):
			return finding{}, false
		}
		// Not the rest of it: that may be a secret.
		return warn("put it on PATH, then: foldwatch service install", "%s: the credential helper %q is not to be found by %s", slug, name, whose), true
	}
	return finding{}, false
}

// firstWord is the first word of a command as a shell reads it; false where that
// needs a shell: a variable, an assignment, a function, more than one command.
func firstWord(command string) (string, bool) {
	var word strings.Builder
	var quote rune // that is open; a backslash for the next rune only
	for _, r := range strings.TrimLeft(command, " \t") {
		switch {
		case quote == '\\':
			word.WriteRune(r)
			quote = 0
		case quote != 0 && r == quote:
			quote = 0
		case quote == '\'':
			word.WriteRune(r)
		case r == '$' || r == '`' || r == '\n' || quote == '"' && r == '\\':
			return "", false
		case quote == '"':
			word.WriteRune(r)
		case r == '\'' || r == '"' || r == '\\':
			quote = r
		case r == ' ' || r == '\t':
			return word.String(), true
		case strings.ContainsRune("(){};&|<>=*?[]~#!", r):
			return "", false
		default:
			word.WriteRune(r)
		}
	}
	return word.String(), quote == 0 && word.Len() > 0
}

// gitHas reports whether program is one of git's own.
func (p *patient) gitHas(ctx context.Context, program string) bool {
	dir, err := p.git(ctx, ".", "--exec-path")
	if err != nil {
		return false
	}
	_, err = exec.LookPath(filepath.Join(dir, program))
	return err == nil
}

// remoteScheme is how git gets to a remote: ssh, https, or another word.
func remoteScheme(remote string) string {
	if u, err := url.Parse(remote); err == nil && u.Scheme != "" && u.Host != "" {
		if strings.HasSuffix(u.Scheme, "ssh") {
			return "ssh"
		}
		return u.Scheme
	}
	host, path, isSCP := strings.Cut(remote, ":")
	if isSCP && !strings.Contains(host, "/") && len(host) > 1 && path != "" {
		return "ssh" // user@host:path; one letter is a drive of Windows
	}
	return "path"
}
