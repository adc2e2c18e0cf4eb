package unit

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// What a service is given of a session's environment, as it is when it is installed:
// what finds programs, keys, our own folders and the way into the network. Nothing
// else goes into a file that others may read.
var (
	ways = []string{ // into the network
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
	}
	lasting = append([]string{
		"PATH", "SSH_AUTH_SOCK", "GNUPGHOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH",
		"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "FOLDWATCH_HOME",
	}, ways...)
)

// Lasting returns what of a session's environment the daemon of a user is given, and
// one sentence for what was left out though it would matter, without its values. Of
// PATH it keeps the absolute folders without control characters, once; an agent's socket only if it is there
// after the next login too. Read names further variables of the session that the
// daemon would read.
func Lasting(getenv func(string) string, read []string, home, runtimeDir string) (vars []Var, left []string) {
	var odd []string
	if home != "" {
		vars = append(vars, Var{"HOME", home})
	}
	for _, name := range lasting {
		v := getenv(name)
		if name == "PATH" {
			v = folders(v)
		}
		switch {
		case v == "":
		case hasControls(v) && !isOurs(name):
			odd = append(odd, name)
		case name == "SSH_AUTH_SOCK" && !within(v, home) && !within(v, runtimeDir):
			left = append(left, fmt.Sprintf("SSH_AUTH_SOCK is %s, which the next session will not have; "+
				"give your ssh agent a socket in your home or runtime folder, or use a credential helper", v))
		case hasLogin(name, v):
			left = append(left, loginNote(name, " --user"))
		default:
			vars = append(vars, Var{name, v})
		}
	}
	return vars, append(append(left, oddNotes(odd)...), unread(getenv, read)...)
}

// LastingSystem is Lasting for a service of the system: of the session of who installs
// it, it is given the way into the network only, by files that it sees.
func (s Spec) LastingSystem(getenv func(string) string, read []string) (vars []Var, left []string) {
	var odd []string
	for _, name := range ways {
		v := getenv(name)
		switch {
		case v == "":
		case hasControls(v):
			odd = append(odd, name)
		case hasLogin(name, v):
			left = append(left, loginNote(name, ""))
		case !s.Sees(v):
			left = append(left, fmt.Sprintf("%s is %s, which the service does not see; put it where the machine's files are, such as /etc/ssl", name, v))
		default:
			vars = append(vars, Var{name, v})
		}
	}
	return vars, append(append(left, oddNotes(odd)...), unread(getenv, read)...)
}

// isOurs reports whether a variable says where our own folders are. Without one that
// the session has, the service would be of other folders: Check refuses it instead.
func isOurs(name string) bool {
	return strings.HasPrefix(name, "XDG_") || name == "FOLDWATCH_HOME"
}

// NotShown stands for the value of a variable that we did not record.
const NotShown = "(not shown)"

// Shown returns vars as they may be shown: of those that Lasting does not record,
// which somebody has written into a unit, the names only, and no login.
func Shown(vars []Var) []Var {
	shown := slices.Clone(vars)
	for i, v := range shown {
		if v.Name != "HOME" && !slices.Contains(lasting, v.Name) || hasLogin(v.Name, v.Value) {
			shown[i].Value = NotShown
		}
	}
	return shown
}

// oddNotes tell of variables that no file of a service can hold.
func oddNotes(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return []string{strings.Join(names, ", ") + ": left out, for a line break or another control character; " +
		"give it one line, then run foldwatch service install again"}
}

// hasLogin reports whether a variable names a proxy together with a login there.
func hasLogin(name, value string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "_proxy") && name != "no_proxy" && strings.Contains(value, "@")
}

func loginNote(name, scope string) string {
	return fmt.Sprintf("%s has a login, which is not written where others may read it; give it to git as http.proxy of its configuration, and to the rest by "+
		"EnvironmentFile= of a drop-in, with a file that is the account's alone (systemctl%s edit foldwatch)", name, scope)
}

// unread are the sentences about what a service does not get at all.
func unread(getenv func(string) string, read []string) []string {
	var notes []string
	for _, name := range []string{"GIT_SSH_COMMAND", "GIT_SSH"} {
		if getenv(name) != "" {
			notes = append(notes, name+" is not for foldwatch, which asks git's configuration: git config --global core.sshCommand …")
		}
	}
	if len(read) > 0 {
		notes = append(notes, strings.Join(read, ", ")+": left out, they would stand in a file that others may read; "+
			"a service has its settings in config.toml, and its keys in files that are named there (key_file, secret_file)")
	}
	return notes
}

func folders(list string) string {
	sep := ":"
	absolute := path.IsAbs
	if strings.Contains(list, ";") || len(list) > 1 && list[1] == ':' { // of Windows
		sep = ";"
		absolute = Spec{OS: "windows"}.absolute
	}
	var keep []string
	for d := range strings.SplitSeq(list, sep) {
		if absolute(d) && !hasControls(d) && !slices.Contains(keep, d) {
			keep = append(keep, d)
		}
	}
	return strings.Join(keep, sep)
}

// within reports whether p lies below dir, which may be "".
func within(p, dir string) bool {
	return dir != "" && strings.HasPrefix(p, strings.TrimRight(dir, `/\`)+string(cmp.Or(sepOf(dir), '/')))
}

func sepOf(dir string) rune {
	if strings.Contains(dir, `\`) {
		return '\\'
	}
	return '/'
}
