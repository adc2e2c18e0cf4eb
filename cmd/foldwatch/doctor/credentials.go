package doctor

import (
	"context"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

// checkCredentials looks whether the daemon can log in where memories are synced
// with: what the remote said last, and whether its environment has what git needs.
func checkCredentials(ctx context.Context, x *exam) []Result {
	var found []Result
	synced := 0
	for _, t := range x.mainCheckouts(ctx) {
		if t.status == nil || t.status.Repository == nil {
			continue
		}
		synced++
		switch r := t.status.Repository; {
		case r.Stopped == "auth":
			found = append(found, Fault("log in to it by hand once (ssh-add, gh auth login, git fetch), then: foldwatch sync -p "+terminal.Quote(t.slug), "%s: %s", t.slug, r.Reason))
		case noGit():
			found = append(found, Skip("%s: there is no git program to ask: see check 7", t.slug))
		case remoteScheme(r.Remote) == "ssh":
			found = append(found, x.sshLogin(ctx, t.slug, r.Remote)...)
		case remoteScheme(r.Remote) == "https":
			found = append(found, x.httpsLogin(ctx, t, r.Remote)...)
		}
	}
	if synced == 0 {
		return []Result{Pass("none is needed: nothing is synced")}
	}
	return OrPass(found, "%s let in", terminal.Plural(synced, "sync"))
}

// sshLogin tells what a login by ssh needs and the daemon's environment lacks. Where a
// configuration of ssh may name a key or an agent, only the sync can tell.
func (x *exam) sshLogin(ctx context.Context, slug, remote string) []Result {
	getenv, _ := x.environment()
	if !onPath("ssh", getenv("PATH")) {
		return []Result{Fault("install ssh, then: foldwatch service install", "%s: ssh is in no folder of the daemon's PATH, and %s asks for it", slug, remote)}
	}
	ssh := filepath.Join(getenv("HOME"), ".ssh")
	keys, _ := filepath.Glob(filepath.Join(ssh, "id_*")) // the pattern is right
	if agent := getenv("SSH_AUTH_SOCK"); agent != "" && local.Exists(agent) || len(keys) > 0 || local.Exists(filepath.Join(ssh, "config")) {
		return nil
	}
	if command, err := x.git(ctx, string(filepath.Separator), "config", "--get", "core.sshCommand"); err == nil && command != "" {
		return nil // whoever sets that says which key
	}
	const mend = "make a key (ssh-keygen), or name yours as IdentityFile in ~/.ssh/config; or start an ssh agent, then from there: foldwatch service install"
	return []Result{Warning(mend, "%s: the daemon has neither an ssh agent nor a key in ~/.ssh", slug)}
}

// httpsLogin tells whether git keeps a login for the remote, by a helper that the daemon
// finds. A helper that is a command of a shell is not judged.
func (x *exam) httpsLogin(ctx context.Context, t checkout, remote string) []Result {
	helper, err := x.git(ctx, t.path, "config", "--get-urlmatch", "credential.helper", remote)
	if err != nil || helper == "" {
		return []Result{Warning("have git keep the login: git config --global credential.helper store, or that of your system", "%s: git keeps no login for %s", t.slug, remote)}
	}
	name, _, _ := strings.Cut(helper, " ")
	if strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return nil
	}
	getenv, _ := x.environment()
	if program := "git-credential-" + name; onPath(program, getenv("PATH")) || x.gitHas(ctx, program) {
		return nil
	}
	// Not the rest of it: that may be a secret.
	return []Result{Warning("put it on PATH, then: foldwatch service install", "%s: the credential helper %q is not to be found by the daemon", t.slug, name)}
}

// onPath reports whether program is in one of the folders of a list.
func onPath(program, list string) bool {
	return slices.ContainsFunc(filepath.SplitList(list), func(dir string) bool {
		_, err := exec.LookPath(filepath.Join(dir, program))
		return err == nil
	})
}

// gitHas reports whether program is one of git's own.
func (x *exam) gitHas(ctx context.Context, program string) bool {
	dir, err := x.git(ctx, ".", "--exec-path")
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
