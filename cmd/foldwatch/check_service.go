package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// checkUnit looks whether the service of these folders runs, is as it would be installed
// now, and has the daemon that answers.
func checkUnit(_ context.Context, p *patient) []finding {
	scope := unit.User
	if p.e.ofMachine() {
		scope = unit.System
	}
	install := "foldwatch service install" + scopeFlag(scope)
	s, st, err := p.e.openService(scope)
	switch {
	case errors.Is(err, fold.ErrUnavailable) && !st.Installed:
		return []finding{ok("none is installed, and none can be: %v", err)}
	case err != nil:
		return []finding{warn("log in as the user whose service it is", "the service manager does not answer: %v", err)}
	case !st.Installed && st.Packaged:
		return []finding{ok("a package brought %s, which nobody has enabled; to have the daemon started: %s", st.Path, install)}
	case !st.Installed:
		return []finding{ok("none is installed; to have the daemon after each login: %s", install)}
	}
	var found []finding
	if !st.Packaged && !st.Current && st.Path != "" && !p.older() {
		found = append(found, warn(install, "this session would install it otherwise (program, environment or version)"))
	}
	switch {
	case st.State == "failed":
		found = append(found, fail(fmt.Sprintf("foldwatch service logs%[1]s, then: foldwatch service restart%[1]s", scopeFlag(scope)), "it has failed: %s, exit code %d", st.Result, st.Code))
	case p.stat != nil && st.PID > 0 && p.stat.PID != st.PID:
		found = append(found, fail("foldwatch service restart"+scopeFlag(scope), "the daemon that answers is pid %d, the service's is %d", p.stat.PID, st.PID))
	case !st.Enabled:
		found = append(found, warn(install, "it is installed, and not started by itself"))
	}
	return orOK(found, "%s, %s", s.Manager(), st.Path)
}

// checkEnvironment looks whether the daemon has in its environment what git needs: a
// service has not that of a session.
func checkEnvironment(_ context.Context, p *patient) []finding {
	getenv, known := p.environment()
	if !known {
		return []finding{skipped("that of a daemon is not looked at here")}
	}
	const again = "foldwatch service install, from a session where it is right; without a service: foldwatch service restart"
	var found []finding
	if path := getenv("PATH"); !onPath("git", path) && !noGit() {
		found = append(found, fail(again, "git is in no folder of the daemon's PATH (%s)", path))
	}
	if a := getenv("SSH_AUTH_SOCK"); a != "" && !exists(a) {
		found = append(found, warn(again, "the daemon's ssh agent is not there (SSH_AUTH_SOCK=%s)", a))
	}
	if info, err := os.Stat(getenv("HOME")); err != nil || !info.IsDir() {
		found = append(found, fail(again, "the daemon's HOME is no folder (%s)", getenv("HOME")))
	}
	return orOK(found, "the daemon has PATH and HOME as it needs them")
}

// environment returns how the daemon's environment looks variables up, as the kernel
// has it; that of this session, and false, where no daemon runs or no kernel tells.
func (p *patient) environment() (getenv func(string) string, known bool) {
	if p.stat == nil {
		return p.e.getenv, false
	}
	b, err := p.kernel(strconv.Itoa(p.stat.PID), "environ")
	if err != nil || len(b) == 0 {
		return p.e.getenv, false
	}
	vars := map[string]string{}
	for kv := range strings.SplitSeq(string(b), "\x00") {
		name, value, _ := strings.Cut(kv, "=")
		vars[name] = value
	}
	return func(name string) string { return vars[name] }, true
}

// onPath reports whether one of the folders of list has the program.
func onPath(program, list string) bool {
	return slices.ContainsFunc(filepath.SplitList(list), func(dir string) bool {
		found, err := exec.LookPath(filepath.Join(dir, program))
		return err == nil && found != ""
	})
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
			found = append(found, fail("log in to it by hand once (ssh-add, gh auth login, git fetch), then: foldwatch sync -p "+quoteArg(t.slug), "%s: %s", t.slug, r.Reason))
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
	return orOK(found, "%s let in", plural(synced, "sync"))
}

// lacksLogin reports what a login at remote would need, and is not to be had in the
// daemon's environment.
func (p *patient) lacksLogin(ctx context.Context, slug, remote, dir string) (finding, bool) {
	getenv, _ := p.environment()
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
		return warn("put it on PATH, then: foldwatch service install", "%s: the credential helper %q is not to be found by the daemon", slug, name), true
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
