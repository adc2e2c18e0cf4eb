package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A tcpListener is where programs with a token connect, if listen says so.
type tcpListener struct {
	ln     *api.TCPListener // nil if there is none
	notice string           // why there is none where there should be
}

// open listens where the user file says. A setting that would let in more than
// was decided ends the start; an address that is taken does not: what is asked
// at the socket works without it.
func (t *tcpListener) open(ctx context.Context, cfg conf.Config, log *slog.Logger) error {
	if cfg.Listen == "" {
		return nil
	}
	ln, err := api.ListenTCP(ctx, api.TCPOptions{
		Address: cfg.Listen, CertFile: cfg.Auth.TLSCert, KeyFile: cfg.Auth.TLSKey, AuthRequired: cfg.Auth.Required, URL: cfg.Auth.URL,
	})
	if errors.Is(err, fold.ErrUnavailable) {
		log.ErrorContext(ctx, "Not listening", "err", err)
		t.notice = err.Error() + "; free the address or change listen, then restart the daemon"
		return nil
	}
	t.ln = ln
	return err
}

// status says where it listens, or why it does not.
func (t *tcpListener) status() (url string, notices []string) {
	if t.ln != nil {
		return t.ln.URL(), nil
	}
	if t.notice != "" {
		return "", []string{t.notice}
	}
	return "", nil
}

func (t *tcpListener) close() {
	if t.ln != nil {
		_ = t.ln.Close() // closed already where it was served
	}
}
