package gitops

import (
	"github.com/foldwatch/foldwatch/gitops/transport"
)

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
