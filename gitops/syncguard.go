package gitops

import (
	"fmt"

	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// sidecarOnly refuses in tracked mode what publishes, or takes, memories without a
// commit of the user's (git.md T1).
func (s *Store) sidecarOnly() error {
	if s.opt.Tracked {
		return fold.WithHint(fmt.Errorf("memories are on the user's own branch here: %w", fold.ErrConflict), "git pull and git push carry them")
	}
	return nil
}

// unguarded returns why nothing may be published, or nil (G8).
func (s *Store) unguarded(host string) error {
	if reason, up := s.guarded(); up {
		return guardedSync(host, reason)
	}
	root, err := s.openFold(false)
	if err != nil {
		if absentFold(err) && !s.hasJournal() {
			return nil
		}
		if absentFold(err) {
			return guardedSync(host, reasonFoldMissing)
		}
		return transport.Errorf(transport.Guarded, host, "", "%v", err)
	}
	return root.Close()
}

func guardedSync(host, reason string) error {
	return transport.Errorf(transport.Guarded, host, "", "the vanish guard is up: %s: nothing is synced meanwhile", reason)
}
