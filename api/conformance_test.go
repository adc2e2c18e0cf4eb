package api_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/mcp"
)

// TestConformance runs the protocol's own suite against the handlers that
// agents get, at one URL: all that a revision requires of a server must pass,
// and no failure is expected. The suite finds its fixtures there too.
func TestConformance(t *testing.T) {
	suite := apitest.FindConformance(t, "..")
	agents := mcp.Handler(apitest.New("app"), mcp.Options{Version: "1.2.3", Mount: mountFixtures})
	url := "http://" + serveTCP(t, agents) + "/mcp"
	for revision, scenarios := range map[string]int{"2025-11-25": 30, "2026-07-28": 37} {
		t.Run(revision, func(t *testing.T) {
			required := suite.Required(t, revision)
			if len(required) != scenarios {
				t.Errorf("the suite requires %d scenarios of a server, not %d", len(required), scenarios)
			}
			passed, printed, err := suite.Run(t, url, revision)
			if err != nil {
				t.Errorf("conformance: %v\n%s", err, printed)
			}
			missed := slices.DeleteFunc(slices.Clone(required), func(name string) bool { return passed[name] })
			if len(missed) > 0 {
				t.Errorf("these did not pass: %s", strings.Join(missed, ", "))
			}
			t.Logf("%d of %d scenarios pass", len(required)-len(missed), scenarios)
		})
	}
}

// serveTCP serves agents as the daemon does, on a loopback port, whose address
// it returns.
func serveTCP(t *testing.T, agents *mcp.Server) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	server := api.NewServer(apitest.New("app"), agents, api.Options{Origins: []string{"http://" + addr}})
	ctx, cancel := context.WithCancel(context.Background())
	var g errgroup.Group
	g.Go(func() error { return agents.Run(ctx) })
	g.Go(func() error { return server.Serve(ctx, ln) })
	t.Cleanup(func() {
		cancel()
		if err := g.Wait(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return addr
}
