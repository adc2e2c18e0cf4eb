package state_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/state"
)

func TestAuditIsKept(t *testing.T) {
	s, again := openStateTwice(t, t.TempDir())
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	first := state.Audit{At: at, Slug: "app", Host: "api.example.com", Action: "openai: 64 texts", Bytes: 123456, Outcome: "200 OK"}
	second := first
	second.Outcome = "429 Too Many Requests"
	for _, a := range []state.Audit{first, second} {
		if err := s.AddAudit(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	s = again()
	first.N, second.N = 1, 2
	got, err := s.Audits(t.Context(), "", 0, 10)
	if d := cmp.Diff([]state.Audit{second, first}, got); err != nil || d != "" {
		t.Errorf("Audits = %v %s", err, d)
	}
	if got, err = s.Audits(t.Context(), "", 0, 1); err != nil || len(got) != 1 {
		t.Errorf("Audits(1) = %v, %v", got, err)
	}
	if got, err = s.Audits(t.Context(), "app", 2, 10); err != nil || len(got) != 1 || got[0].N != 1 {
		t.Errorf("Audits before 2 = %v, %v", got, err)
	}
	if got, err = s.Audits(t.Context(), "other", 0, 10); err != nil || len(got) != 0 {
		t.Errorf("Audits of another project = %v, %v", got, err)
	}
}
