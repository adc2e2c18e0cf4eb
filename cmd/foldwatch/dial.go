package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/wire"
)

// dialSocket returns a client of the daemon's socket, or nil if nothing
// listens there. The daemon may have been started from where other variables
// said where the socket lies: it notes the real path in the state folder.
func dialSocket(ctx context.Context, e *environment) (daemonClient, error) {
	st, err := e.settings()
	if err != nil {
		return nil, err
	}
	paths := []string{st.dirs.Socket}
	if noted, err := os.ReadFile(st.dirs.SocketFile()); err == nil {
		if p := strings.TrimSpace(string(noted)); p != "" && p != st.dirs.Socket {
			paths = append(paths, p)
		}
	}
	for _, p := range paths {
		c := client.New(p)
		err := c.Ping(ctx)
		switch {
		case err == nil:
			return c, nil
		case !errors.Is(err, wire.ErrNoDaemon):
			return nil, err
		}
	}
	return nil, nil
}
