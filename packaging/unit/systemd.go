package unit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"strings"
)

// header of every unit that we write; see headed.
const header = "# Written by `foldwatch service install`, which writes it again at the next one.\n" +
	"# Put changes of your own into a drop-in: systemctl{systemctl} edit foldwatch\n\n"

// headed puts in by which flag systemctl, and by which we ourselves mean the
// scope.
func headed(header, systemctl, scope string) string {
	return strings.NewReplacer("{systemctl}", systemctl, "{scope}", scope).Replace(header)
}

// lingers marks, in a unit, that its user did not linger before: X- lines are
// ours, systemd does not read them.
const lingers = "X-FoldwatchLinger=yes"

// What units of both scopes have. A restart follows after 1 s, ten times in
// five minutes at most; codes 2 and 5 are those that none mends. Of a daemon
// that hangs the watchdog hears nothing for two minutes: a loaded machine is no
// reason to kill one. A parser that takes too much memory ends alone
// (OOMPolicy). Git's own programs get the signal only when the daemon has ended
// or its time is over (KillMode).
const runs = `Type=notify
NotifyAccess=main
WatchdogSec=120
Restart=on-failure
RestartSec=1
RestartPreventExitStatus=2 5
TimeoutStartSec=90
TimeoutStopSec=10
KillMode=mixed
OOMPolicy=continue
UMask=0077
NoNewPrivileges=yes
MemoryDenyWriteExecute=yes
`

const limits = "StartLimitIntervalSec=300\nStartLimitBurst=10\n"

// userUnit is the unit of systemd's user manager, which starts it at login and
// has no multi-user.target.
func (s Spec) userUnit(header string) string {
	var b strings.Builder
	b.WriteString(headed(header, " --user", ""))
	b.WriteString("[Unit]\nDescription=Memory of your projects and their agents, in git\n" +
		"Documentation=https://github.com/foldwatch/foldwatch\n" + limits)
	if s.Linger {
		b.WriteString(lingers + "\n")
	}
	b.WriteString("\n[Service]\n")
	fmt.Fprintf(&b, "ExecStart=%s serve\nWorkingDirectory=/\n", command(s.Program))
	b.WriteString(environment(s.Env))
	b.WriteString("\n" + runs)
	b.WriteString("# A credential helper of git that makes code at run time (Java, .NET, Node) needs\n" +
		"# MemoryDenyWriteExecute=no in a drop-in.\nLockPersonality=yes\nRestrictRealtime=yes\n" +
		"SystemCallArchitectures=native\nLimitNOFILE=65536\nCPUWeight=50\nIOWeight=50\n")
	b.WriteString("\n[Install]\nWantedBy=default.target\n")
	return b.String()
}

// hardened is what the daemon of the system scope does without. It sees no home
// folder, writes below its state folder and the checkouts bound into its view
// (see DropIn), has no capability and no device, and speaks to sockets and the
// network only, for git.
const hardened = `CapabilityBoundingSet=
AmbientCapabilities=
DevicePolicy=closed
IPAddressDeny=link-local multicast
KeyringMode=private
LockPersonality=yes
PrivateDevices=yes
PrivateIPC=yes
PrivateMounts=yes
PrivateTmp=yes
PrivateUsers=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=tmpfs
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
`

// systemUnit is the unit of the system's manager. What git of the account needs
// from its home folder is bound in, to be read only.
func (s Spec) systemUnit(header string) string {
	var b strings.Builder
	b.WriteString(headed(header, "", " --system"))
	b.WriteString("[Unit]\nDescription=Memory of projects and their agents, in git\n" +
		"Documentation=https://github.com/foldwatch/foldwatch\nAfter=network.target\n" + limits)
	fmt.Fprintf(&b, "\n[Service]\nUser=%s\nExecStart=%s serve\nWorkingDirectory=/\n", s.Account, command(s.Program))
	b.WriteString(environment(s.Env))
	fmt.Fprintf(&b, "StateDirectory=%s\nStateDirectoryMode=0700\n", Name)
	b.WriteString("\n" + runs + "\n" + hardened)
	if s.Home != s.State {
		for _, f := range []string{".gitconfig", ".config/git", ".git-credentials", ".netrc", ".ssh"} {
			fmt.Fprintf(&b, "BindReadOnlyPaths=-%s\n", quote(s.join(s.Home, f)))
		}
	}
	b.WriteString("LimitNOFILE=65536\n\n[Install]\nWantedBy=multi-user.target\n")
	return b.String()
}

// DropIn returns the file that lets the daemon of the system scope of systemd
// write to the checkout at dir, and see it if it lies in a home folder.
func DropIn(dir string) (path, text string) {
	sum := sha256.Sum256([]byte(dir))
	path = "/etc/systemd/system/" + Name + ".service.d/checkout-" + hex.EncodeToString(sum[:6]) + ".conf"
	return path, "# Written by `foldwatch add --system`, removed by `foldwatch remove --system`.\n[Service]\nBindPaths=" + quote(dir) + "\n"
}

// sysusers is how systemd makes the account.
func (s Spec) sysusers() (path, text string) {
	return "/etc/sysusers.d/" + Name + ".conf", fmt.Sprintf("u %s - \"foldwatch daemon\" %s\n", s.Account, s.State)
}

// Account returns whom a unit or plist of the system has the daemon run as; "" where
// it does not say.
func Account(text string) string {
	if _, after, found := strings.Cut(text, "<key>UserName</key>"); found {
		var name struct {
			Text string `xml:",chardata"`
		}
		if xml.Unmarshal([]byte(after), &name) == nil { // reads the element that follows
			return name.Text
		}
	}
	for line := range strings.Lines(text) {
		if name, found := strings.CutPrefix(line, "User="); found {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

// Recorded returns the environment that a unit or plist of ours gives the
// daemon, in the order of the file.
func Recorded(text string) []Var {
	if strings.HasPrefix(text, "<?xml") {
		return recordedPlist(text)
	}
	var vars []Var
	for line := range strings.Lines(text) {
		v, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "Environment=")
		if !ok {
			continue
		}
		v = strings.TrimSuffix(strings.TrimPrefix(v, `"`), `"`)
		v = strings.NewReplacer(`\\`, `\`, `\"`, `"`, "%%", "%").Replace(v)
		if name, value, ok := strings.Cut(v, "="); ok {
			vars = append(vars, Var{name, value})
		}
	}
	return vars
}

func environment(vars []Var) string {
	var b strings.Builder
	for _, v := range vars {
		fmt.Fprintf(&b, "Environment=%s\n", quote(v.Name+"="+v.Value))
	}
	return b.String()
}

// quote writes one word as systemd reads it back; see systemd.syntax(7).
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(s) + `"`
}

// command is quote for the first word of a command line, where $ counts too.
func command(s string) string { return strings.ReplaceAll(quote(s), "$", "$$") }

// AskEnvironment returns the command that prints what a service is given beside what
// its file says, for ParseEnvironment; nil where there is none.
func (s Spec) AskEnvironment() []string {
	if s.OS != "linux" {
		return nil
	}
	return s.systemctl("show-environment")
}

// ParseEnvironment reads what the command of AskEnvironment prints. Of a value that
// a shell would have to read ($'…') it keeps all but the quotes.
func ParseEnvironment(out string) []Var {
	var vars []Var
	for line := range strings.Lines(out) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok {
			continue
		}
		if inner, quoted := strings.CutPrefix(value, "$'"); quoted {
			value = strings.TrimSuffix(inner, "'")
		}
		vars = append(vars, Var{name, value})
	}
	return vars
}
