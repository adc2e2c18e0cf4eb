package auth

import (
	"testing"
	"time"
)

func at(hour int) time.Time { return time.Date(2026, 1, 2, hour, 0, 0, 0, time.UTC) }

// TestRenewAfterTheEnd: what has expired stays so.
func TestRenewAfterTheEnd(t *testing.T) {
	s := &Session{Token: "x", Until: at(3)}
	if err := s.Renew(at(4)); err == nil {
		t.Error("an expired session was renewed")
	}
}

func TestLoginWithoutAName(t *testing.T) {
	if _, err := Login("", "x", at(1)); err == nil {
		t.Error("nobody was logged in")
	}
}

func BenchmarkLogin(b *testing.B) {
	for b.Loop() {
		_, _ = Login("ann", "x", at(1))
	}
}
