package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/webhook"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// noRepositories are what webhooks may tell of where nothing may be.
type noRepositories struct{}

func (noRepositories) WebhookSecret(string) string { return "" }

func (noRepositories) TakeDelivery(context.Context, string, wire.Delivery) (wire.DeliveryReply, error) {
	return wire.DeliveryReply{}, errors.New("it was taken")
}

// TestWebhooksAndRoutesAreApart is the part of the matrix of who may call what that
// is about the listener for webhooks: no route is reached there, with whatever
// credential, and no webhook elsewhere (F61).
func TestWebhooksAndRoutesAreApart(t *testing.T) {
	t.Parallel()
	r, cells := newRig(t), 0
	hooks := api.OnlyWebhooks(webhook.New(noRepositories{}, webhook.Options{}))
	send := func(h http.Handler, method, path, credential string) *httptest.ResponseRecorder {
		cells++
		req := httptest.NewRequest(method, path, strings.NewReader("{}"))
		req.Host = "127.0.0.1:7350"
		req.Header.Set("Content-Type", "application/json")
		if credential != "" {
			req.Header.Set("Authorization", credential)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		return w
	}
	nobody := send(hooks, "GET", "/nowhere", "").Body.String()
	for _, cred := range r.creds {
		for _, route := range api.Routes() {
			path := strings.NewReplacer("{slug}", "app", "{id}", "0123456789abcdef", "{link_id}", "0123456789abcdef", "{session}", "s").Replace(route.Path)
			for _, method := range []string{route.Method, "POST"} {
				if w := send(hooks, method, path, cred.value); w.Code != http.StatusUnauthorized || w.Body.String() != nobody {
					t.Errorf("%s %s as %s among webhooks: %d %s", method, path, cred.name, w.Code, w.Body)
				}
			}
		}
		elsewhere := r.tcp
		if cred.socket {
			elsewhere = r.run
		}
		for _, path := range []string{"/webhooks", "/webhooks/", "/webhooks/github/0123456789abcdef", "/webhooks/gitlab/0123456789abcdef"} {
			for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
				if w := send(elsewhere, method, path, cred.value); w.Code != http.StatusNotFound {
					t.Errorf("%s %s as %s: %d %s", method, path, cred.name, w.Code, w.Body)
				}
			}
		}
	}
	if cells < 1000 {
		t.Errorf("%d cells: too few", cells)
	}
	t.Logf("WEBHOOKS APART n=%d", cells)
}

func TestWebhooksListenToNoMoreThanWasDecided(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0"} {
		if _, err := api.ListenWebhooks(t.Context(), api.TCPOptions{Address: at}); !errors.Is(err, fold.ErrInvalid) || !strings.Contains(fold.Hint(err), "webhooks.listen") {
			t.Errorf("ListenWebhooks(%s): %v, %s", at, err, fold.Hint(err))
		}
	}
	ln, err := api.ListenWebhooks(t.Context(), api.TCPOptions{Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
}
