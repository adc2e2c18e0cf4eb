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
	// loneRepeats is how many of them may name the same path: a file that is
	// saved over and over is worth reading when that ends.
	loneRepeats = 2
	// lossFactor is by how much longer than max a loss waits for quiet. What it
	// leads to compares everything, and would be done again if the storm went on.
	lossFactor = 6
)

// A flush is a lone batch that was taken.
type flush struct {
	at    time.Time
	paths []string
}

// A settler collects changes until they are quiet. A lone save is due after a
// short time; what looks like a storm (many paths, or no pause, or one save
// after the other) when it has been quiet for longer, or at most after max. A
// storm that max cut off goes on in the next batch. It holds no clock: now is
// always the caller's. Not safe for concurrent use.
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
	flushed []flush   // the last lone batches
	cut     time.Time // when a storm was taken that went on; zero if it did not
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
	if len(s.paths) > lonePaths || s.last.Sub(s.first) > s.quiet || s.lossy() {
		return true
	}
	if !s.cut.IsZero() && s.first.Sub(s.cut) < s.quiet {
		return true
	}
	if len(s.flushed) == loneBursts && s.first.Sub(s.flushed[0].at) < s.quiet {
		return true
	}
	for p := range s.paths {
		n := 0
		for _, f := range s.flushed {
			if s.first.Sub(f.at) < s.quiet && slices.Contains(f.paths, p) {
				n++
			}
		}
		if n >= loneRepeats {
			return true
		}
	}
	return false
}

// lossy reports whether more happened than can be named.
func (s *settler) lossy() bool { return s.has("overflow") || s.has("too many paths") }

// due returns when the batch may be taken, and whether there is one.
func (s *settler) due() (time.Time, bool) {
	if !s.pending {
		return time.Time{}, false
	}
	wait := s.lone
	if s.storm() {
		wait = s.quiet
	}
	longest := s.max
	if s.lossy() {
		longest *= lossFactor
	}
	at, most := s.last.Add(wait), s.first.Add(longest)
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
	storm := s.storm()
	s.cut = time.Time{}
	if storm && now.Sub(s.last) < s.quiet {
		s.cut = now
	}
	if storm {
		s.flushed = nil
	} else {
		s.flushed = append(s.flushed, flush{now, b.Paths})
		if len(s.flushed) > loneBursts {
			s.flushed = slices.Delete(s.flushed, 0, 1)
		}
	}
	s.paths, s.git, s.reasons, s.polled, s.pending = nil, false, nil, nil, false
	return b
}
