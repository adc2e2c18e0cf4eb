package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foldwatch/foldwatch/api/mcp"
	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/api/wire"
)

func mcpCommand(app *App) *cobra.Command {
	var toolsets string
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve agents: MCP between stdin, stdout and the daemon",
		Long: "A pipe between an agent and the daemon, which is started if need be. Agents run\n" +
			"this command; foldwatch setup writes it into their configuration.",
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for set := range strings.SplitSeq(toolsets, ",") {
				if strings.TrimSpace(set) != "core" {
					return usagef("foldwatch mcp --toolsets core", "there is no toolset %q; there is: core", set)
				}
			}
			opt := mcp.ShimOptions{Project: app.slug, Version: fullVersion()}
			if opt.Project == "" {
				opt.Project = app.Getenv("FOLDWATCH_PROJECT")
			}
			var err error
			if opt.Dir, err = app.workDir(); err != nil {
				return fmt.Errorf("find the working directory: %w", err)
			}
			// Standard output carries the protocol and nothing else.
			opt.Log = slog.New(slog.NewTextHandler(app.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
			return mcp.Shim(cmd.Context(), app.Stdin, app.Stdout, func(ctx context.Context) (net.Conn, error) { return dialConn(ctx, app) }, opt)
		},
	}
	c.Flags().StringVar(&toolsets, "toolsets", "core", "toolsets to offer, joined by commas")
	return c
}

// dialConn connects to the daemon's socket, and starts the daemon if none
// listens there and auto_start allows it.
func dialConn(ctx context.Context, app *App) (net.Conn, error) {
	conn, err := dialOnce(ctx, app)
	if !errors.Is(err, wire.ErrNoDaemon) {
		return conn, err
	}
	if _, err := app.daemon.Start(ctx); err != nil {
		return nil, err
	}
	return dialOnce(ctx, app)
}

// dialOnce connects to the daemon that runs now. It returns wire.ErrNoDaemon if
// none does.
func dialOnce(ctx context.Context, app *App) (net.Conn, error) {
	paths, err := app.daemon.SocketPaths()
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		conn, err := sock.Dial(ctx, p)
		if err == nil || !errors.Is(err, sock.ErrNobody) {
			return conn, err
		}
	}
	return nil, wire.ErrNoDaemon
}
