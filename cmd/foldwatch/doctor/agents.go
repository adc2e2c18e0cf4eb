package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/agents"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
)

// checkAgents looks whether the entries that setup wrote into agents' files are
// still what it would write: of this program, at this place.
func checkAgents(_ context.Context, x *exam) []Result {
	opt, err := x.host.Agents()
	if err != nil {
		return []Result{Skip("%v", err)}
	}
	var found []Result
	var have []string
	for _, c := range agents.List() {
		if !c.Known() {
			continue
		}
		state, err := agents.Check(c.ID, opt)
		switch {
		case err != nil:
			if local.Exists(c.File(opt)) {
				found = append(found, Warning("mend "+terminal.Quote(c.File(opt))+", then: foldwatch setup "+c.ID, "%s: %v", c.Name, err))
			}
		case state == agents.Different && namesProgram(c.File(opt), opt.Command):
			have = append(have, c.Name+" (with arguments of your own)")
		case state == agents.Different:
			f := Warning("foldwatch setup "+c.ID, "%s starts a foldwatch that lies elsewhere: %s", c.Name, c.File(opt))
			// A program that can be run may be meant, and one that was only built to
			// be tried is gone tomorrow.
			if its := agents.Program(c.ID, opt); its != "" && !local.Runnable(its) && !isTemporary(opt.Command) {
				f = f.remediedBy("write the entry in "+c.File(opt)+" anew (a copy of the file is kept)", func(context.Context) error {
					_, err := agents.Install(c.ID, opt)
					return err
				})
			}
			found = append(found, f)
		case state == agents.Installed:
			have = append(have, c.Name)
		}
	}
	if len(have) == 0 {
		return OrPass(found, "none is connected; to connect one: foldwatch setup CLIENT")
	}
	return OrPass(found, "%s", strings.Join(have, ", "))
}

// isTemporary reports whether path lies where what was put is soon gone, such as what
// go run builds.
func isTemporary(path string) bool {
	real := func(path string) string {
		if to, err := filepath.EvalSymlinks(path); err == nil {
			return to
		}
		return path
	}
	return slices.ContainsFunc([]string{os.TempDir(), "/tmp", "/var/tmp"}, func(dir string) bool {
		rel, err := filepath.Rel(real(dir), real(path))
		return err == nil && filepath.IsLocal(rel)
	})
}

// namesProgram reports whether the file at path names the program: what else the
// entry says is then the user's.
func namesProgram(path, program string) bool {
	b, err := os.ReadFile(path)
	quoted, _ := json.Marshal(program) // a string always can be
	return err == nil && (bytes.Contains(b, []byte(program)) || bytes.Contains(b, quoted))
}
