package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Exit codes that no kind of error of the handlers stands for; wire.Kinds has the
// others.
const (
	exitOK       = 0
	exitUsage    = 2
	exitDegraded = 7
)

var (
	// errDegraded says that something needs a person (doctor, status --check).
	errDegraded = errors.New("degraded")
	// errShown marks an error whose text was printed already: only its code
	// counts.
	errShown = errors.New("shown")
)

// A usageError is a command line that cannot be understood or carried out as
// it stands.
type usageError struct{ err error }

func (u *usageError) Error() string { return u.err.Error() }
func (u *usageError) Unwrap() error { return u.err }

func usage(err error, hint string) error {
	return fold.WithHint(&usageError{err}, hint)
}

func usagef(hint, format string, args ...any) error {
	return usage(fmt.Errorf(format, args...), hint)
}

// exitCode maps an error to the code that scripts see.
func exitCode(err error) int {
	var u *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &u):
		return exitUsage
	case errors.Is(err, errDegraded):
		return exitDegraded
	}
	return wire.KindOf(err).Exit
}

// final reports whether a daemon that ended with err would end so again, until a
// person has done something: bad configuration; a second daemon, or newer state.
func final(err error) bool {
	code := exitCode(err)
	return code == exitUsage || code == wire.KindOf(fold.ErrConflict).Exit
}

// report tells a person what went wrong and what to do about it.
func (app *App) report(err error) {
	text := err.Error()
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	p := app.Messages(true)
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if i == 0 {
			p.Printf("foldwatch: %s\n", line)
			continue
		}
		p.Printf("  %s\n", line)
	}
	if hint := fold.Hint(err); hint != "" {
		p.Printf("hint: %s\n", hint)
	}
}
