package unit

import (
	"context"
	"os"

	"github.com/kardianos/service"
)

// RunSCM runs the daemon for the service control manager of Windows, which started this
// program and stops it. An error that a restart may mend ends the process, which is how
// Windows knows that one is due; a final one stops the service.
func RunSCM(ctx context.Context, run func(context.Context) error, final func(error) bool) error {
	svc, err := service.New(&program{ctx: ctx, run: run, final: final}, &service.Config{Name: Name})
	if err != nil {
		return err
	}
	return svc.Run()
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
