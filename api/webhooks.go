package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// ListenWebhooks is [ListenTCP] for a listener that only takes webhooks: each of
// them says by its signature who sent it. A GitLab token is no signature and can be
// read on its way, so that other machines connect by TLS only.
func ListenWebhooks(ctx context.Context, opt TCPOptions) (*TCPListener, error) {
	opt.AuthRequired = true
	ln, err := ListenTCP(ctx, opt)
	if opt.CertFile == "" && errors.Is(err, fold.ErrInvalid) { // with a hint of its own: that of err speaks of tokens
		return nil, fold.WithHint(fmt.Errorf("webhooks: %v: %w", err, fold.ErrInvalid), //nolint:errorlint // see above
			`set webhooks.listen = "127.0.0.1:7351" and have a tunnel or proxy in front of it, or set auth.tls_cert and auth.tls_key`)
	}
	return ln, err
}

// ServeWebhooks answers webhooks at ln by hooks, until ctx ends. No route of
// [Routes] can be reached there. It returns nil after such a stop.
func (s *Server) ServeWebhooks(ctx context.Context, ln *TCPListener, hooks http.Handler) error {
	return s.serveOn(ctx, ln, OnlyWebhooks(hooks))
}

// OnlyWebhooks returns what stands between the listener and hooks.
func OnlyWebhooks(hooks http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isOver(w, r) {
			hooks.ServeHTTP(w, r)
		}
	})
}
