package main

import (
	"context"
	"fmt"
)

// What a check may come to.
const (
	isOK      = "ok"
	isWarn    = "warn"    // works, and may not always
	isFail    = "fail"    // does not work, or is not safe: exit code 7
	isSkipped = "skipped" // could not be looked at, or is not there to be
	isFixed   = "fixed"   // failed, and was mended by --fix
)

// A finding is what one check came to, about one thing. Number and name are those
// of the check, and never change their meaning.
type finding struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	Status string `json:"status"`         // ok, warn, fail, skipped, fixed
	Text   string `json:"text"`           // what was seen
	Mend   string `json:"mend,omitempty"` // what to do: a command where there is one
	Fix    string `json:"fix,omitempty"`  // what --fix changes, or has changed
	// fix does what Fix says; nil where a person decides.
	fix func(ctx context.Context) error
}

func ok(format string, args ...any) finding {
	return finding{Status: isOK, Text: fmt.Sprintf(format, args...)}
}

func warn(mend, format string, args ...any) finding {
	return finding{Status: isWarn, Text: fmt.Sprintf(format, args...), Mend: mend}
}

func fail(mend, format string, args ...any) finding {
	return finding{Status: isFail, Text: fmt.Sprintf(format, args...), Mend: mend}
}

func skipped(format string, args ...any) finding {
	return finding{Status: isSkipped, Text: fmt.Sprintf(format, args...)}
}

// fixedBy has --fix mend f, by what does says.
func (f finding) fixedBy(does string, fix func(ctx context.Context) error) finding {
	f.Fix, f.fix = does, fix
	return f
}

// needsAction reports whether f is for a person to read.
func (f finding) needsAction() bool { return f.Status == isFail || f.Status == isWarn }

// orOK returns found, or the one finding that all is well where there is none.
func orOK(found []finding, format string, args ...any) []finding {
	if len(found) == 0 {
		return []finding{ok(format, args...)}
	}
	return found
}
