package main

import (
	"errors"
	"fmt"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/doctor"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/packaging/unit"
)

// checkService looks whether the service of these folders runs, is as it would be
// installed now, and has the daemon that answers.
func (app *App) checkService(running *wire.Status) []doctor.Result {
	scope := unit.User
	if app.daemon.Service.OfRoot() {
		scope = unit.System
	}
	install := "foldwatch service install" + scopeFlag(scope)
	s, st, err := app.openService(scope)
	switch {
	case errors.Is(err, fold.ErrUnavailable) && !st.Installed:
		return []doctor.Result{doctor.Pass("none is installed, and none can be: %v", err)}
	case err != nil:
		return []doctor.Result{doctor.Warning("log in as the user whose service it is", "the service manager does not answer: %v", err)}
	case !st.Installed && st.Packaged:
		return []doctor.Result{doctor.Pass("a package brought %s, which nobody has enabled; to have the daemon started: %s", st.Path, install)}
	case !st.Installed:
		return []doctor.Result{doctor.Pass("none is installed; to have the daemon after each login: %s", install)}
	}
	var found []doctor.Result
	older := running != nil && local.Older(fullVersion(), running.Version)
	if !st.Packaged && !st.Current && st.Path != "" && !older {
		found = append(found, doctor.Warning(install, "this session would install it otherwise (program, environment or version)"))
	}
	switch {
	case st.State == "failed":
		found = append(found, doctor.Fault(fmt.Sprintf("foldwatch service logs%[1]s, then: foldwatch service restart%[1]s", scopeFlag(scope)), "it has failed: %s, exit code %d", st.Result, st.Code))
	case running != nil && st.PID > 0 && running.PID != st.PID:
		found = append(found, doctor.Fault("foldwatch service restart"+scopeFlag(scope), "the daemon that answers is pid %d, the service's is %d", running.PID, st.PID))
	case !st.Enabled:
		found = append(found, doctor.Warning(install, "it is installed, and not started by itself"))
	}
	return doctor.OrPass(found, "%s, %s", s.Manager(), st.Path)
}
