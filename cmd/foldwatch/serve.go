package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"gopkg.in/natefinch/lumberjack.v2"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/mcp"
	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/api/webhook"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/daemon"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// serve opens the stores, builds every part from them, and runs until ctx is
// done. It is the whole wiring of the daemon.
func serve(ctx context.Context, app *App, opt serveOptions) (err error) {
	var open atomic.Pointer[daemon.Daemon]
	defer boundMemory(func() bool { d := open.Load(); return d != nil && d.Crowded() }, spareCores())()
	st, err := app.config.Settings()
	if err != nil {
		return err
	}
	out := app.Stderr
	if opt.LogFile {
		file := logFile(st.Dirs)
		defer func() { err = errors.Join(err, file.Close()) }()
		out = file
	}
	log := newLog(out, st.Config.LogLevel)
	system, err := supervised(app.Getenv, log)
	if err != nil {
		return err
	}
	socket := sock.Path(st.Dirs.Socket)
	if system.ln != nil {
		socket = system.ln.Addr().String()
		defer system.ln.Close() // closed already where it was served
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	tcp, hooks := &tcpListener{}, &tcpListener{}
	d, err := openWhenFree(ctx, app, daemon.Options{
		Dirs: st.Dirs, Config: st.Config, Origins: st.Origins, Version: fullVersion(), Socket: socket, Listening: tcp.status, Webhooks: hooks.status,
		Worker: []string{exe, "chunk-worker"}, Log: log,
		Reload: func() (conf.Config, error) {
			cfg, _, err := conf.Load(st.Dirs.ConfigFile(), app.config.Environ, nil)
			return cfg, err
		},
	})
	if err != nil {
		return anotherDaemon(err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	open.Store(d)
	ln, err := system.listen(st.Dirs.Socket, log)
	if err != nil {
		return anotherDaemon(err)
	}
	if err := disk.WriteFile(st.Dirs.SocketFile(), []byte(socket+"\n"), 0o600); err != nil {
		return errors.Join(err, ln.Close())
	}
	defer func() {
		if d.Holds() {
			_ = os.Remove(st.Dirs.SocketFile()) // keepListening has, where it came to that
		}
	}()

	if err := tcp.open(ctx, st.Config, log); err != nil {
		return errors.Join(err, ln.Close())
	}
	defer tcp.close()
	if err := hooks.openWebhooks(ctx, st.Config, log); err != nil {
		return errors.Join(err, ln.Close())
	}
	defer hooks.close()
	if tcp.ln != nil || hooks.ln != nil {
		opt.IdleExit = 0 // nobody elsewhere could start it again
	}

	log.InfoContext(ctx, "Listening", "socket", socket, "pid", os.Getpid())
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	clients := newIdleListener(ln, opt.IdleExit, stop)
	defer clients.end()
	tokens, err := auth.OpenTokens(ctx, d.State(), auth.TokensOptions{Log: log})
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	logins, err := tcp.logins(ctx, d.State(), st, tokens, log)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	agents := mcp.Handler(d, mcp.Options{Version: fullVersion(), Log: log})
	server := api.NewServer(d, agents, api.Options{
		Version: fullVersion(), Log: log, Auth: tokens, Tokens: tokens, Logins: logins, Rates: ratesOf(st.Config.Rate), Notices: d.Notices,
	})
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return d.Run(ctx) })
	g.Go(func() error { return agents.Run(ctx) })
	g.Go(func() error { return tokens.Run(ctx) })
	g.Go(func() error { return server.Serve(ctx, clients) })
	if tcp.ln != nil {
		log.InfoContext(ctx, "Listening", "url", tcp.ln.URL())
		g.Go(func() error { return server.ServeTCP(ctx, tcp.ln) })
		g.Go(func() error { return logins.Run(ctx) })
	}
	g.Go(func() error { return keepListening(ctx, d, ln, st.Dirs, log) })
	g.Go(func() error { return system.tell(ctx, socket, log) })
	if hooks.ln != nil {
		log.InfoContext(ctx, "Listening for webhooks", "url", hooks.ln.URL())
		g.Go(func() error { return server.ServeWebhooks(ctx, hooks.ln, webhook.New(d, webhook.Options{Log: log})) })
	}
	if opt.OnReady != nil {
		opt.OnReady(socket)
	}
	dropStartPages()
	return g.Wait()
}

// ratesOf are those of the user file, where 0 is no limit.
func ratesOf(r conf.Rate) api.Rates {
	orNone := func(n int) int {
		if n == 0 {
			return -1
		}
		return n
	}
	return api.Rates{Owner: orNone(r.Owner), Token: orNone(r.Token), Peer: orNone(r.Peer)}
}

// anotherDaemon says who runs already, where that is what went wrong.
func anotherDaemon(err error) error {
	var held *disk.LockedError
	_, deaf := errors.AsType[*local.UnreachableError](err)
	switch {
	case deaf: // no restart of this one mends it
		return fmt.Errorf("%w: %w", err, fold.ErrConflict)
	case errors.As(err, &held):
		return fold.WithHint(fmt.Errorf("another daemon runs already (%s): %w", held.Info, fold.ErrConflict), "foldwatch status")
	case errors.Is(err, sock.ErrInUse):
		return fold.WithHint(fmt.Errorf("%w: %w", err, fold.ErrConflict), "foldwatch status")
	}
	return err
}

// logFile opens when first written to. It and two older ones take at most 15 MB.
func logFile(dirs conf.Dirs) *lumberjack.Logger {
	return &lumberjack.Logger{Filename: filepath.Join(dirs.State, "daemon.log"), MaxSize: 5, MaxBackups: 2}
}

// newLog writes to w in the form that a person reads and a journal keeps.
func newLog(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	if l.UnmarshalText([]byte(level)) != nil {
		l = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l}))
}
