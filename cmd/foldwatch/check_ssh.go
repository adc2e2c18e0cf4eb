package main

import (
	"bufio"
	"bytes"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// lacksSSH reports what a login at remote by ssh would need, and is not to be had in
// the daemon's environment. It asks ssh itself what it would do: a host may be an alias,
// and have a key or an agent of its own. Nothing is connected to.
func (p *patient) lacksSSH(ctx context.Context, slug, remote string) (finding, bool) {
	getenv, _ := p.environment()
	if !onPath("ssh", getenv("PATH")) {
		return fail("install ssh, then: foldwatch service install", "%s: ssh is in no folder of the daemon's PATH, and %s asks for it", slug, remote), true
	}
	if command, err := p.git(ctx, string(filepath.Separator), "config", "--get", "core.sshCommand"); err == nil && command != "" {
		return finding{}, false // whoever sets that says which key
	}
	way, asked := p.askSSH(ctx, remote, getenv)
	if !asked { // another ssh than that of OpenSSH, or an old one
		way.agent = getenv("SSH_AUTH_SOCK")
		way.keys, _ = filepath.Glob(filepath.Join(getenv("HOME"), ".ssh", "id_*")) // the pattern is right
	}
	if way.unknown || way.agent != "" && exists(way.agent) || slices.ContainsFunc(way.keys, exists) {
		return finding{}, false // whether they have a passphrase, the sync tells
	}
	const mend = "make a key (ssh-keygen), or name yours as IdentityFile in ~/.ssh/config; or start an ssh agent, then from there: foldwatch service install"
	where := "in ~/.ssh"
	if asked {
		where = "that ssh would use for " + remote
	}
	return warn(mend, "%s: the daemon has neither an ssh agent nor a key %s", slug, where), true
}

// A sshWay is by what ssh would log in somewhere.
type sshWay struct {
	agent   string   // its socket; "" for none
	keys    []string // files, which need not be there
	unknown bool     // by something that is not looked at here
}

// askSSH has the ssh of the daemon's PATH say how it would log in at remote; false where
// it does not say.
func (p *patient) askSSH(ctx context.Context, remote string, getenv func(string) string) (sshWay, bool) {
	to, port := sshAddress(remote)
	// What .git/config names may be anybody's words: ssh hands host and user on to the
	// commands of Match exec, by a shell, and did not look at them before 9.6.
	if to == "" || strings.HasPrefix(to, "-") || strings.ContainsFunc(to, notInAddress) {
		return sshWay{}, false
	}
	args := []string{"-G", to}
	if port != "" {
		args = []string{"-G", "-p", port, to}
	}
	ctx, cancel := context.WithTimeout(ctx, p.e.patience.git)
	defer cancel()
	cmd := exec.CommandContext(ctx, "ssh", args...)
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue // it may be in a checkout, from which nothing is run
		}
		if at, err := exec.LookPath(filepath.Join(dir, "ssh")); err == nil {
			cmd.Path, cmd.Err = at, nil
			break
		}
	}
	cmd.Env = usergit.CleanEnv(os.Environ())
	for _, name := range []string{"PATH", "HOME", "SSH_AUTH_SOCK"} {
		cmd.Env = append(cmd.Env, name+"="+getenv(name)) // the last one counts
	}
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return sshWay{}, false
	}
	return readSSH(out, getenv)
}

// notInAddress reports whether r means something to a shell, or separates words.
func notInAddress(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune("'`\"$\\;&<>|(){}*?!#~", r)
}

// readSSH reads what ssh -G prints: a line for each setting that counts, in which a
// later one of the same name is a further value. False where that is something else.
func readSSH(out []byte, getenv func(string) string) (way sshWay, said bool) {
	way.agent = getenv("SSH_AUTH_SOCK")
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		name, value, _ := strings.Cut(sc.Text(), " ")
		value = strings.Trim(value, `"`)
		path, known := sshPath(value, getenv)
		switch strings.ToLower(name) {
		case "hostname":
			said = true
		case "identityfile":
			if value != "none" {
				way.keys, way.unknown = append(way.keys, path), way.unknown || !known
			}
		case "identityagent":
			switch value {
			case "none":
				way.agent = ""
			case "SSH_AUTH_SOCK":
			default:
				way.agent, way.unknown = path, way.unknown || !known
			}
		case "pkcs11provider":
			way.unknown = way.unknown || value != "none" && value != ""
		}
	}
	return way, said
}

// sshPath is a path of ssh's configuration as ssh reads it; false where it has more in
// it than is known here.
func sshPath(s string, getenv func(string) string) (string, bool) {
	if rest, isVariable := strings.CutPrefix(s, "$"); isVariable && !strings.HasPrefix(rest, "{") {
		return getenv(rest), true
	}
	if rest, atHome := strings.CutPrefix(s, "~/"); atHome {
		s = filepath.Join(getenv("HOME"), rest)
	}
	s = strings.NewReplacer("%d", getenv("HOME"), "%%", "%", "${HOME}", getenv("HOME")).Replace(s)
	return s, !strings.ContainsAny(s, "%$~")
}

// sshAddress takes a remote apart into what ssh is told to log in at, USER@HOST, and the
// port; "" for no remote of ssh.
func sshAddress(remote string) (to, port string) {
	if u, err := url.Parse(remote); err == nil && u.Scheme != "" && u.Host != "" {
		if to, port = u.Hostname(), u.Port(); u.User.Username() != "" {
			to = u.User.Username() + "@" + to
		}
		return to, port
	}
	to, _, _ = strings.Cut(remote, ":")
	return to, ""
}
