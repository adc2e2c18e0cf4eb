package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// follow runs a stream of events inside a synctest bubble until the test's
// context ends, and returns what was written.
func follow(t *testing.T, s *api.Server, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	go s.Owner().ServeHTTP(w, r)
	synctest.Wait()
	return w
}

// read returns the events of a stream, each without and with its id line.
func read(t *testing.T, w *httptest.ResponseRecorder, d *document) (types []string, named int) {
	t.Helper()
	for block := range strings.SplitSeq(w.Body.String(), "\n\n") {
		if strings.Contains(block, "id: ") {
			named++
		}
		_, data, ok := strings.Cut(block, "data: ")
		if !ok {
			continue
		}
		if err := d.validate("/components/schemas/Event", []byte(data)); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		var e wire.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil || !strings.Contains(block, "event: "+e.Type+"\n") {
			t.Errorf("%q: %v", block, err)
		}
		types = append(types, e.Type)
	}
	return types, named
}

func TestStreamOfEvents(t *testing.T) {
	t.Parallel()
	document := openDocument(t)
	synctest.Test(t, func(t *testing.T) {
		handlers := apitest.New("app", "web")
		all := api.NewServer(handlers, nil, api.Options{})
		one := api.NewServer(handlers, nil, api.Options{Auth: everybody{ID: "x", Scope: fold.Scope{Projects: []string{"web"}}}})
		owner, narrow, scoped := follow(t, all, "/api/events"), follow(t, all, "/api/events?project=web"), follow(t, one, "/api/events")
		for _, project := range []string{"app", "web", ""} {
			handlers.Emit("of:"+project, project, map[string]any{"n": 1})
		}
		synctest.Wait()
		time.Sleep(31 * time.Second)
		synctest.Wait()
		for w, want := range map[*httptest.ResponseRecorder]string{
			owner: "of:app of:web of: heartbeat heartbeat", narrow: "of:web of: heartbeat heartbeat", scoped: "of:web of: heartbeat heartbeat",
		} {
			types, named := read(t, w, document)
			if got := strings.Join(types, " "); got != want || named != len(types)-2 {
				t.Errorf("stream = %q, want %q; %d have an id", got, want, named)
			}
		}
		for last, want := range map[string]string{"1": "of:web of:", "3": ""} {
			types, _ := read(t, follow(t, all, "/api/events", "Last-Event-ID", last), document)
			if got := strings.Join(types, " "); got != want {
				t.Errorf("after %s = %q, want %q", last, got, want)
			}
		}
		if types, _ := read(t, follow(t, one, "/api/events?last_event_id=0"), document); len(types) != 0 {
			t.Errorf("from now on = %v", types)
		}
		if types, _ := read(t, follow(t, one, "/api/events", "Last-Event-ID", "1"), document); strings.Join(types, " ") != "of:web of:" {
			t.Errorf("the past as it may be read = %v", types)
		}
	})
}

// stuck is a client that reads nothing: what is sent to it ends at its deadline.
type stuck struct {
	http.ResponseWriter
	deadline time.Time
}

func (s *stuck) SetWriteDeadline(at time.Time) error { s.deadline = at; return nil }

func (s *stuck) Write([]byte) (int, error) {
	time.Sleep(time.Until(s.deadline))
	return 0, context.DeadlineExceeded
}

// TestStreamLeavesWhoDoesNotRead gives its place to others.
func TestStreamLeavesWhoDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		api.NewServer(apitest.New("app"), nil, api.Options{}).Owner().
			ServeHTTP(&stuck{ResponseWriter: httptest.NewRecorder()}, httptest.NewRequestWithContext(t.Context(), "GET", "/api/events", nil))
		if took := time.Since(begun); took != 30*time.Second {
			t.Errorf("left after %s", took)
		}
	})
}
