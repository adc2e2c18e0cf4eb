package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/webhook"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// A tcpListener is where others connect, if the user file says so: programs with a
// token, or forges with webhooks.
type tcpListener struct {
	ln *api.TCPListener // nil if there is none

	mu      sync.Mutex // guards notices
	notices []string   // why there is none where there should be, or nobody can log in
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
	return t.keep(ctx, log, "listen", ln, err)
}

// openWebhooks is open for webhooks. Without a secret nobody could be told from
// anybody: then there is no listener.
func (t *tcpListener) openWebhooks(ctx context.Context, cfg conf.Config, log *slog.Logger) error {
	if cfg.Webhooks.Listen == "" {
		return nil
	}
	if why := noSecret(cfg); why != "" {
		log.ErrorContext(ctx, "Not listening", "reason", why)
		t.notice(why + "; then restart the daemon")
		return nil
	}
	ln, err := api.ListenWebhooks(ctx, api.TCPOptions{Address: cfg.Webhooks.Listen, CertFile: cfg.Auth.TLSCert, KeyFile: cfg.Auth.TLSKey})
	return t.keep(ctx, log, "webhooks.listen", ln, err)
}

// noSecret is why webhooks of no project can be told from what anybody sends, "" if
// those of one can.
func noSecret(cfg conf.Config) string {
	first := ""
	for _, slug := range append([]string{""}, cfg.ProjectSlugs()...) {
		own := cfg.For(slug)
		why := "webhooks.secret_env and webhooks.secret_file name nothing: set one to the variable or the file that holds the secret"
		if at := own.Webhooks; at.SecretEnv != "" || at.SecretFile != "" {
			secret, err := own.WebhookSecret()
			if err != nil {
				why = "no webhook is taken: " + err.Error()
				if hint := fold.Hint(err); hint != "" {
					why += "; " + hint
				}
			} else if why = webhook.CheckSecret(secret); why == "" {
				return ""
			} else {
				where := " in $" + at.SecretEnv
				switch {
				case at.SecretEnv == "":
					where = " in " + at.SecretFile
				case at.SecretFile != "":
					where = ""
				}
				why = "no webhook is taken: the secret" + where + " " + why
			}
		}
		if first == "" {
			first = why
		}
	}
	return first
}

func (t *tcpListener) keep(ctx context.Context, log *slog.Logger, key string, ln *api.TCPListener, err error) error {
	if errors.Is(err, fold.ErrUnavailable) {
		log.ErrorContext(ctx, "Not listening", "err", err)
		t.notice(err.Error() + "; free the address or change " + key + ", then restart the daemon")
		return nil
	}
	t.ln = ln
	return err
}

func (t *tcpListener) notice(texts ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notices = append(t.notices, texts...)
}

// logins opens what people log in by, nil where they cannot connect. What the settings
// of a provider give no more ends in any case.
func (t *tcpListener) logins(ctx context.Context, state *state.DB, st local.Settings, tokens *auth.Tokens, log *slog.Logger) (*auth.Logins, error) {
	url := ""
	if t.ln != nil && !t.ln.Nameless() {
		url = t.ln.Called()
	}
	l, err := auth.OpenLogins(ctx, state, auth.LoginsOptions{
		URL: url, Providers: st.Config.Auth.Providers, Secrets: filepath.Join(st.Dirs.State, "logins"),
		Idle: st.Config.Auth.SessionIdle, Max: st.Config.Auth.SessionMax, Tokens: tokens, Log: log,
	})
	if err != nil || t.ln == nil {
		return nil, err
	}
	if url == "" {
		if len(st.Config.Auth.Providers) > 0 {
			t.notice("nobody can log in: listen has no address of its own; set auth.url to the one that browsers know")
		}
		return nil, nil
	}
	t.notice(l.Notices()...)
	return l, nil
}

// status says where it listens, and what should be and is not.
func (t *tcpListener) status() (url string, notices []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ln != nil {
		url = t.ln.URL()
	}
	return url, slices.Clone(t.notices)
}

func (t *tcpListener) close() {
	if t.ln != nil {
		_ = t.ln.Close() // closed already where it was served
	}
}
