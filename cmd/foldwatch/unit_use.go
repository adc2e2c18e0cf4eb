package main

import (
	"context"
	"time"

	"github.com/foldwatch/foldwatch/packaging/unit"
)

// ownUnit returns this user's service, if one is installed that has its folders
// where this program has them.
func (e *environment) ownUnit() (unit.Spec, bool) {
	s, err := e.unitSpec(unitFlags{})
	if err != nil {
		return s, false
	}
	now, text := e.installed(s)
	if !now.Installed {
		return s, false
	}
	home := ""
	for _, v := range unit.Recorded(text) {
		if v.Name == "FOLDWATCH_HOME" {
			home = v.Value
		}
	}
	return s, s.OS == "windows" || home == e.getenv("FOLDWATCH_HOME")
}

// asService reports whether the daemon is a service's to run.
func (e *environment) asService() bool {
	_, ours := e.ownUnit()
	return ours
}

// unitPatience bounds the wait for a service manager that does not answer.
const unitPatience = 10 * time.Second

// startService has the service's daemon started, and returns when it answers; nil
// if no service is installed, or the manager cannot be reached from here: a
// daemon of our own is better than none.
func (e *environment) startService(ctx context.Context) (daemonClient, error) {
	s, ours := e.ownUnit()
	if !ours {
		return nil, nil
	}
	within, cancel := context.WithTimeout(ctx, unitPatience)
	defer cancel()
	if err := (unit.Machine{Spec: s}).Apply(within, s.Control("start")); err != nil {
		e.messages(false).printf("foldwatch: the service cannot be started from here (%v); a daemon of its own is\n", err)
		return nil, nil
	}
	if err := e.awaitUnit(ctx, s); err != nil {
		return nil, err
	}
	return e.running(ctx)
}
