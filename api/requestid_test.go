package api_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/apitest"
)

// TestRequestsHaveIDs in the answer, the problem and the log: the caller's where
// that may stand in a log, else one of ours.
func TestRequestsHaveIDs(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	handlers := apitest.New("app")
	handlers.Fail = func(string) error { return errors.New("the cause") }
	s := api.NewServer(handlers, nil, api.Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	seen := map[string]bool{}
	for _, sent := range []string{"my.own-id_7", "", "a b", "x\nlevel=ERROR", strings.Repeat("x", 65), "é"} {
		log.Reset()
		w := ask(s, "GET", "/api/projects/app", "", "X-Request-Id", sent)
		id := w.Header().Get("X-Request-Id")
		if sent == "my.own-id_7" != (id == sent) || id == "" || seen[id] {
			t.Errorf("%q was answered as %q", sent, id)
		}
		seen[id] = true
		p := problemError(t, w)
		if p.Request != id || p.ID != id || !strings.Contains(p.Detail, id) {
			t.Errorf("the problem of %q: %+v", id, p)
		}
		for _, want := range []string{"level=ERROR msg=\"Request failed\" id=" + id + " operation=project", "err=\"the cause\"", "msg=Answered id=" + id + " operation=project method=GET caller=owner status=500"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log has no %s:\n%s", want, &log)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 2 {
			t.Errorf("%d lines for %q:\n%s", n, sent, &log)
		}
	}
	log.Reset()
	ask(s, "GET", "/api/projects/app", "", "Authorization", "Bearer fwt_x")
	if !strings.Contains(log.String(), "operation=project method=GET caller=\"\" status=401") {
		t.Errorf("a refusal is not in the log:\n%s", &log)
	}
}
