package unit

import (
	"embed"
	"encoding/xml"
	"fmt"
	"strings"
	"text/template"
)

//go:embed user.service system.service launchd.plist logon.xml
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"command": command, "quote": quote, "xml": xmlText, "arguments": Config.arguments,
}).ParseFS(files, "*.service", "*.plist", "*.xml"))

// Text returns the file by which the system starts the daemon; "" for the service
// control manager of Windows, which has none.
func (c Config) Text() string {
	switch {
	case c.OS == "darwin":
		return c.fill("launchd.plist")
	case c.OS == "windows" && c.Scope == User:
		return c.fill("logon.xml")
	case c.OS == "windows":
		return ""
	}
	return c.fill(string(c.Scope) + ".service")
}

func (c Config) fill(name string) string {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name, c); err != nil {
		panic(err) // the templates are ours, and know the fields
	}
	return b.String()
}

// quote writes a variable as systemd reads it back; see systemd.syntax(7).
func quote(v Var) string { return quoted(v.Name + "=" + v.Value) }

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(s) + `"`
}

// command is the first word of a command line of systemd, where $ counts too.
func command(s string) string { return strings.ReplaceAll(quoted(s), "$", "$$") }

func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes all
	return b.String()
}

// arguments are those of conhost, which keeps the program of a task from opening a
// window. A task gives no environment: FOLDWATCH_HOME is set by cmd first, and the
// session has everything else.
func (c Config) arguments() string {
	for _, v := range c.Env {
		if v.Name == "FOLDWATCH_HOME" {
			return fmt.Sprintf(`--headless cmd.exe /d /c "set "%s=%s" && "%s" serve --by task"`, v.Name, v.Value, c.Program)
		}
	}
	return fmt.Sprintf(`--headless "%s" serve --by task`, c.Program)
}

// A File is one that a package brings.
type File struct{ Path, Text string }

// Packaged returns the files by which a package for Linux makes program known to
// systemd; nothing is enabled by them.
func Packaged(program string) []File {
	user, system := Config{OS: "linux", Scope: User, Program: program}, Config{OS: "linux", Scope: System, Program: program}
	return []File{
		{"/usr/lib/systemd/user/" + unitName, user.Text()},
		{"/usr/lib/systemd/system/" + unitName, system.Text()},
		{"/usr/lib/sysusers.d/" + Name + ".conf", fmt.Sprintf("u %s - \"foldwatch daemon\" %s\n", Name, SystemHome("linux"))},
	}
}

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

// PackagedService returns the service of the machine that packages for Windows bring.
func PackagedService() ServiceRow {
	return ServiceRow{
		Name: Name, Description: description, Arguments: strings.Join(scmArguments(), " "), Account: WindowsAccount,
		Environment: []Var{{"FOLDWATCH_HOME", SystemHome("windows")}},
	}
}

// WindowsAccount is whom the machine's daemon runs as on Windows: a virtual account,
// which needs no password.
const WindowsAccount = `NT SERVICE\` + Name
