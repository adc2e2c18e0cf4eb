package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// ListenWebhooks is [ListenTCP] for a listener of webhooks only, which authenticate by
// their signature. The token of GitLab is sent in the clear, so other machines must use
// TLS.
func ListenWebhooks(ctx context.Context, opt TCPOptions) (*TCPListener, error) {
	opt.AuthRequired = true
	ln, err := ListenTCP(ctx, opt)
	if opt.CertFile == "" && errors.Is(err, fold.ErrInvalid) { // with a hint of its own: that of err speaks of tokens
		return nil, fold.WithHint(fmt.Errorf("webhooks: %v: %w", err, fold.ErrInvalid), //nolint:errorlint // see above
			`set webhooks.listen = "127.0.0.1:7351" and have a tunnel or proxy in front of it, or set auth.tls_cert and auth.tls_key`)
	}
	return ln, err
}

// ServeWebhooks passes all requests at ln to hooks until ctx ends, then returns nil. The
// routes of [Routes] are not served there.
func (s *Server) ServeWebhooks(ctx context.Context, ln *TCPListener, hooks http.Handler) error {
	return s.serveOn(ctx, ln, OnlyWebhooks(hooks))
}

// OnlyWebhooks returns hooks behind the check for too many connections.
func OnlyWebhooks(hooks http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !refuseOverload(w, r) {
			hooks.ServeHTTP(w, r)
		}
	})
}
