package doctor

import (
	"context"
	"fmt"
)

// What a check may come to.
const (
	OK      = "ok"
	Warn    = "warn"    // works, and may not always
	Fail    = "fail"    // does not work, or is not safe: exit code 7
	Skipped = "skipped" // could not be looked at, or is not there to be
	Fixed   = "fixed"   // failed, and was mended
)

// A Result is what one check came to, about one thing. Number and name are those
// of the check, and never change their meaning.
type Result struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	Status string `json:"status"`         // ok, warn, fail, skipped, fixed
	Text   string `json:"text"`           // what was seen
	Mend   string `json:"mend,omitempty"` // what to do: a command where there is one
	Fix    string `json:"fix,omitempty"`  // what --fix changes, or has changed
	// remedy does what Fix says; nil where a person decides.
	remedy func(ctx context.Context) error
}

// Pass is the result of a check that found nothing wrong.
func Pass(format string, args ...any) Result {
	return Result{Status: OK, Text: fmt.Sprintf(format, args...)}
}

// Warning is about what works, and may not always; mend is what to do.
func Warning(mend, format string, args ...any) Result {
	return Result{Status: Warn, Text: fmt.Sprintf(format, args...), Mend: mend}
}

// Fault is about what does not work, or is not safe; mend is what to do.
func Fault(mend, format string, args ...any) Result {
	return Result{Status: Fail, Text: fmt.Sprintf(format, args...), Mend: mend}
}

// Skip is about what could not be looked at.
func Skip(format string, args ...any) Result {
	return Result{Status: Skipped, Text: fmt.Sprintf(format, args...)}
}

// OrPass returns found, or the one result that all is well where there is none.
func OrPass(found []Result, format string, args ...any) []Result {
	if len(found) == 0 {
		return []Result{Pass(format, args...)}
	}
	return found
}

// remediedBy has --fix mend r, by what does says.
func (r Result) remediedBy(does string, remedy func(ctx context.Context) error) Result {
	r.Fix, r.remedy = does, remedy
	return r
}

// NeedsAction reports whether r is for a person to act on.
func (r Result) NeedsAction() bool { return r.Status == Fail || r.Status == Warn }
