// Package help makes the pages of the manual from the command tree.
package help

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A Page is one page of section 1, in roff with the macros of man(7).
type Page struct {
	Name string // of the page, such as foldwatch-search
	Text string
}

// Pages returns the page of the program and one for each of its commands,
// with their subcommands. The same tree and date give the same bytes.
func Pages(root *cobra.Command, date string) []Page {
	pages := []Page{{root.Name(), overviewPage(root, date)}}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			pages = append(pages, Page{root.Name() + "-" + c.Name(), commandPage(c, date)})
		}
	}
	return pages
}

func overviewPage(root *cobra.Command, date string) string {
	r := newRoff(root.Name(), root.Short, date)
	r.section("SYNOPSIS")
	r.line(`\fBfoldwatch\fP \fICOMMAND\fP [\fIOPTION\fP]...`)
	r.section("DESCRIPTION")
	r.prose(root.Long)
	list := func(title, group string) {
		r.section(title)
		for _, c := range root.Commands() {
			if c.IsAvailableCommand() && c.GroupID == group {
				r.item(`\fBfoldwatch\-`+roffEscape(c.Name())+`\fP(1)`, c.Short)
			}
		}
	}
	for _, g := range root.Groups() {
		list("COMMANDS: "+strings.ToUpper(g.Title), g.ID)
	}
	list("OTHER COMMANDS", "")
	r.section("OPTIONS")
	r.flags(root.PersistentFlags())
	r.section("EXIT STATUS")
	for _, c := range []struct{ code, means string }{
		{"0", "ok"},
		{"1", "failure"},
		{"2", "usage or configuration"},
		{"3", "no daemon runs"},
		{"4", "not found"},
		{"5", "conflict"},
		{"6", "not allowed"},
		{"7", "something is degraded"},
	} {
		r.item(c.code, c.means)
	}
	r.section("FILES")
	r.item(`\fIfold/\fP`, "the memories of a checkout, one markdown file each")
	r.item(`\fI~/.config/foldwatch/config.toml\fP`, "the user file; `foldwatch config show --origin` prints what counts")
	r.item(`\fI~/.local/state/foldwatch\fP`, "indexes and caches, which are made again when they are gone; and the log, daemon.log")
	r.section("ENVIRONMENT")
	r.item("FOLDWATCH_HOME", "one folder for all of it: configuration, state, data, caches, socket")
	r.item("FOLDWATCH_PROJECT", "the project that is meant where --project does not say")
	r.section("SEE ALSO")
	r.line(`\fBgit\fP(1), https://github.com/foldwatch/foldwatch`)
	return r.String()
}

func commandPage(c *cobra.Command, date string) string {
	r := newRoff("foldwatch-"+c.Name(), c.Short, date)
	subs := func(visit func(*cobra.Command)) {
		for _, s := range c.Commands() {
			if s.IsAvailableCommand() {
				visit(s)
			}
		}
	}
	r.section("SYNOPSIS")
	if c.HasAvailableSubCommands() {
		subs(func(s *cobra.Command) { r.synopsis(s) })
	} else {
		r.synopsis(c)
	}
	r.section("DESCRIPTION")
	r.about(c)
	subs(func(s *cobra.Command) {
		r.section("FOLDWATCH " + strings.ToUpper(strings.TrimPrefix(s.CommandPath(), "foldwatch ")))
		r.about(s)
		r.flags(s.LocalFlags())
	})
	r.section("OPTIONS")
	r.flags(c.LocalFlags())
	r.line(`For those of every command see \fBfoldwatch\fP(1).`)
	var examples []string
	for _, s := range append([]*cobra.Command{c}, c.Commands()...) {
		if s.Example != "" {
			examples = append(examples, s.Example)
		}
	}
	if len(examples) > 0 {
		r.section("EXAMPLES")
		r.verbatim(strings.Join(examples, "\n"))
	}
	r.section("SEE ALSO")
	r.line(`\fBfoldwatch\fP(1)`)
	return r.String()
}

// A roff collects one page.
type roff struct{ b strings.Builder }

func newRoff(name, short, date string) *roff {
	r := &roff{}
	r.line(fmt.Sprintf(`.TH "%s" "1" "%s" "foldwatch" "foldwatch"`, roffEscape(strings.ToUpper(name)), date))
	r.line(".nh\n.ad l")
	r.section("NAME")
	r.line(roffEscape(name) + ` \- ` + roffEscape(short))
	return r
}

func (r *roff) String() string { return r.b.String() }

func (r *roff) line(s string) { r.b.WriteString(s + "\n") }

func (r *roff) section(title string) { r.line(`.SH "` + roffEscape(title) + `"`) }

func (r *roff) item(tag, text string) { r.line(".TP\n" + tag + "\n" + roffEscape(text)) }

func (r *roff) synopsis(c *cobra.Command) {
	use := strings.TrimSuffix(strings.TrimPrefix(c.UseLine(), c.CommandPath()), " [flags]")
	r.line(`\fB` + roffEscape(c.CommandPath()) + `\fP` + roffEscape(use) + ` [\fIOPTION\fP]...` + "\n.br")
}

// about is what a command says of itself: at length where it does.
func (r *roff) about(c *cobra.Command) {
	if c.Long == "" {
		r.prose(c.Short + ".")
		return
	}
	r.prose(c.Long)
}

// prose sets paragraphs; lines that are indented stay as they are.
func (r *roff) prose(text string) {
	for i, part := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			r.line(".PP")
		}
		if strings.HasPrefix(part, " ") || strings.Contains(part, "\n ") {
			r.verbatim(part)
			continue
		}
		r.line(roffEscape(part))
	}
}

func (r *roff) verbatim(text string) { r.line(".nf\n" + roffEscape(text) + "\n.fi") }

func (r *roff) flags(set *pflag.FlagSet) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		tag := `\fB` + roffEscape("--"+f.Name) + `\fP`
		if f.Shorthand != "" {
			tag = `\fB` + roffEscape("-"+f.Shorthand) + `\fP, ` + tag
		}
		value, text := pflag.UnquoteUsage(f)
		if value != "" {
			tag += ` \fI` + roffEscape(value) + `\fP`
		}
		if !strings.Contains(text, "default") && f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && f.DefValue != "0s" {
			text += " (default " + f.DefValue + ")"
		}
		r.item(tag, text)
	})
}

// roffEscape makes text that roff sets as it stands: its escapes, its hyphens,
// which programs are asked for by, and lines that would be its requests.
func roffEscape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
