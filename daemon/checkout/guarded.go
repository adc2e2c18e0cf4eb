package checkout

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mostEnds is how often a process may end while it opens a derived store. Then
// the store is what ends it, and is made again.
const mostEnds = 2

// guarded runs open, which opens the derived store called name of the index in
// dir. A mark stands there meanwhile: a process that is killed within, for want of
// memory or by what the store holds, leaves it behind, counted. Where mostEnds
// did, drop is called first. An error is no such end: whoever opens judges it.
func guarded(dir, name string, log *slog.Logger, drop, open func() error) error {
	mark := filepath.Join(dir, "opening-"+name)
	ends := 0
	if b, err := os.ReadFile(mark); err == nil {
		ends, _ = strconv.Atoi(strings.TrimSpace(string(b))) // what cannot be read counts as none
	}
	if ends >= mostEnds {
		log.Warn("Rebuilding what ended the daemon", "store", name, "ends", ends)
		if err := drop(); err != nil {
			return fmt.Errorf("rebuild %s, which ended %d starts: %w", name, ends, err)
		}
		ends = 0
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// Not synced: it is about ends of the process, not of the machine.
	if err := os.WriteFile(mark, []byte(strconv.Itoa(ends+1)), 0o600); err != nil {
		return err
	}
	defer os.Remove(mark)
	return open()
}
