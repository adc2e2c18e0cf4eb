package main

import (
	"fmt"
	"os/user"
	"path/filepath"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// A machineUse says that this program runs as the account of the machine's service.
type machineUse struct {
	spec unit.Spec
	home string // the service's FOLDWATCH_HOME
	same bool   // this program has the folders of the service
}

// machineUnit returns the machine's service and what its file says, if there is one
// on this machine: installed, or brought by a package.
func (app *App) machineUnit() (s unit.Spec, text string, there bool) {
	s, err := app.unitSpec(unitFlags{system: true})
	if err != nil || s.OS == "windows" { // a virtual account there, which nobody logs in as
		return s, "", false
	}
	now, text := app.installed(s)
	return s, text, now.Installed || now.Packaged != ""
}

// machineUse returns how this program uses the machine's service; false if it runs
// as another account, or was told to have folders of its own.
func (app *App) machineUse() (machineUse, bool) {
	s, text, there := app.machineUnit()
	if !there {
		return machineUse{}, false
	}
	me, err := user.Current()
	if err != nil || me.Username != unit.Account(text) {
		return machineUse{}, false
	}
	use := machineUse{spec: s, home: s.State}
	for _, v := range unit.Recorded(text) {
		if v.Name == "FOLDWATCH_HOME" {
			use.home = v.Value
		}
	}
	mine := app.Getenv("FOLDWATCH_HOME")
	use.same = mine != "" && filepath.Clean(mine) == filepath.Clean(use.home)
	return use, use.same || mine == ""
}

// leaveToMachine returns a wire.ErrNoDaemon if no daemon is to be started from here:
// this program runs as the account of the machine's service, and what it starts
// would have none of the bounds of that one.
func (app *App) leaveToMachine() error {
	if _, ours := app.ownUnit(); ours {
		return nil
	}
	use, is := app.machineUse()
	switch {
	case !is:
		return nil
	case !use.same:
		return fold.WithHint(fmt.Errorf("%w with the folders of this session; %s is the account of the machine's service, which has its own in %s",
			wire.ErrNoDaemon, use.spec.Account, use.home), "FOLDWATCH_HOME="+terminal.Quote(use.home)+" foldwatch status")
	}
	return fold.WithHint(fmt.Errorf("%w; %s is the account of the machine's service, which is to run it", wire.ErrNoDaemon, use.spec.Account),
		rootHint("foldwatch service start --system"))
}

// restartHint is how a daemon of another version is replaced.
func (app *App) restartHint() string {
	if use, is := app.machineUse(); is && use.same {
		return rootHint("foldwatch service restart --system")
	}
	return "foldwatch doctor --fix"
}

// rootHint is a command for root, who may have to be asked.
func rootHint(command string) string { return "as root: " + command }

// serviceInUse returns the service whose daemon has this program's folders: the
// user's if one is installed, else the machine's where we are its account.
func (app *App) serviceInUse() (unit.Spec, bool) {
	s, err := app.unitSpec(unitFlags{})
	if err == nil {
		if now, _ := app.installed(s); now.Installed {
			return s, true
		}
	}
	use, is := app.machineUse()
	return use.spec, is && use.same
}
