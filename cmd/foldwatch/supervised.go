package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/daemon/notify"
)

// A supervision is what the system that started the daemon gave it, and wants
// told. Its zero value is that of a daemon that a person started.
type supervision struct {
	notifier *notify.Notifier
	ln       *sock.Listener // nil if the daemon opens its own
}

// supervised takes what the system says in the environment, and takes it out of
// there: git and its helpers are not the ones that are meant.
func supervised(getenv func(string) string, log *slog.Logger) (supervision, error) {
	defer func() {
		for _, name := range append(notify.Variables(), sock.InheritedVariables()...) {
			_ = os.Unsetenv(name) // fails only for names that are none
		}
	}()
	n, err := notify.From(getenv, os.Getpid())
	if err != nil {
		return supervision{}, err
	}
	ln, err := sock.Inherited(getenv, os.Getpid(), sock.Options{Log: log})
	return supervision{notifier: n, ln: ln}, err
}

// listen opens the socket at path, or takes the one that was given.
func (s supervision) listen(path string, log *slog.Logger) (*sock.Listener, error) {
	if s.ln != nil {
		return s.ln, nil
	}
	return sock.Listen(path, sock.Options{Log: log})
}

// tell keeps the system informed until ctx ends: that the daemon is ready, by
// its own answer at the socket, that it lives, and that it stops.
func (s supervision) tell(ctx context.Context, socket string, log *slog.Logger) error {
	if s.notifier == nil {
		return nil
	}
	c := client.New(socket)
	ask := func(ctx context.Context) (string, error) {
		st, err := c.Status(ctx)
		return summary(st), err
	}
	status, err := ask(ctx)
	if err == nil {
		err = s.notifier.Ready(status)
	}
	if err == nil {
		err = s.notifier.Watch(ctx, ask)
	}
	if err != nil && ctx.Err() == nil {
		log.WarnContext(ctx, "Cannot tell the system", "err", err)
	}
	<-ctx.Done()
	return s.notifier.Stopping()
}

// summary is the status of the daemon in one line: how many projects there are,
// and how they are.
func summary(st wire.Status) string {
	if len(st.Projects) == 0 {
		return "no projects"
	}
	states := map[string]int{}
	for _, p := range st.Projects {
		states[cmp.Or(p.State, "unknown")]++
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(states)) {
		parts = append(parts, fmt.Sprintf("%d %s", states[state], state))
	}
	return terminal.Plural(len(st.Projects), "project") + ": " + strings.Join(parts, ", ")
}
