package unit_test

import (
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// specs are one machine of each kind.
func specs() map[string]unit.Spec {
	linux := []unit.Var{{Name: "HOME", Value: "/home/ada"}, {Name: "PATH", Value: "/usr/local/bin:/usr/bin"}, {Name: "SSH_AUTH_SOCK", Value: "/run/user/1000/agent"}}
	mac := []unit.Var{{Name: "HOME", Value: "/Users/ada"}, {Name: "PATH", Value: "/opt/homebrew/bin:/usr/bin"}}
	at := func(system string) []unit.Var {
		return []unit.Var{{Name: "PATH", Value: "/usr/bin"}, {Name: "FOLDWATCH_HOME", Value: unit.SystemState(system)}}
	}
	return map[string]unit.Spec{
		"systemd-user.service": {
			OS: "linux", Scope: unit.User, Program: "/home/ada/.local/bin/foldwatch", Account: "ada", UID: 1000, Home: "/home/ada",
			State: "/home/ada/.local/state/foldwatch", Env: linux, Linger: true,
		},
		"systemd-system.service": {
			OS: "linux", Scope: unit.System, Program: "/usr/bin/foldwatch", Account: "foldwatch", Home: "/var/lib/foldwatch",
			State: unit.SystemState("linux"), Env: at("linux"), NewAccount: true,
		},
		"systemd-account.service": {
			OS: "linux", Scope: unit.System, Program: "/usr/bin/foldwatch", Account: "ada", Home: "/home/ada",
			State: unit.SystemState("linux"), Env: at("linux"),
		},
		"launchd-agent.plist": {
			OS: "darwin", Scope: unit.User, Program: "/opt/homebrew/bin/foldwatch", Account: "ada", UID: 501, Home: "/Users/ada",
			State: "/Users/ada/Library/Application Support/foldwatch", Env: mac,
		},
		"launchd-daemon.plist": {
			OS: "darwin", Scope: unit.System, Program: "/opt/homebrew/bin/foldwatch", Account: "ada", Home: "/Users/ada",
			State: unit.SystemState("darwin"), Env: at("darwin"),
		},
		"windows-logon.xml": {
			OS: "windows", Scope: unit.User, Program: `C:\Program Files\foldwatch\foldwatch.exe`, Account: `PC\ada`, Home: `C:\Users\ada`,
			State: `C:\Users\ada\AppData\Local\foldwatch\state`, Env: []unit.Var{{Name: "PATH", Value: `C:\Windows`}},
		},
		"windows-service": {
			OS: "windows", Scope: unit.System, Program: `C:\Program Files\foldwatch\foldwatch.exe`, Account: `NT SERVICE\foldwatch`,
			Home: unit.SystemState("windows"), State: unit.SystemState("windows"), Env: at("windows"),
		},
	}
}

// Every template, and what is done with it, on every system.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, s := range specs() {
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var b strings.Builder
		if s.Path() != "" {
			golden(t, name, s.Text())
		}
		section := func(title string, steps []unit.Step) {
			b.WriteString(title + "\n")
			for _, st := range steps {
				b.WriteString("  " + st.String())
				if st.Optional {
					b.WriteString("   (may fail)")
				}
				b.WriteString("\n")
			}
		}
		b.WriteString(s.Manager() + ", " + string(s.Scope) + ", " + s.Path() + "\n")
		section("install", s.Install(unit.Standing{}))
		section("install again, the same", s.Install(unit.Standing{Installed: true, Same: true, Running: true, Lingers: true}))
		section("upgrade", s.Install(unit.Standing{Installed: true, Running: true, Lingers: true}))
		section("uninstall", s.Uninstall(unit.Standing{Installed: true, BySpec: s.Linger, DropIns: []string{"/etc/systemd/system/foldwatch.service.d/checkout-x.conf"}}))
		if there := s.Packages(); len(there) > 0 {
			brought := unit.Standing{Installed: true, Packaged: there[0], Running: true}
			section("install beside that of a package", s.Install(brought))
			section("uninstall that of a package", s.Uninstall(brought))
			b.WriteString("packages: " + strings.Join(there, " ") + "\nwants: " + strings.Join(s.Wants(), " ") + "\n")
		}
		for _, verb := range []string{"start", "stop", "restart"} {
			section(verb, s.Control(verb))
		}
		if s.OS == "linux" && s.Scope == unit.System {
			section("bind", s.Bind("/srv/a b", true))
			section("unbind", s.Bind("/srv/a b", false))
		}
		command, file := s.Logs(100, true)
		b.WriteString("state: " + strings.Join(s.Ask(), " ") + "\nlogs: " + strings.Join(command, " ") + file + "\n")
		golden(t, name+".steps", b.String())
	}
	_, text := unit.DropIn("/srv/a b%c")
	golden(t, "checkout.conf", text)
	for _, st := range unit.Packaged("/usr/bin/foldwatch") {
		golden(t, "packaged"+strings.ReplaceAll(st.Write, "/", "-"), st.Text)
	}
}

// Where the log is read is where the daemon, with the folders that it is given,
// writes it.
func TestLogsAreWhereTheDaemonWrites(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: the paths are those of unix")
	}
	s := specs()["launchd-daemon.plist"]
	dirs, err := conf.Locate(func(name string) string {
		for _, v := range s.Env {
			if v.Name == name {
				return v.Value
			}
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, file := s.Logs(1, false); file != filepath.Join(dirs.State, "daemon.log") {
		t.Errorf("Logs = %s, the daemon's state is in %s", file, dirs.State)
	}
	if !strings.Contains(s.Text(), "<string>"+dirs.State+"/daemon.err<") {
		t.Errorf("launchd writes elsewhere than to %s:\n%s", dirs.State, s.Text())
	}
	made := s.Install(unit.Standing{})[:2]
	for i, want := range [][]string{
		{"install", "-d", "-m", "0700", "-o", "ada", dirs.Home},
		{"sudo", "-n", "-u", "ada", "install", "-d", "-m", "0700", dirs.State}, // as root it would follow a link of ada's
	} {
		if !slices.Equal(made[i].Run, want) {
			t.Errorf("step %d is %v, want %v: launchd makes no folder", i+1, made[i].Run, want)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s, -want +got:\n%s", file, diff)
	}
}

func TestXMLIsWellFormed(t *testing.T) {
	t.Parallel()
	for name, s := range specs() {
		if !strings.HasPrefix(s.Text(), "<?xml") || s.Path() == "" {
			continue
		}
		s.Program += `<&">` // a path may have them
		d := xml.NewDecoder(strings.NewReader(s.Text()))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

// What a file records is read back as it was, whatever characters it has.
func TestRecordedIsWhatWasGiven(t *testing.T) {
	t.Parallel()
	for name, s := range specs() {
		if s.OS == "windows" {
			continue
		}
		s.Env = append(s.Env, unit.Var{Name: "XDG_DATA_HOME", Value: `/a "b" \c %d $e <f> & ü`})
		if got := unit.Recorded(s.Text()); !slices.Equal(got, s.Env) {
			t.Errorf("%s: Recorded = %v, want %v", name, got, s.Env)
		}
	}
}

func TestCheckRefusesWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	base := specs()["systemd-user.service"]
	for name, spoil := range map[string]func(*unit.Spec){
		"scope":    func(s *unit.Spec) { s.Scope = "world" },
		"system":   func(s *unit.Spec) { s.OS = "plan9" },
		"relative": func(s *unit.Spec) { s.Program = "bin/foldwatch" },
		"newline":  func(s *unit.Spec) { s.Program = "/bin/a\nExecStartPre=/bin/sh" },
		"variable": func(s *unit.Spec) { s.Env = []unit.Var{{Name: "PATH", Value: "/bin\n[Install]"}} },
		"account":  func(s *unit.Spec) { s.Scope, s.Account = unit.System, "" },
	} {
		s := base
		spoil(&s)
		if err := s.Check(); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("%s: Check = %v, want ErrInvalid", name, err)
		}
	}
}

func TestRootIsToldApart(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		os, account string
		uid         int
		want        bool
	}{
		{"linux", "foldwatch", 998, false},
		{"linux", "root", 0, true},
		{"linux", "toor", 0, true},
		{"darwin", "root", 0, true},
		{"darwin", "ada", 501, false},
		{"windows", `NT SERVICE\foldwatch`, 0, false},
		{"windows", "LocalSystem", 0, true},
		{"windows", `nt authority\System`, 0, true},
		{"windows", `NT AUTHORITY\SYSTEM`, 0, true},
		{"windows", `NT AUTHORITY\LocalService`, 0, false},
	} {
		s := unit.Spec{OS: tc.os, Scope: unit.System, Account: tc.account, UID: tc.uid}
		if got := s.Root(); got != tc.want {
			t.Errorf("Root of %s on %s = %v, want %v", tc.account, tc.os, got, tc.want)
		}
		if s.Scope = unit.User; s.Root() {
			t.Errorf("the user's own service, of %s: Root", tc.account)
		}
	}
}

// TestBindableIsOneLine: the folder of a checkout is its owner's to name, and its unit
// root's.
func TestBindableIsOneLine(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]bool{
		"/srv/a b%c:\"d\\": true, "/srv/Straße": true, "/srv/a\nExecStartPre=+/srv/b": false, "/srv/a\rUser=root": false, "/srv/a\x00": false,
	} {
		if err := unit.Bindable(dir); errors.Is(err, fold.ErrInvalid) == want {
			t.Errorf("Bindable(%q) = %v", dir, err)
		}
		if _, text := unit.DropIn(dir); want && len(strings.Split(text, "\n")) != 4 {
			t.Errorf("the drop-in of %q has other lines: %q", dir, text)
		}
	}
}

func TestLastingKeepsWhatTheNextSessionHas(t *testing.T) {
	t.Parallel()
	vars := map[string]string{
		"PATH": "/usr/bin:bin:/usr/bin:.:/bin", "SSH_AUTH_SOCK": "/tmp/ssh-X/agent.7", "AWS_SECRET_ACCESS_KEY": "no", "FOLDWATCH_HOME": "/srv/fw",
	}
	getenv := func(name string) string { return vars[name] }
	got, left := unit.Lasting(getenv, nil, "/home/ada", "/run/user/1000")
	want := []unit.Var{{Name: "HOME", Value: "/home/ada"}, {Name: "PATH", Value: "/usr/bin:/bin"}, {Name: "FOLDWATCH_HOME", Value: "/srv/fw"}}
	if !slices.Equal(got, want) || len(left) != 1 || !strings.Contains(left[0], "/tmp/ssh-X/agent.7") {
		t.Errorf("Lasting = %v, %v, want %v", got, left, want)
	}
	vars["SSH_AUTH_SOCK"] = "/run/user/1000/agent"
	if got, left := unit.Lasting(getenv, nil, "/home/ada", "/run/user/1000"); len(left) > 0 || !slices.Contains(got, unit.Var{Name: "SSH_AUTH_SOCK", Value: "/run/user/1000/agent"}) {
		t.Errorf("Lasting = %v, %v: an agent that lasts is left out", got, left)
	}
}

// What the unit of the system scope hides, a program must not lie in: the two lists
// are one.
func TestSystemServiceSeesNoFoldersOfUsers(t *testing.T) {
	t.Parallel()
	s := specs()["systemd-system.service"]
	for p, want := range map[string]bool{
		"/usr/bin/foldwatch": true, "/opt/foldwatch/bin/foldwatch": true, "/homes/x": true, "/var/tmpfiles/x": true,
		"/home/ada/bin/foldwatch": false, "/root/go/bin/foldwatch": false, "/tmp/foldwatch": false, "/var/tmp/x/foldwatch": false, "/run/user/0/x": false, "/home": false,
	} {
		if got := s.Sees(p); got != want {
			t.Errorf("Sees(%s) = %v, want %v", p, got, want)
		}
	}
	for _, line := range []string{"PrivateTmp=yes\n", "ProtectHome=tmpfs\n"} {
		if !strings.Contains(s.Text(), line) {
			t.Errorf("the unit lacks %q", line)
		}
	}
	if !specs()["systemd-user.service"].Sees("/home/ada/bin/foldwatch") {
		t.Error("the user's service sees all that the user does")
	}
}

// The way into the network is recorded, and no secret with it; what is left out is
// named, without its value.
func TestLastingTellsWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	password := "hush" + strconv.Itoa(os.Getpid())
	vars := map[string]string{
		"HTTPS_PROXY": "http://proxy.example.invalid:3128", "http_proxy": "ada:" + password + "@proxy.example.invalid:3128", "NO_PROXY": "localhost,::1",
		"SSL_CERT_FILE": "/home/ada/ca.pem", "GIT_SSH_COMMAND": "sshpass -p " + password + " ssh", "OPENAI_API_KEY": password,
	}
	getenv := func(name string) string { return vars[name] }
	read := []string{"FOLDWATCH_LISTEN", "OPENAI_API_KEY"}
	proxy := unit.Var{Name: "HTTPS_PROXY", Value: vars["HTTPS_PROXY"]}
	user, system := specs()["systemd-user.service"], specs()["systemd-system.service"]

	got, left := unit.Lasting(getenv, read, user.Home, "/run/user/1000")
	none := unit.Var{Name: "NO_PROXY", Value: vars["NO_PROXY"]}
	want := []unit.Var{{Name: "HOME", Value: user.Home}, proxy, none, {Name: "SSL_CERT_FILE", Value: "/home/ada/ca.pem"}}
	if !slices.Equal(got, want) {
		t.Errorf("Lasting = %v, want %v", got, want)
	}
	got, leftSystem := system.LastingSystem(getenv, read)
	if want := []unit.Var{proxy, none}; !slices.Equal(got, want) {
		t.Errorf("LastingSystem = %v, want %v", got, want)
	}
	for _, notes := range [][]string{left, leftSystem} {
		all := strings.Join(notes, "\n")
		for _, want := range []string{"http_proxy has a login", "GIT_SSH_COMMAND is not for foldwatch", "core.sshCommand", "FOLDWATCH_LISTEN, OPENAI_API_KEY: left out"} {
			if !strings.Contains(all, want) {
				t.Errorf("it does not say %q:\n%s", want, all)
			}
		}
		if strings.Contains(all, password) {
			t.Errorf("it says the password:\n%s", all)
		}
	}
	if all := strings.Join(leftSystem, "\n"); !strings.Contains(all, "SSL_CERT_FILE is /home/ada/ca.pem, which the service does not see") {
		t.Errorf("it does not say that the service does not see the file:\n%s", all)
	}
}

// A variable of several lines is left out and named, and the rest makes a service.
func TestLastingLeavesOutControls(t *testing.T) {
	t.Parallel()
	vars := map[string]string{
		"PATH": "/usr/bin:/opt/a\nb:/bin", "no_proxy": "localhost\n10.0.0.1", "SSL_CERT_FILE": "/etc/ssl/\x7f.pem",
		"SSH_AUTH_SOCK": "/run/user/1000/a\tb", "HTTPS_PROXY": "http://proxy.example.invalid:3128",
	}
	getenv := func(name string) string { return vars[name] }
	user, system := specs()["systemd-user.service"], specs()["systemd-system.service"]
	var left, leftSystem []string
	user.Env, left = unit.Lasting(getenv, nil, user.Home, "/run/user/1000")
	system.Env, leftSystem = system.LastingSystem(getenv, nil)
	proxy := unit.Var{Name: "HTTPS_PROXY", Value: vars["HTTPS_PROXY"]}
	if want := []unit.Var{{Name: "HOME", Value: user.Home}, {Name: "PATH", Value: "/usr/bin:/bin"}, proxy}; !slices.Equal(user.Env, want) {
		t.Errorf("Lasting = %q, want %q", user.Env, want)
	}
	if want := []unit.Var{proxy}; !slices.Equal(system.Env, want) {
		t.Errorf("LastingSystem = %q, want %q", system.Env, want)
	}
	for want, notes := range map[string][]string{"SSH_AUTH_SOCK, no_proxy, SSL_CERT_FILE: left out": left, "no_proxy, SSL_CERT_FILE: left out": leftSystem} {
		if len(notes) != 1 || !strings.HasPrefix(notes[0], want) || strings.ContainsAny(notes[0], "\n\t\x7f") {
			t.Errorf("it says %q, want %q", notes, want)
		}
	}
	if err := errors.Join(user.Check(), system.Check()); err != nil {
		t.Error(err)
	}
	vars["FOLDWATCH_HOME"] = "/srv/f\nw" // without it the service would have other folders
	if user.Env, _ = unit.Lasting(getenv, nil, user.Home, ""); user.Check() == nil {
		t.Error("a folder of ours with a line break is taken")
	}
}

func TestSystemPathIsTheMachines(t *testing.T) {
	t.Parallel()
	const machines = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for name, tc := range map[string]struct{ spec, list, git, want string }{
		"git of the machine":  {"systemd-system.service", "/root/bin:.:/opt/git/bin:/usr/bin", "/usr/bin", machines},
		"git elsewhere":       {"systemd-system.service", "/root/bin:/opt/git/bin:/usr/bin", "/opt/git/bin", machines + ":/opt/git/bin"},
		"git that is hidden":  {"systemd-system.service", "/home/linuxbrew/.linuxbrew/bin:/usr/bin", "/home/linuxbrew/.linuxbrew/bin", machines},
		"no git":              {"systemd-system.service", "/usr/bin", "", machines},
		"homebrew":            {"launchd-daemon.plist", "/opt/homebrew/bin:/usr/bin", "/opt/homebrew/bin", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/opt/homebrew/bin"},
		"folders of Windows":  {"windows-service", `C:\Windows;C:\Users\ada\bin;C:\Program Files\Git\cmd`, "", `C:\Windows;C:\Program Files\Git\cmd`},
		"nothing is on PATH":  {"systemd-system.service", "", "", machines},
		"no folders, Windows": {"windows-service", "", "", ""},
	} {
		if got := specs()[tc.spec].SystemPath(tc.list, func(dir string) bool { return dir == tc.git }); got != tc.want {
			t.Errorf("%s: SystemPath = %s, want %s", name, got, tc.want)
		}
	}
}

func TestStateIsReadFromTheSystem(t *testing.T) {
	t.Parallel()
	linux, mac := specs()["systemd-user.service"], specs()["launchd-agent.plist"]
	for _, tc := range []struct {
		spec unit.Spec
		out  string
		want unit.State
	}{
		{
			linux, "LoadState=loaded\nActiveState=active\nSubState=running\nUnitFileState=enabled\nMainPID=77\nNRestarts=2\nResult=success\nStatusText=1 project: 1 ready\nExecMainStatus=0\n",
			unit.State{State: "active", Enabled: true, PID: 77, Restarts: 2, Says: "1 project: 1 ready"},
		},
		{
			linux, "ActiveState=failed\nUnitFileState=disabled\nMainPID=0\nResult=exit-code\nExecMainStatus=5\n",
			unit.State{State: "failed", Result: "exit-code", Code: 5},
		},
		{
			mac, "gui/501/io.github.foldwatch = {\n\tstate = running\n\tpid = 77\n\tlast exit code = 0\n\tspawn = {\n\t\tstate = active\n\t}\n}\n",
			unit.State{State: "active", Enabled: true, PID: 77},
		},
		{mac, "", unit.State{}},
	} {
		if got := tc.spec.ParseState(tc.out); got != tc.want {
			t.Errorf("ParseState(%q) = %+v, want %+v", tc.out, got, tc.want)
		}
	}
}

func TestApplyWritesOnceAndRemovesAll(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var ran []string
	fail := ""
	m := unit.Machine{Root: root, Exec: func(_ context.Context, argv []string) (string, error) {
		ran = append(ran, strings.Join(argv, " "))
		if fail != "" && strings.Contains(ran[len(ran)-1], fail) {
			return "Failed: " + fail + "\nmore", errors.New("exit status 1")
		}
		return "", nil
	}}
	s := specs()["systemd-system.service"]
	steps := append(s.Install(unit.Standing{}), s.Bind("/srv/a", true)...)
	if err := m.Apply(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(root, s.Path())
	before, err := os.Stat(at)
	if err != nil || runtime.GOOS != "windows" && before.Mode().Perm() != 0o644 {
		t.Fatalf("%s: %v, %v", at, before, err)
	}
	if err := m.Apply(t.Context(), steps); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(at); err != nil || !os.SameFile(before, after) {
		t.Errorf("an unchanged file was written again: %v", err)
	}
	fail = "systemctl enable"
	if err := m.Apply(t.Context(), steps); err == nil || !strings.Contains(err.Error(), "Failed: systemctl enable") || strings.Contains(err.Error(), "more") {
		t.Errorf("a step that fails: %v", err)
	}
	fail = "reset-failed" // is optional
	if err := m.Apply(t.Context(), append(s.Uninstall(unit.Standing{Installed: true}), s.Bind("/srv/a", false)...)); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err == nil && (!d.IsDir() || strings.HasSuffix(p, ".d") && strings.Contains(p, "foldwatch")) {
			t.Errorf("left behind: %s", p)
		}
		return err
	})
	if err != nil || len(ran) == 0 {
		t.Error(err, ran)
	}
}

func TestApplyWritesThroughNoLink(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	target := filepath.Join(root, "target")
	if err := os.WriteFile(target, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(root, "link")); err != nil {
		t.Skipf("SKIP: no links here: %v", err)
	}
	err := unit.Machine{Root: root}.Apply(t.Context(), []unit.Step{{Write: "/link", Text: "ours"}})
	if b, _ := os.ReadFile(target); !errors.Is(err, fold.ErrConflict) || string(b) != "theirs" {
		t.Errorf("Apply = %v, the target has %q", err, b)
	}
}

// analyze is systemd's own reader of units.
func analyze(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("SKIP: systemd-analyze is missing (Debian: apt-get install systemd)")
	}
	cmd := exec.CommandContext(t.Context(), "systemd-analyze", args...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("systemd-analyze %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestSystemdAcceptsTheUnits(t *testing.T) {
	t.Parallel()
	for name, s := range specs() {
		if s.OS != "linux" {
			continue
		}
		dir := t.TempDir()
		s.Program = "/bin/true" // has to be there
		if s.Scope == unit.System {
			s.Account = "root"
			drop := filepath.Join(dir, "foldwatch.service.d")
			_, text := unit.DropIn("/srv/a b%c:d")
			if err := errors.Join(os.Mkdir(drop, 0o700), os.WriteFile(filepath.Join(drop, "a.conf"), []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(dir, "foldwatch.service")
		if err := os.WriteFile(file, []byte(s.Text()), 0o600); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(analyze(t, "--"+string(s.Scope), "--man=no", "verify", file)) {
			if strings.Contains(line, "foldwatch.service") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

// mostExposure is the bound on what systemd reckons that a daemon of the system
// scope could reach, from 0 to 10.
const mostExposure = 1.5

func TestSystemUnitIsHardened(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"systemd-system.service", "systemd-account.service"} {
		file := filepath.Join(t.TempDir(), "foldwatch.service")
		if err := os.WriteFile(file, []byte(specs()[name].Text()), 0o600); err != nil {
			t.Fatal(err)
		}
		out := analyze(t, "security", "--offline=true", "--no-pager", file)
		found := regexp.MustCompile(`exposure level for foldwatch\.service: ([0-9.]+)`).FindStringSubmatch(out)
		if found == nil {
			t.Fatalf("no figure in:\n%s", out)
		}
		got, err := strconv.ParseFloat(found[1], 64)
		if err != nil || got > mostExposure {
			t.Errorf("%s: exposure %s, at most %.1f\n%s", name, found[1], mostExposure, out)
		}
		t.Logf("%s: exposure %s", name, found[1])
	}
}
