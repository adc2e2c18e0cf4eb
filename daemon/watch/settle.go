package watch

import (
	"slices"
	"time"
)

// A Batch is what may have changed since the last one.
type Batch struct {
	// Paths are sorted, with forward slashes, relative to the root; those of
	// an extra tree begin with its prefix. A path may be gone, and may be a
	// directory that came or went: then everything below it is meant too.
	Paths []string
	// Reconcile says that events were lost, or may have been: compare
	// everything with the disk. Paths may still hold what is known.
	Reconcile bool
	// Reason says why Reconcile is set: overflow, sweep, polling, restart,
	// lost watch, too many paths. Several are joined by ", ".
	Reason string
	// Dirs narrows a Reconcile that has the one reason "polling" to these
	// directories, relative as Paths are; nil is everything.
	Dirs []string
	// Git says that HEAD, a ref, the index or the state of a merge moved.
	Git bool
}

const (
	// lonePaths is how many paths may change together and still count as a
	// lone save: an editor's temporary, backup and real file, and those of a
	// formatter after it.
	lonePaths = 8
	// loneBursts is how many lone batches may follow each other within the
	// quiet time before they count as a storm.
	loneBursts = 3
)

// A settler collects changes until they are quiet. A lone save is due after a
// short time; what looks like a storm (many paths, or no pause, or one save
// after the other) when it has been quiet for longer, or at most after max. It
// holds no clock: now is always the caller's. Not safe for concurrent use.
type settler struct {
	lone, quiet, max time.Duration
	limit            int // more paths than this become a Reconcile

	paths   map[string]struct{}
	git     bool
	reasons []string
	polled  []string // directories of the reason "polling"
	pending bool
	first   time.Time // of the changes that are pending
	last    time.Time
	flushed []time.Time // the last lone batches
}

// touch notes that something happened.
func (s *settler) touch(now time.Time) {
	if !s.pending {
		s.pending, s.first = true, now
	}
	s.last = now
}

// add notes that path may have changed.
func (s *settler) add(now time.Time, path string) {
	s.touch(now)
	if s.has("too many paths") {
		return
	}
	if s.paths == nil {
		s.paths = map[string]struct{}{}
	}
	s.paths[path] = struct{}{}
	if len(s.paths) > s.limit {
		s.paths = nil
		s.reasons = append(s.reasons, "too many paths")
	}
}

// addGit notes that git did something.
func (s *settler) addGit(now time.Time) {
	s.touch(now)
	s.git = true
}

// lost notes that everything must be compared.
func (s *settler) lost(now time.Time, reason string) {
	s.touch(now)
	if !s.has(reason) {
		s.reasons = append(s.reasons, reason)
	}
}

// poll notes that dirs, which have no watches, must be compared.
func (s *settler) poll(now time.Time, dirs []string) {
	s.lost(now, "polling")
	s.polled = dirs
}

func (s *settler) has(reason string) bool { return slices.Contains(s.reasons, reason) }

// storm reports whether what is pending looks like more than a save.
func (s *settler) storm() bool {
	if len(s.paths) > lonePaths || s.last.Sub(s.first) > s.quiet || s.has("overflow") || s.has("too many paths") {
		return true
	}
	return len(s.flushed) == loneBursts && s.first.Sub(s.flushed[0]) < s.quiet
}

// due returns when the batch may be taken, and whether there is one.
func (s *settler) due() (time.Time, bool) {
	if !s.pending {
		return time.Time{}, false
	}
	wait := s.lone
	if s.storm() {
		wait = s.quiet
	}
	at, most := s.last.Add(wait), s.first.Add(s.max)
	if at.After(most) {
		at = most
	}
	return at, true
}

// take returns what is pending and begins anew.
func (s *settler) take(now time.Time) Batch {
	b := Batch{Git: s.git, Reconcile: len(s.reasons) > 0}
	for p := range s.paths {
		b.Paths = append(b.Paths, p)
	}
	slices.Sort(b.Paths)
	for i, r := range s.reasons {
		if i > 0 {
			b.Reason += ", "
		}
		b.Reason += r
	}
	if b.Reason == "polling" {
		b.Dirs = s.polled
	}
	if s.storm() {
		s.flushed = nil
	} else {
		s.flushed = append(s.flushed, now)
		if len(s.flushed) > loneBursts {
			s.flushed = slices.Delete(s.flushed, 0, 1)
		}
	}
	s.paths, s.git, s.reasons, s.polled, s.pending = nil, false, nil, nil, false
	return b
}
