package unit

import "path"

// Packages returns where packages put the file that makes the daemon a service of
// the spec's kind, the one that the system prefers first; none where they bring
// no file. That at Path goes before them all.
func (s Spec) Packages() []string {
	var dirs []string
	switch {
	case s.OS == "linux" && s.Scope == User:
		dirs = []string{
			"/etc/systemd/user", "/usr/local/share/systemd/user", "/usr/share/systemd/user",
			"/usr/local/lib/systemd/user", "/usr/lib/systemd/user", "/lib/systemd/user",
		}
	case s.OS == "linux":
		dirs = []string{"/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"}
	case s.OS == "darwin" && s.Scope == User:
		return []string{"/Library/LaunchAgents/" + Label + ".plist"} // loaded for each user who logs in
	}
	var files []string
	for _, dir := range dirs {
		files = append(files, path.Join(dir, unitName))
	}
	return files
}

// Wants returns the links by which systemd starts the unit without being told to:
// the first is made by `systemctl enable`, a second by an administrator, for all
// users.
func (s Spec) Wants() []string {
	switch {
	case s.OS != "linux":
		return nil
	case s.Scope == System:
		return []string{path.Join(path.Dir(s.Path()), "multi-user.target.wants", unitName)}
	}
	const link = "default.target.wants/" + unitName
	return []string{path.Join(path.Dir(s.Path()), link), path.Join("/etc/systemd/user", link)}
}

// Disable is the command that keeps the daemon from being started by itself, and of
// systemd also stops it.
func (s Spec) Disable() []string {
	if s.OS == "darwin" {
		return []string{"launchctl", "disable", s.target()}
	}
	return s.systemctl("disable", "--now", unitName)
}

// Unlinger is the command that has the user's services end with the last session.
func (s Spec) Unlinger() []string { return s.linger("disable") }

// Unmask is how a person takes back that the unit may not be started at all.
func (s Spec) Unmask() []string { return s.systemctl("unmask", unitName) }
