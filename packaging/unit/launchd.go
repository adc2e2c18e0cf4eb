package unit

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
)

// plist is the property list of launchd: an agent of the user's session, or a
// daemon of the machine. launchd restarts what does not end with 0 and knows no
// code to leave alone, so that `--by launchd` ends with 0 where no restart would
// mend it. The log is a file that foldwatch itself bounds; what a crash prints
// goes beside it.
func (s Spec) plist() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
`)
	text := func(key, value string) {
		fmt.Fprintf(&b, "\t<key>%s</key>\n\t<string>%s</string>\n", key, escape(value))
	}
	number := func(key string, n int) { fmt.Fprintf(&b, "\t<key>%s</key>\n\t<integer>%d</integer>\n", key, n) }
	text("Label", Label)
	if s.Scope == System {
		text("UserName", s.Account)
	}
	b.WriteString("\t<key>ProgramArguments</key>\n\t<array>\n")
	for _, arg := range []string{s.Program, "serve", "--by", "launchd"} {
		fmt.Fprintf(&b, "\t\t<string>%s</string>\n", escape(arg))
	}
	b.WriteString("\t</array>\n\t<key>EnvironmentVariables</key>\n\t<dict>\n")
	for _, v := range s.Env {
		fmt.Fprintf(&b, "\t\t<key>%s</key>\n\t\t<string>%s</string>\n", escape(v.Name), escape(v.Value))
	}
	b.WriteString("\t</dict>\n\t<key>RunAtLoad</key>\n\t<true/>\n" +
		"\t<key>KeepAlive</key>\n\t<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>\n")
	number("ThrottleInterval", 2) // seconds between two starts
	number("ExitTimeOut", 10)
	number("Umask", 0o077)
	text("ProcessType", "Background")
	text("WorkingDirectory", "/")
	text("StandardOutPath", "/dev/null")
	text("StandardErrorPath", s.join(s.logDir(), "daemon.err"))
	b.WriteString("\t<key>SoftResourceLimits</key>\n\t<dict>\n\t\t<key>NumberOfFiles</key>\n\t\t<integer>65536</integer>\n\t</dict>\n")
	b.WriteString("</dict>\n</plist>\n")
	return b.String()
}

// folders are the steps that make the folder of the log, which launchd opens before
// it starts the daemon and makes nowhere. Of the system scope it and the one above
// are the account's, and nobody else's to read; what lies in the account's folder the
// account makes, since root would follow a link there.
func (s Spec) folders() []Step {
	install := []string{"install", "-d", "-m", "0700"}
	if s.Scope != System {
		return []Step{{Run: append(install, s.logDir())}}
	}
	return []Step{
		{Run: append(slices.Clone(install), "-o", s.Account, s.State)},
		{Run: append(append([]string{"sudo", "-n", "-u", s.Account}, install...), s.logDir())},
	}
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes all
	return b.String()
}

// recordedPlist reads the dictionary of EnvironmentVariables.
func recordedPlist(text string) []Var {
	var vars []Var
	var key, inner string
	depth, within := 0, false
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		tok, err := d.Token()
		if err != nil { // at the end, or where it is no plist
			return vars
		}
		switch t := tok.(type) {
		case xml.StartElement:
			inner = ""
			if t.Name.Local == "dict" {
				depth++
				within = depth == 2 && key == "EnvironmentVariables"
			}
		case xml.CharData:
			inner += string(t)
		case xml.EndElement:
			switch t.Name.Local {
			case "dict":
				depth, within = depth-1, false
			case "key":
				key = inner
			case "string":
				if within {
					vars = append(vars, Var{key, inner})
				}
			}
		}
	}
}
