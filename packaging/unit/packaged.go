package unit

import "strings"

// PackagedAccount is whom the machine's daemon of a package runs as.
const PackagedAccount = Name

// packagedHeader begins the units that packages bring. `service install` writes one of its
// own, which systemd prefers.
const packagedHeader = "# Of the package: `systemctl{systemctl} enable --now foldwatch` starts it.\n" +
	"# `foldwatch service install{scope}` writes a unit that takes its place, with what\n" +
	"# your environment has. Put changes of your own into a drop-in:\n" +
	"# systemctl{systemctl} edit foldwatch\n\n"

// Packaged returns the files by which a package for Linux makes program, an
// absolute path, known to systemd: nothing is enabled by them. Paths are
// absolute; each step writes a file.
func Packaged(program string) []Step {
	machine := Spec{
		OS: "linux", Scope: System, Program: program, Account: PackagedAccount, Home: SystemState("linux"), State: SystemState("linux"),
		Env: []Var{{"HOME", SystemState("linux")}, {"FOLDWATCH_HOME", SystemState("linux")}},
	}
	_, sysusers := machine.sysusers()
	return []Step{
		{Write: "/usr/lib/systemd/user/" + unitName, Text: Spec{OS: "linux", Scope: User, Program: program}.userUnit(packagedHeader)},
		{Write: "/usr/lib/systemd/system/" + unitName, Text: machine.systemUnit(packagedHeader)},
		{Write: "/usr/lib/sysusers.d/" + Name + ".conf", Text: sysusers},
	}
}

const scmDescription = "Memory of projects and their agents, in git"

// scmArguments are those with which the service control manager starts us.
func scmArguments() []string { return []string{"serve", "--by", "scm"} }

// A ServiceRow is the service that an installer for Windows makes, and does not
// start: `foldwatch service start --system` does.
type ServiceRow struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Arguments   string `json:"arguments"`
	Account     string `json:"account"`
	Environment []Var  `json:"environment"`
}

// PackagedService returns the service of the machine that packages for Windows
// bring.
func PackagedService() ServiceRow {
	return ServiceRow{
		Name: Name, Description: scmDescription, Arguments: strings.Join(scmArguments(), " "), Account: `NT SERVICE\` + Name,
		Environment: []Var{{"FOLDWATCH_HOME", SystemState("windows")}},
	}
}
