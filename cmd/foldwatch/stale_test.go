package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
)

// TestStaleWritesOverTheSocket asks the daemon of a real program as any client
// may: a stale If-Match is a 412, a stale expected_hash a 409, each with both
// versions.
func TestStaleWritesOverTheSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: the socket is a pipe there")
	}
	t.Parallel()
	s := newSeat(t)
	var added wire.WriteReply
	if err := json.Unmarshal(s.run("foldwatch", "memory", "add", "Retry three times.", "--json"), &added); err != nil {
		t.Fatal(err)
	}
	socket, err := os.ReadFile(filepath.Join(filepath.Dir(s.dir), "home", "fw", "state", "socket"))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimSpace(string(socket)))
	}}}
	defer client.CloseIdleConnections()
	put := func(body, ifMatch string) (int, wire.Problem) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://localhost/api/projects/app/memories/"+added.ID, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if ifMatch != "" {
			req.Header.Set("If-Match", `"`+ifMatch+`"`)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		var p wire.Problem
		if err := json.Unmarshal(b, &p); err != nil {
			t.Fatalf("%d: %s", resp.StatusCode, b)
		}
		return resp.StatusCode, p
	}
	if code, p := put(`{"content":"Retry five times."}`, added.ContentHash); code != 200 {
		t.Fatalf("a fresh If-Match: %d %+v", code, p)
	}
	for want, ask := range map[int][2]string{
		412: {`{"content":"Retry nine times."}`, added.ContentHash},
		409: {`{"content":"Retry nine times.","expected_hash":"` + added.ContentHash + `"}`, ""},
	} {
		code, p := put(ask[0], ask[1])
		if code != want || p.Current == nil || p.Yours == nil || !strings.Contains(p.Current.Content, "Retry five") || !strings.Contains(p.Yours.Content, "Retry nine") {
			t.Errorf("stale: %d, want %d, %+v", code, want, p)
		}
	}
	if out := string(s.run("foldwatch", "show", added.ID)); !strings.Contains(out, "Retry five") {
		t.Errorf("show: %s", out)
	}
}
