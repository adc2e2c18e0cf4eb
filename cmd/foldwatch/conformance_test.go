package main

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/sock"
)

// TestConformanceOfTheProgram runs the official suite against the program as it
// is: the scenarios that need no fixtures must pass. That a page of another
// origin cannot reach it is no question of its socket.
func TestConformanceOfTheProgram(t *testing.T) {
	suite := apitest.FindConformance(t, filepath.Join("..", ".."))
	s := newSeat(t)
	url := "http://" + s.forwardTCP() + "/mcp"
	for revision, generic := range map[string]string{
		"2025-11-25": `server-initialize server-session-lifecycle logging-set-level ping completion-complete tools-list resources-list prompts-list
			server-sse-multiple-streams`,
		"2026-07-28": `completion-complete tools-list resources-list prompts-list sep-2164-resource-not-found caching server-sse-multiple-streams
			input-required-result-unsupported-methods http-header-validation`,
	} {
		t.Run(revision, func(t *testing.T) {
			passed, printed, _ := suite.Run(t, url, revision) // its verdict is about the fixtures, too
			for name := range strings.FieldsSeq(generic) {
				if !passed[name] {
					t.Errorf("%s did not pass", name)
				}
			}
			if t.Failed() {
				t.Logf("%s", printed)
			}
		})
	}
}

// forwardTCP makes the daemon's socket reachable at a loopback address, which
// it returns, until the test ends.
func (s *seat) forwardTCP() string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.home, "state", "socket"))
	if err != nil {
		s.t.Fatal(err)
	}
	path := strings.TrimSpace(string(b))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { splice(ctx, client, path) })
		}
	})
	s.t.Cleanup(func() {
		cancel()
		_ = ln.Close()
		wg.Wait()
	})
	return ln.Addr().String()
}

// splice carries bytes between a client and the socket at path until either
// ends or ctx does.
func splice(ctx context.Context, client net.Conn, path string) {
	defer client.Close()
	server, err := sock.Dial(ctx, path)
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })()
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	_, _ = io.Copy(client, server)
	_ = client.Close()
	wg.Wait()
}
