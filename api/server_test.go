package api_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/apitest"
	"github.com/foldwatch/foldwatch/api/auth"
	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

var _ api.Handlers = (*apitest.Fake)(nil)

// serve runs handlers behind a real socket until the test ends, and returns its path.
func serve(t *testing.T, handlers api.Handlers, mcp http.Handler) string {
	t.Helper()
	path := sock.Path(filepath.Join(t.TempDir(), "run", "foldwatch.sock"))
	ln, err := sock.Listen(path, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	keeper, logins := tokens(t), loginsOfSomebody(t)
	go func() {
		ended <- api.NewServer(handlers, mcp, api.Options{Version: "1.2.3", Auth: keeper, Tokens: keeper, Logins: logins}).Serve(ctx, ln)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return path
}

// loginsOfSomebody returns logins with two users.
func loginsOfSomebody(t *testing.T) *auth.Logins {
	t.Helper()
	st, err := state.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	for _, id := range []string{"ada", "bob"} {
		if err := st.PutUser(t.Context(), state.User{ID: id, Issuer: "https://id.example.com", Subject: id}); err != nil {
			t.Fatal(err)
		}
	}
	logins, err := auth.OpenLogins(t.Context(), st, auth.LoginsOptions{URL: "http://127.0.0.1:1", Secrets: filepath.Join(t.TempDir(), "logins")})
	if err != nil {
		t.Fatal(err)
	}
	return logins
}

// tokens returns a keeper with a state of its own.
func tokens(t *testing.T) *auth.Tokens {
	t.Helper()
	state, err := state.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	keeper, err := auth.OpenTokens(t.Context(), state, auth.TokensOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return keeper
}

func TestConflictCarriesBothVersionsOverTheSocket(t *testing.T) {
	c := client.New(serve(t, apitest.New("app"), nil))
	ctx := t.Context()
	added, err := c.AddMemory(ctx, "app", wire.MemoryCreate{Content: "one\n"})
	if err != nil || !added.Created || !added.Durable {
		t.Fatalf("AddMemory = %+v, %v", added, err)
	}
	text := "two\n"
	if _, err := c.UpdateMemory(ctx, "app", added.ID, wire.MemoryUpdate{Content: &text, ExpectedHash: added.ContentHash}); err != nil {
		t.Fatal(err)
	}
	mine := "three\n"
	_, err = c.UpdateMemory(ctx, "app", added.ID, wire.MemoryUpdate{Content: &mine, ExpectedHash: added.ContentHash})
	var conflict *fold.ConflictError
	if !errors.Is(err, fold.ErrConflict) || !errors.As(err, &conflict) {
		t.Fatalf("stale update: %v", err)
	}
	if string(conflict.Current) != text || string(conflict.Yours) != mine || conflict.Have != fold.ContentHash([]byte(text)) {
		t.Errorf("conflict = %q, %q, %s", conflict.Current, conflict.Yours, conflict.Have)
	}
	if k := wire.KindOf(err); k.Exit != 5 {
		t.Errorf("exit code of a conflict = %d", k.Exit)
	}
}
