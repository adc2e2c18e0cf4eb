package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/doctor"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// reportLines is how much of the log a bug report has.
const reportLines = 1000

// A bugReport is what a stranger may see of this machine. It is made by naming
// what goes in, not by looking for what may not: numbers and truth values, words
// of ours, and for every other text a digest of it under a salt that is thrown
// away, by which equal ones can be told within the report.
type bugReport struct {
	Made    string          `json:"made"`
	Program versionReply    `json:"program"`
	Git     string          `json:"git"`
	Cores   int             `json:"cores"`
	Checks  []reportedCheck `json:"checks"` // of doctor
	Config  []reportedKey   `json:"config"` // that are set
	Service any             `json:"service,omitempty"`
	Status  any             `json:"status,omitempty"`
	Log     []string        `json:"log"`
}

// readItFirst is told to whoever makes a report.
const readItFirst = "it has no name, path, text, address or key of yours; read it before you send it"

type reportedCheck struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	Status string `json:"status"`
}

type reportedKey struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func bugreportCommand(app *App) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "bugreport",
		Short: "Write what a bug report needs into a file, without anything of yours",
		Long: "Writes one JSON file, and prints where: versions, checks, counts, states and the log, without names, paths,\n" +
			"texts, addresses or keys. Read it before you send it.",
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			app.daemon.HideNotices()
			b, err := json.MarshalIndent(newBugReport(cmd.Context(), app), "", "  ")
			if err != nil {
				return err
			}
			b = append(b, '\n')
			if out == "-" {
				app.Messages(false).Printf("%s\n", readItFirst)
				_, err := app.Stdout.Write(b)
				return err
			}
			path, err := reportFile(app, out)
			if err != nil {
				return err
			}
			if err := disk.WriteFile(path, b, 0o600); err != nil {
				return err
			}
			return app.Emit(map[string]any{"file": path, "bytes": len(b)}, func(p terminal.Printer) {
				p.Printf("%s\n", path)
				app.Messages(false).Printf("%s\n", readItFirst)
			})
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "the FILE, or - for standard output (default: foldwatch-bugreport-TIME.json in the state folder)")
	return c
}

// reportFile is where a report goes: to the file that was named, else into the state
// folder, or where that cannot be written into a new folder of our own below that of
// temporary files, in which others may have put a link under a name that they foresee.
// What is here may be a checkout, and take the report along with the next commit.
func reportFile(app *App, named string) (string, error) {
	if named != "" {
		return app.absolute(named)
	}
	name := "foldwatch-bugreport-" + app.now().UTC().Format("20060102-150405") + ".json"
	if dirs, err := app.config.Dirs(); err == nil && local.Writable(dirs.State) == nil {
		return filepath.Join(dirs.State, name), nil
	}
	dir, err := os.MkdirTemp("", "foldwatch-bugreport-*")
	return filepath.Join(dir, name), err
}

func newBugReport(ctx context.Context, app *App) bugReport {
	d := newDigester()
	r := bugReport{
		Made:    app.now().UTC().Format(time.RFC3339),
		Program: versionReply{Version: version, Commit: commit, Go: runtime.Version(), Platform: platform(), Parsers: chunker.Engine()},
		Cores:   runtime.NumCPU(), Checks: []reportedCheck{}, Config: []reportedKey{}, Log: []string{},
	}
	if v, err := exec.CommandContext(ctx, "git", "--version").Output(); err == nil {
		r.Git = regexp.MustCompile(`[0-9]+(\.[0-9]+)+`).FindString(string(v))
	}
	for _, f := range doctor.Run(ctx, app.doctorHost(), false) {
		r.Checks = append(r.Checks, reportedCheck{f.Number, f.Name, f.Status})
	}
	if st, err := app.config.Settings(); err == nil || st.Dirs.State != "" {
		for _, o := range st.Origins {
			if o.From != "default" {
				r.Config = append(r.Config, reportedKey{d.dotted(o.Key), d.text(o.Value)})
			}
		}
		if b, err := os.ReadFile(filepath.Join(st.Dirs.State, "daemon.log")); err == nil {
			r.Log = append(r.Log, d.log(lastOf(b, reportLines))...)
		}
	}
	if s, st, err := app.openService(unit.User); err == nil {
		if u, err := app.serviceReport(ctx, unit.User); err == nil {
			r.Service = d.value(u)
		}
		if command := s.LogCommand(reportLines, false); st.Installed && command != nil {
			if b, err := exec.CommandContext(ctx, command[0], command[1:]...).Output(); err == nil {
				r.Log = append(r.Log, d.log(b)...)
			}
		}
	}
	if c, err := app.daemon.Running(ctx); err == nil && c != nil {
		if st, err := local.Answer(ctx, app.daemon.Timeout, c.Status); err == nil {
			r.Status = d.value(st)
		}
	}
	return r
}

// A digester writes texts that are the user's so that nobody can read them.
type digester struct{ salt string }

// Its salt is of no use outside the report, and nobody can guess it: names are short.
func newDigester() digester { return digester{rand.Text()} }

func (d digester) digest(s string) string {
	sum := sha256.Sum256([]byte(d.salt + "\x00" + s))
	return "~" + hex.EncodeToString(sum[:4])
}

// plainNumber are numbers, times, durations, sizes and truth values.
var plainNumber = later(`^(true|false|-?[0-9]+(\.[0-9]+)?(ns|µs|ms|s|m|h|d|[KMG]?B)?|([0-9]+(\.[0-9]+)?(h|ms|µs|m|s))+|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+))$`)

// text keeps what is a number, and digests the rest.
func (d digester) text(s string) string {
	if s == "" || len(s) < 40 && plainNumber().MatchString(s) {
		return s
	}
	return d.digest(s)
}

// dotted keeps the key of a setting but for the name of a project or provider.
func (d digester) dotted(key string) string {
	parts := strings.Split(key, ".")
	for i, p := range parts[:len(parts)-1] {
		if i+2 < len(parts) && (p == "projects" || p == "providers") {
			// A name may have dots itself: only the last part is surely a key of ours.
			return strings.Join(append(parts[:i+1:i+1], d.digest(strings.Join(parts[i+1:len(parts)-1], ".")), parts[len(parts)-1]), ".")
		}
	}
	return key
}

// spoken are the fields whose values are words of ours, and what such a word
// looks like.
var (
	spoken = []string{"state", "version", "watch", "sync", "manager", "scope", "kind", "source", "file_memories", "vector_index", "history", "mode"}
	word   = later(`^[a-z0-9.+-]{1,30}$`)
)

// value returns v as JSON has it, digested. The
// keys of a table that is no struct are the user's.
func (d digester) value(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var tree any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return nil
	}
	return d.walk("", tree)
}

var fieldName = later(`^[a-z][a-z0-9_]{0,30}$`)

func (d digester) walk(field string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if !fieldName().MatchString(k) {
				out[d.digest(k)] = d.walk("", x)
				continue
			}
			out[k] = d.walk(k, x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = d.walk(field, x)
		}
		return out
	case string:
		if slices.Contains(spoken, field) && word().MatchString(v) {
			return v
		}
		return d.text(v)
	}
	return v // a number, a truth value, nothing
}

// logField is one of a line of our log: name=value, quoted where it must be.
var logField = later(`([A-Za-z_.]+)=("(?:[^"\\]|\\.)*"|\S*)`)

// logLine is how a line of our log begins.
var logLine = later(`^time=[0-9]{4}-[0-9:.TZ+-]+ level=(DEBUG|INFO|WARN|ERROR)\S* msg=`)

// log returns the lines that are ours, with their time, level and sentence, and
// the other fields digested. Sentences are constants of the program.
func (d digester) log(b []byte) []string {
	var out []string
	for line := range strings.Lines(string(b)) {
		i := strings.Index(line, "time=")
		if i < 0 || !logLine().MatchString(line[i:]) {
			continue // what a crash prints, or another program
		}
		var parts []string
		for _, m := range logField().FindAllStringSubmatch(line[i:], -1) {
			name, value := m[1], m[2]
			switch {
			case name == "time" && len(parts) == 0, name == "level" && len(parts) == 1, name == "msg" && len(parts) == 2:
			default:
				value = d.text(value)
			}
			parts = append(parts, name+"="+value)
		}
		if len(parts) >= 3 {
			out = append(out, strings.Join(parts, " "))
		}
	}
	return out
}
