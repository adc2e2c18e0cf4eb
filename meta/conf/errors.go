package conf

import (
	"errors"
	"strconv"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// A SettingsError is all that is wrong with user file, environment and flags: each names
// where it stands, and its hint what to do.
type SettingsError struct{ All []error }

func (e *SettingsError) Error() string {
	lines := make([]string, len(e.All))
	for i, err := range e.All {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

func (e *SettingsError) Unwrap() []error { return e.All }

// Is reports whether target is fold.ErrInvalid: nobody can serve with any of them.
func (e *SettingsError) Is(target error) bool { return target == fold.ErrInvalid }

// ErrorList returns the single things that are wrong by an error of [Load]: nil for none,
// err itself where it is another.
func ErrorList(err error) []error {
	if s, ok := errors.AsType[*SettingsError](err); ok {
		return s.All
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// quoted returns path as a shell takes it for one word.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t'\"$`\\&;()*?[]<>|~#") {
		return strconv.Quote(path)
	}
	return path
}
