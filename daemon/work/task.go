package work

import (
	"slices"
	"time"
)

// A Kind is a kind of task: what users see as the type of a job.
type Kind string

// The kinds of tasks.
const (
	Sweep       Kind = "sweep"       // compare disk with the index
	Source      Kind = "source"      // source files that changed: Paths
	Fold        Kind = "fold"        // memory files that changed: Paths, relative to fold/
	Tip         Kind = "tip"         // the default branch moved, or what is described of the work tree
	Embed       Kind = "embed"       // vectors of what changed
	Measure     Kind = "measure"     // what the vectors of a model are worth
	Describe    Kind = "describe"    // descriptions that older rules made
	Retry       Kind = "retry"       // files that an attempt failed on
	Consolidate Kind = "consolidate" // compare memories with each other
)

// ForSearch reports whether tasks of the kind change what search finds by words.
func (k Kind) ForSearch() bool {
	return !slices.Contains([]Kind{Embed, Measure, Describe, Consolidate}, k)
}

// Priorities of tasks; the larger goes first.
const (
	Urgent = 100 // a save, a write by the API: somebody waits
	Soon   = 50
	Later  = 10
)

// A Task says what is to be done. Tasks of one kind that wait become one, which
// does at least what each of them asks for.
type Task struct {
	Kind     Kind
	Priority int
	Paths    []string
	At       time.Time // not before; zero for at once

	AtStart bool // a sweep that nobody asked for: a pause may put it off
	Full    bool // a sweep that also describes what was deleted by hand
	History int  // a sweep that remembers that many past commits
	Moved   bool // the tip moved, not only files of the work tree
	All     bool // a retry of what no further attempt is made at by itself, too
}

// joins reports whether t is done with a task that waits. Polled folders do not hold
// up a save: paths of different priority stay apart.
func (t Task) joins(waiting Task) bool {
	return t.Kind == waiting.Kind && (len(t.Paths) == 0 || t.Priority == waiting.Priority)
}

// with returns the task that does what t and more ask for.
func (t Task) with(more Task) Task {
	t.Priority = max(t.Priority, more.Priority)
	if more.At.Before(t.At) {
		t.At = more.At
	}
	t.AtStart = t.AtStart && more.AtStart
	t.Full = t.Full || more.Full
	t.History = max(t.History, more.History)
	t.Moved = t.Moved || more.Moved
	t.All = t.All || more.All
	return t
}
