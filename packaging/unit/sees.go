package unit

import (
	"slices"
	"strings"
)

// hidden are the folders in whose place the unit of the system scope has empty ones:
// PrivateTmp and ProtectHome in hardened.
var hidden = []string{"/tmp", "/var/tmp", "/home", "/root", "/run/user"}

// Sees reports whether the service finds on the disk what lies at an absolute path
// without links. Checkouts in hidden folders are bound into its view, see DropIn.
func (s Spec) Sees(p string) bool {
	return s.OS != "linux" || s.Scope != System ||
		!slices.ContainsFunc(hidden, func(dir string) bool { return p == dir || within(p, dir) })
}

// systemFolders are where programs of the machine lie. They are root's to write.
var systemFolders = map[string][]string{
	"linux":  {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"},
	"darwin": {"/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"},
}

// SystemPath returns the PATH of a service of the system: the folders of the machine,
// and where none of them has git the first of list that has it and that the service
// sees. What else is on PATH of who installs it may be another's to write. On Windows
// it is list, without the folders of users.
func (s Spec) SystemPath(list string, hasGit func(dir string) bool) string {
	var given []string
	if p := folders(list); p != "" {
		given = strings.Split(p, s.listSep())
	}
	if s.OS == "windows" {
		given = slices.DeleteFunc(given, func(dir string) bool { return strings.Contains(strings.ToLower(dir), `:\users\`) })
		return strings.Join(given, s.listSep())
	}
	dirs := slices.Clone(systemFolders[s.OS])
	if !slices.ContainsFunc(dirs, hasGit) {
		for _, dir := range given {
			if s.Sees(dir) && hasGit(dir) {
				dirs = append(dirs, dir)
				break
			}
		}
	}
	return strings.Join(dirs, s.listSep())
}

// listSep is what stands between the folders of PATH.
func (s Spec) listSep() string {
	if s.OS == "windows" {
		return ";"
	}
	return ":"
}
