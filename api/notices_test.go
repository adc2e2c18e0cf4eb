package api_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/wire"
)

// TestNoticesAreForTheOwnerWhoAsks: they name projects, and cost a little.
func TestNoticesAreForTheOwnerWhoAsks(t *testing.T) {
	t.Parallel()
	asked := 0
	want := []string{"sync of zoo is paused: é; 1 + 1", "two"}
	s := api.NewServer(nil, nil, api.Options{Notices: func(context.Context) []string { asked++; return want }})
	get := func(header ...string) []string {
		r := httptest.NewRequest("GET", "/health/live", nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		s.Owner().ServeHTTP(w, r)
		return w.Header()[wire.NoticesHeader]
	}
	if got := get(); got != nil || asked != 0 {
		t.Errorf("who does not ask is told %q", got)
	}
	if got := get(wire.NoticesHeader, "ask", "Authorization", "Bearer x"); got != nil || asked != 0 {
		t.Errorf("somebody with a token is told %q", got)
	}
	if got := get(wire.NoticesHeader, "ask"); len(got) != 1 || !slices.Equal(wire.DecodeNotices(got[0]), want) {
		t.Errorf("the owner is told %q", got)
	}
	want = nil
	if got := get(wire.NoticesHeader, "ask"); len(got) != 1 || wire.DecodeNotices(got[0]) != nil {
		t.Errorf("where there is nothing to tell: %q", got)
	}
}
