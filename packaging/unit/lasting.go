package unit

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// lasting are the variables that a service is given as they are when it is
// installed: those that find programs, keys and our own folders. Nothing else
// goes into a file that others may read.
var lasting = []string{
	"PATH", "SSH_AUTH_SOCK", "GIT_CONFIG_GLOBAL",
	"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "FOLDWATCH_HOME",
}

// Lasting returns what of a session's environment the daemon is given, and one
// sentence for each variable that was left out though it would matter. Of PATH
// it keeps the absolute folders, once; an agent's socket only if it is there
// after the next login too.
func Lasting(getenv func(string) string, home, runtimeDir string) (vars []Var, left []string) {
	if home != "" {
		vars = append(vars, Var{"HOME", home})
	}
	for _, name := range lasting {
		v := getenv(name)
		if v == "" {
			continue
		}
		switch name {
		case "PATH":
			v = folders(v)
		case "SSH_AUTH_SOCK":
			if !within(v, home) && !within(v, runtimeDir) {
				left = append(left, fmt.Sprintf("SSH_AUTH_SOCK is %s, which the next session will not have; "+
					"give your ssh agent a socket in your home or runtime folder, or use a credential helper", v))
				continue
			}
		}
		vars = append(vars, Var{name, v})
	}
	return vars, left
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
		if absolute(d) && !slices.Contains(keep, d) {
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
