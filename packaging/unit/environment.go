package unit

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// recorded are the variables of a session that a service is given as they are when it
// is installed: what finds programs, keys, our own folders and the way into the
// network. Nothing else goes into a file that others may read.
var recorded = []string{
	"PATH", "SSH_AUTH_SOCK", "GNUPGHOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH",
	"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "FOLDWATCH_HOME",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
}

// Environment returns what of a session's environment the daemon of a user is given,
// and a sentence for each variable that is left out though it would matter, without its
// value. Of PATH it keeps the absolute folders, once; an agent's socket only if it is
// there after the next login too.
func Environment(getenv func(string) string, home, runtimeDir string) (vars []Var, left []string) {
	vars = append(vars, Var{"HOME", home})
	for _, name := range recorded {
		v := getenv(name)
		if name == "PATH" {
			v = folders(v)
		}
		// Without the folders of ours that the session has, the service would be
		// another one: Check refuses those with a line break.
		ours := strings.HasPrefix(name, "XDG_") || name == "FOLDWATCH_HOME"
		switch {
		case v == "":
		case unfit(v) && !ours:
			left = append(left, name+" is left out, for a line break or another control character")
		case name == "SSH_AUTH_SOCK" && !within(v, home) && !within(v, runtimeDir):
			left = append(left, fmt.Sprintf("SSH_AUTH_SOCK is %s, which the next session will not have; "+
				"give your ssh agent a socket in your home or runtime folder, or use a credential helper", v))
		case strings.HasSuffix(strings.ToLower(name), "_proxy") && !strings.EqualFold(name, "no_proxy") && strings.Contains(v, "@"):
			left = append(left, name+" has a login, which is not written where others may read it; give it to git as http.proxy of its configuration, "+
				"and to the rest by EnvironmentFile= of a drop-in (systemctl --user edit foldwatch)")
		default:
			vars = append(vars, Var{name, v})
		}
	}
	return vars, left
}

// folders returns the absolute folders of a PATH, each once.
func folders(list string) string {
	var keep []string
	for _, dir := range filepath.SplitList(list) {
		if filepath.IsAbs(dir) && !unfit(dir) && !slices.Contains(keep, dir) {
			keep = append(keep, dir)
		}
	}
	return strings.Join(keep, string(filepath.ListSeparator))
}

// within reports whether p lies below dir, which may be "".
func within(p, dir string) bool {
	return dir != "" && strings.HasPrefix(p, strings.TrimRight(dir, `/\`)+string(filepath.Separator))
}
