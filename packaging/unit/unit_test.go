package unit_test

import (
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

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// configs are one machine of each kind.
func configs() map[string]unit.Config {
	return map[string]unit.Config{
		"user.service": {
			OS: "linux", Scope: unit.User, Program: "/home/ada/.local/bin/foldwatch", Account: "ada", Home: "/home/ada",
			Env: []unit.Var{{Name: "HOME", Value: "/home/ada"}, {Name: "PATH", Value: "/usr/local/bin:/usr/bin"}, {Name: "SSH_AUTH_SOCK", Value: "/run/user/1000/agent"}},
		},
		"system.service": {OS: "linux", Scope: unit.System, Program: "/usr/bin/foldwatch", Account: "foldwatch"},
		"launchd-agent.plist": {
			OS: "darwin", Scope: unit.User, Program: "/opt/homebrew/bin/foldwatch", Account: "ada", Home: "/Users/ada",
			Env: []unit.Var{{Name: "HOME", Value: "/Users/ada"}, {Name: "PATH", Value: "/opt/homebrew/bin:/usr/bin"}},
		},
		"launchd-daemon.plist": {
			OS: "darwin", Scope: unit.System, Program: "/opt/homebrew/bin/foldwatch", Account: "ada", Home: "/Users/ada",
			Env: []unit.Var{{Name: "HOME", Value: "/Users/ada"}},
		},
		"windows-logon.xml": {
			OS: "windows", Scope: unit.User, Program: `C:\Program Files\foldwatch\foldwatch.exe`, Account: `PC\ada`, Home: `C:\Users\ada`,
		},
		"windows-logon-home.xml": {
			OS: "windows", Scope: unit.User, Program: `C:\foldwatch.exe`, Account: `PC\ada`, Home: `C:\Users\ada`, Env: []unit.Var{{Name: "FOLDWATCH_HOME", Value: `D:\fw`}},
		},
	}
}

// TestTextsAreGolden compares every file that makes a service with the one under testdata.
func TestTextsAreGolden(t *testing.T) {
	t.Parallel()
	for name, c := range configs() {
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		path := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(path, []byte(c.Text()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), c.Text()); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
	windows := unit.Config{OS: "windows", Scope: unit.System}
	if got := windows.Text(); got != "" {
		t.Errorf("the service control manager has no file, got %s", got)
	}
}

// TestPackagesBringUnits: those of a package are the templates, with the program's path
// and nothing of a session.
func TestPackagesBringUnits(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, f := range unit.Packaged("/opt/fw/foldwatch") {
		paths = append(paths, f.Path)
		if strings.HasSuffix(f.Path, ".service") && (!strings.Contains(f.Text, `ExecStart="/opt/fw/foldwatch" serve`+"\n") || strings.Contains(f.Text, "PATH=")) {
			t.Errorf("%s:\n%s", f.Path, f.Text)
		}
	}
	want := []string{"/usr/lib/systemd/user/foldwatch.service", "/usr/lib/systemd/system/foldwatch.service", "/usr/lib/sysusers.d/foldwatch.conf"}
	if !slices.Equal(paths, want) {
		t.Errorf("Packaged = %v, want %v", paths, want)
	}
}

// TestValuesAreEscaped: no path adds a line or an element.
func TestValuesAreEscaped(t *testing.T) {
	t.Parallel()
	c := configs()["user.service"]
	c.Program = `/srv/a "b"%c$d\e`
	c.Env = []unit.Var{{Name: "PATH", Value: `/a b"%n\`}}
	for _, want := range []string{`ExecStart="/srv/a \"b\"%%c$$d\\e" serve` + "\n", `Environment="PATH=/a b\"%%n\\"` + "\n"} {
		if !strings.Contains(c.Text(), want) {
			t.Errorf("no %s in\n%s", want, c.Text())
		}
	}
	for _, name := range []string{"launchd-agent.plist", "windows-logon.xml"} {
		c := configs()[name]
		c.Program = `/srv/</string><a>&"`
		for d := xml.NewDecoder(strings.NewReader(c.Text())); ; {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if el, is := tok.(xml.StartElement); err != nil || is && el.Name.Local == "a" {
				t.Fatalf("%s: %v %v\n%s", name, tok, err, c.Text())
			}
		}
	}
}

func TestCheckRefusesWhatNoFileHolds(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"/a\nb", "/a\x7f", "/{{Path}}"} {
		c := configs()["user.service"]
		c.Env = append(c.Env, unit.Var{Name: "XDG_STATE_HOME", Value: bad})
		if err := c.Check(); !errors.Is(err, fold.ErrInvalid) || !strings.Contains(err.Error(), "XDG_STATE_HOME") || !strings.Contains(fold.Hint(err), "unset XDG_STATE_HOME") {
			t.Errorf("Check with %q = %v; hint %s", bad, err, fold.Hint(err))
		}
	}
}

// TestEnvironmentIsWhatTheNextSessionHas: programs, keys, folders and the way into the
// network are recorded, no secret with them; what is left out is named, without its value.
func TestEnvironmentIsWhatTheNextSessionHas(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: the paths are those of unix")
	}
	const home, run = "/home/ada", "/run/user/1000"
	proxy := unit.Var{Name: "HTTPS_PROXY", Value: "http://proxy.example.invalid:3128"}
	for name, tc := range map[string]struct {
		session map[string]string
		want    []unit.Var // after HOME
		left    []string   // each in one sentence
	}{
		"folders and nothing else": {
			map[string]string{"PATH": "/usr/bin:bin:/usr/bin:.:/bin", "AWS_SECRET_ACCESS_KEY": "hush", "FOLDWATCH_HOME": "/srv/fw"},
			[]unit.Var{{Name: "PATH", Value: "/usr/bin:/bin"}, {Name: "FOLDWATCH_HOME", Value: "/srv/fw"}},
			nil,
		},
		"an agent of this session": {map[string]string{"SSH_AUTH_SOCK": "/tmp/ssh-X/agent.7"}, nil, []string{"/tmp/ssh-X/agent.7, which the next session will not have"}},
		"an agent that lasts": {
			map[string]string{"SSH_AUTH_SOCK": run + "/agent"}, []unit.Var{{Name: "SSH_AUTH_SOCK", Value: run + "/agent"}}, nil,
		},
		"proxies": {
			map[string]string{"HTTPS_PROXY": proxy.Value, "http_proxy": "ada:hush@proxy.example.invalid:3128", "NO_PROXY": "me@localhost"},
			[]unit.Var{proxy, {Name: "NO_PROXY", Value: "me@localhost"}},
			[]string{"http_proxy has a login"},
		},
		"several lines": {
			map[string]string{"PATH": "/usr/bin:/opt/a\nb:/bin", "no_proxy": "localhost\n10.0.0.1", "SSL_CERT_FILE": "/etc/\x7fhush.pem"},
			[]unit.Var{{Name: "PATH", Value: "/usr/bin:/bin"}},
			[]string{"no_proxy is left out", "SSL_CERT_FILE is left out"},
		},
	} {
		got, left := unit.Environment(func(name string) string { return tc.session[name] }, home, run)
		if want := append([]unit.Var{{Name: "HOME", Value: home}}, tc.want...); !slices.Equal(got, want) {
			t.Errorf("%s: Environment = %v, want %v", name, got, want)
		}
		if all := strings.Join(left, "\n"); len(left) != len(tc.left) || strings.Contains(all, "hush") {
			t.Errorf("%s: left out %q", name, left)
		}
		for i := range min(len(left), len(tc.left)) {
			if !strings.Contains(left[i], tc.left[i]) {
				t.Errorf("%s: %q, want %q", name, left[i], tc.left[i])
			}
		}
	}
	// Without its folder the service would be another one.
	c := configs()["user.service"]
	if c.Env, _ = unit.Environment(func(string) string { return "/srv/f\nw" }, home, run); c.Check() == nil {
		t.Error("a folder of ours with a line break is taken")
	}
}

// A manager is a systemd that notes what it is told, and answers what the test has it.
type manager struct {
	t    *testing.T
	root string // has /run/systemd/system
	home string
	ran  string // what was run, a line each
}

func newManager(t *testing.T) *manager {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIP: systemd is of Linux")
	}
	m := &manager{t: t, root: t.TempDir(), home: t.TempDir()}
	m.ran = filepath.Join(m.home, "ran")
	if err := os.MkdirAll(filepath.Join(m.root, "run", "systemd", "system"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", m.home)
	t.Setenv("XDG_RUNTIME_DIR", m.home)
	t.Setenv("PATH", m.home+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return m
}

// has the manager show these properties of the unit; "!TEXT" has it fail with TEXT.
func (m *manager) has(properties ...string) {
	m.t.Helper()
	script := "#!/bin/sh\necho \"systemctl $*\" >> " + m.ran + "\ncase \"$*\" in *show*) printf '%s\\n' " + strings.Join(properties, " ") + ";; esac\n"
	if text, fails := strings.CutPrefix(strings.Join(properties, " "), "!"); fails {
		script = "#!/bin/sh\necho '" + text + "'; exit 1\n"
	}
	if err := os.WriteFile(filepath.Join(m.home, "systemctl"), []byte(script), 0o700); err != nil { //nolint:gosec // it must run
		m.t.Fatal(err)
	}
}

// runs are the commands that were run since it was last asked, but for show.
func (m *manager) runs() string {
	b, _ := os.ReadFile(m.ran) // not there: none
	_ = os.Remove(m.ran)
	var lines []string
	for line := range strings.Lines(string(b)) {
		if !strings.Contains(line, " show ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "; ")
}

func (m *manager) open(scope unit.Scope, vars ...unit.Var) *unit.Service {
	m.t.Helper()
	s, err := unit.Open(unit.Config{OS: "linux", Scope: scope, Program: "/usr/bin/foldwatch", Account: "ada", Home: m.home, Env: vars}, m.root)
	if err != nil {
		m.t.Fatal(err)
	}
	return s
}

func (m *manager) unitFile() string {
	return filepath.Join(m.home, ".config", "systemd", "user", "foldwatch.service")
}

// TestUserServiceOfSystemd is installed, brought up to date, and uninstalled without a
// trace.
func TestUserServiceOfSystemd(t *testing.T) {
	m := newManager(t)
	m.has("LoadState=not-found", "ActiveState=inactive", "Result=success")
	s := m.open(unit.User)
	st, err := s.State()
	if err != nil || st.Installed || st.Path != "" {
		t.Errorf("State = %+v, %v", st, err)
	}
	if err := s.Install(); err != nil {
		t.Fatal(err)
	}
	if ran := m.runs(); ran != "systemctl enable --user foldwatch.service; systemctl daemon-reload --user; systemctl --user reset-failed foldwatch.service; systemctl --user start foldwatch.service" {
		t.Errorf("install runs %s", ran)
	}
	if b, err := os.ReadFile(m.unitFile()); err != nil || string(b) != s.Text() {
		t.Errorf("%v\n%s", err, b)
	}

	m.has("LoadState=loaded", "FragmentPath="+m.unitFile(), "ActiveState=active", "UnitFileState=enabled", "MainPID=77", "NRestarts=2", "Result=success", "StatusText=ready")
	st, err = s.State()
	want := unit.State{Installed: true, Path: m.unitFile(), Current: true, State: "active", Enabled: true, PID: 77, Restarts: 2, Says: "ready"}
	if err != nil || st != want {
		t.Errorf("State = %+v, %v, want %+v", st, err, want)
	}
	newer := m.open(unit.User, unit.Var{Name: "PATH", Value: "/opt/bin"})
	if st, err := newer.State(); err != nil || !st.Installed || st.Current {
		t.Errorf("State with another PATH = %+v, %v", st, err)
	}
	if other, err := m.open(unit.User, unit.Var{Name: "FOLDWATCH_HOME", Value: "/srv/fw"}).State(); err != nil || other.Installed {
		t.Errorf("State with other folders = %+v, %v", other, err)
	}
	m.runs()
	if err := newer.Install(); err != nil {
		t.Fatal(err)
	}
	if ran := m.runs(); !strings.Contains(ran, "stop --user foldwatch.service; systemctl disable --user") || !strings.HasSuffix(ran, "start foldwatch.service") {
		t.Errorf("an upgrade runs %s", ran)
	}
	if b, err := os.ReadFile(m.unitFile()); err != nil || string(b) != newer.Text() {
		t.Errorf("%v\n%s", err, b)
	}
	if err := newer.Uninstall(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(m.unitFile()); err == nil {
		t.Error("the unit is left")
	}
}

// TestPackagedUnit: one that nobody enabled is no service; install takes its place, and
// uninstall disables it.
func TestPackagedUnit(t *testing.T) {
	m := newManager(t)
	const brought = "FragmentPath=/usr/lib/systemd/user/foldwatch.service"
	m.has("LoadState=loaded", brought, "ActiveState=inactive", "UnitFileState=disabled", "Result=success")
	s := m.open(unit.User)
	if st, err := s.State(); err != nil || st.Installed || !st.Packaged {
		t.Errorf("State = %+v, %v", st, err)
	}
	m.has("LoadState=loaded", brought, "ActiveState=active", "UnitFileState=enabled", "Result=success")
	if st, err := s.State(); err != nil || !st.Installed || !st.Packaged {
		t.Errorf("State = %+v, %v", st, err)
	}
	m.runs()
	if err := s.Install(); err != nil {
		t.Fatal(err)
	}
	if ran := m.runs(); !strings.Contains(ran, "systemctl --user disable foldwatch.service; systemctl --user reset-failed foldwatch.service; systemctl enable --user") {
		t.Errorf("install beside it runs %s", ran) // a link to the package's unit is in the way of enable
	}
	if err := os.Remove(m.unitFile()); err != nil {
		t.Fatal(err)
	}
	if err := s.Uninstall(); err != nil {
		t.Fatal(err)
	}
	if ran := m.runs(); !strings.Contains(ran, "stop --user foldwatch.service; systemctl --user disable foldwatch.service") {
		t.Errorf("uninstall runs %s", ran)
	}
}

// TestUnitOfTheMachine: it is the package's, which is enabled and disabled.
func TestUnitOfTheMachine(t *testing.T) {
	m := newManager(t)
	m.has("LoadState=not-found", "ActiveState=inactive", "Result=success")
	s := m.open(unit.System)
	if err := s.Install(); !errors.Is(err, fold.ErrNotFound) || !strings.Contains(err.Error(), "comes with the packages") {
		t.Errorf("without a package: %v", err)
	}
	m.has("LoadState=loaded", "FragmentPath=/usr/lib/systemd/system/foldwatch.service", "ActiveState=inactive", "UnitFileState=disabled", "Result=success")
	m.runs()
	if err := errors.Join(s.Install(), s.Uninstall()); err != nil {
		t.Fatal(err)
	}
	if ran := m.runs(); ran != "systemctl enable foldwatch.service; systemctl reset-failed foldwatch.service; systemctl start foldwatch.service; "+
		"systemctl stop foldwatch.service; systemctl disable foldwatch.service; systemctl reset-failed foldwatch.service" {
		t.Errorf("it runs %s", ran)
	}
	if _, err := os.Stat(m.unitFile()); err == nil {
		t.Error("a unit was written")
	}
}

// TestRefusalsSayWhatToDo: where a service manager is missing, out of reach, or told to
// start nothing.
func TestRefusalsSayWhatToDo(t *testing.T) {
	m := newManager(t)
	if _, err := unit.Open(unit.Config{OS: "linux", Scope: unit.User, Home: m.home}, t.TempDir()); !errors.Is(err, fold.ErrUnavailable) || !strings.Contains(fold.Hint(err), "foldwatch up -d") {
		t.Errorf("without systemd: %v; hint %s", err, fold.Hint(err))
	}
	s := m.open(unit.User)
	m.has("!Failed to connect to bus: No medium found")
	if _, err := s.State(); !errors.Is(err, fold.ErrUnavailable) || !strings.Contains(fold.Hint(err), "loginctl enable-linger") {
		t.Errorf("out of reach: %v; hint %s", err, fold.Hint(err))
	}
	m.has("LoadState=masked", "UnitFileState=masked", "ActiveState=inactive", "Result=success")
	if err := s.Install(); !errors.Is(err, fold.ErrConflict) || fold.Hint(err) != "systemctl --user unmask foldwatch.service" {
		t.Errorf("masked: %v; hint %s", err, fold.Hint(err))
	}
}

// TestInstallersMakeTheServiceOfWindows with what starts the daemon under its manager.
func TestInstallersMakeTheServiceOfWindows(t *testing.T) {
	t.Parallel()
	row := unit.PackagedService()
	if row.Arguments != "serve --by scm" || row.Account != unit.WindowsAccount || len(row.Environment) != 1 {
		t.Errorf("PackagedService = %+v", row)
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
	for _, name := range []string{"user.service", "system.service"} {
		dir := t.TempDir()
		c := configs()[name]
		c.Program = "/bin/true" // has to be there
		// So has the account.
		text := strings.ReplaceAll(c.Text(), "User=foldwatch", "User=root")
		if c.Scope == unit.System { // the drop-in that the unit tells of
			drop := filepath.Join(dir, "foldwatch.service.d")
			if err := errors.Join(os.Mkdir(drop, 0o700), os.WriteFile(filepath.Join(drop, "a.conf"), []byte("[Service]\nBindPaths=/srv/app\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(dir, "foldwatch.service")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(analyze(t, "--"+string(c.Scope), "--man=no", "verify", file)) {
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
	file := filepath.Join(t.TempDir(), "foldwatch.service")
	if err := os.WriteFile(file, []byte(configs()["system.service"].Text()), 0o600); err != nil {
		t.Fatal(err)
	}
	out := analyze(t, "security", "--offline=true", "--no-pager", file)
	found := regexp.MustCompile(`exposure level for foldwatch\.service: ([0-9.]+)`).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("no figure in:\n%s", out)
	}
	got, err := strconv.ParseFloat(found[1], 64)
	if err != nil || got > mostExposure {
		t.Errorf("exposure %s, at most %.1f\n%s", found[1], mostExposure, out)
	}
	t.Logf("exposure %s", found[1])
}
