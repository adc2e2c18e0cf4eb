package unit

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kardianos/service"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// config is the service as Windows has it. The account is by default a virtual
// one, which needs no password.
func (s Spec) config() *service.Config {
	vars := map[string]string{}
	for _, v := range s.Env {
		vars[v.Name] = v.Value
	}
	return &service.Config{
		Name: Name, DisplayName: Name, Description: scmDescription,
		Executable: s.Program, Arguments: scmArguments(), UserName: s.Account, EnvVars: vars,
		Option: service.KeyValue{
			service.StartType: service.ServiceStartAutomatic, "DelayedAutoStart": true,
			service.OnFailure: service.OnFailureRestart, service.OnFailureDelayDuration: "1s", service.OnFailureResetPeriod: 300,
		},
	}
}

// scm speaks to the service control manager.
func (m Machine) scm(verb string) error {
	svc, err := service.New(&program{}, m.Spec.config())
	if err != nil {
		return err
	}
	err = service.Control(svc, verb)
	if errors.Is(err, os.ErrPermission) {
		return fold.WithHint(fmt.Errorf("%s: %w", verb, fold.ErrForbidden), "run this in a terminal of an administrator")
	}
	return err
}

// SCM reports how the service is, as the service control manager has it, and
// whether it knows it.
func (s Spec) SCM() (State, bool) {
	svc, err := service.New(&program{}, s.config())
	if err != nil {
		return State{}, false
	}
	st, err := svc.Status()
	switch {
	case err != nil:
		return State{}, false
	case st == service.StatusRunning:
		return State{State: "active", Enabled: true}, true
	}
	return State{State: "inactive", Enabled: true}, true
}

// RunSCM runs the daemon under the service control manager, if that is what
// started this program; asked says whether it is. An error that a restart may
// mend ends the process, which is how Windows knows that one is due; others stop
// the service.
func RunSCM(ctx context.Context, run func(context.Context) error, final func(error) bool) (asked bool, err error) {
	if service.Interactive() {
		return false, nil
	}
	p := &program{ctx: ctx, run: run, final: final}
	svc, err := service.New(p, Spec{}.config())
	if err != nil {
		return true, err
	}
	return true, svc.Run()
}

// A program is the daemon as the service control manager starts and stops it.
type program struct {
	ctx   context.Context //nolint:containedctx // Start and Stop are called without one
	run   func(context.Context) error
	final func(error) bool
	stop  context.CancelFunc
	ended chan struct{}
}

// Start must return at once.
func (p *program) Start(svc service.Service) error {
	ctx, stop := context.WithCancel(p.ctx)
	p.stop, p.ended = stop, make(chan struct{})
	go func() {
		defer close(p.ended)
		err := p.run(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !p.final(err) {
			os.Exit(1)
		}
		go func() { _ = svc.Stop() }() // comes back to Stop below
	}()
	return nil
}

// Stop waits for the daemon's end.
func (p *program) Stop(service.Service) error {
	p.stop()
	<-p.ended
	return nil
}
