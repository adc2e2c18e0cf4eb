package state_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

// TestOldFileIsReadWhole opens a file that an earlier program wrote, with
// something in every table: nothing of it may be lost.
func TestOldFileIsReadWhole(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	packed, err := os.Open("testdata/state_8.db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "state.db"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := state.Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Lost != "" {
		t.Errorf("Lost = %q", s.Lost)
	}

	const key, commonDir = "0123456789abcdef", "/src/p/.git"
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	same := func(what string, err error, want, got any) {
		t.Helper()
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v, -want +got %s", what, err, d)
		}
	}
	checkouts, err := s.Checkouts(ctx)
	same("checkouts", err, []state.Checkout{{
		Key: key, Path: "/src/p", CommonDir: commonDir, MainTree: "/src/p", FoldDir: "/src/p/fold", Slug: "p", Name: "P", ProjectID: "id",
		CommitTo: "sidecar", FileMemories: "auto", RemoteURL: "https://host/p", Linked: true, AddedAt: at, Paused: true, PausedUntil: at.Add(time.Hour),
	}}, checkouts)
	cursor, err := s.Cursor(ctx, key)
	same("cursor", err, "oid", cursor)
	note, err := s.Note(ctx, key, "n")
	same("note", err, "v", note)
	fact, err := s.Fact(ctx, "remote:https://host/p", "project")
	same("fact", err, "id p", fact)
	settings, err := s.Settings(ctx, "p")
	same("settings", err, `{"w":1}`, string(settings))
	gone, err := s.Gone(ctx, "p")
	same("gone", err, map[fold.ID]bool{id(1): true}, gone)
	access, err := s.Access(ctx, "p", []fold.ID{id(2)})
	same("access", err, []state.Access{{Count: 2, Last: at.Add(time.Minute)}}, access)
	users, err := s.Users(ctx)
	same("users", err, []state.User{{
		ID: "u", Issuer: "https://login", Subject: "s", Email: "e@x", Name: "N", Provider: "prov", Role: "member",
		Claims: state.Claims{Known: true, Claim: "groups", Values: []string{"dev"}, Projects: []string{"p"}}, Assigned: "viewer", Projects: []string{"p"},
		Created: at, LastLogin: at.Add(time.Minute),
	}}, users)
	sessions, err := s.Sessions(ctx)
	same("sessions", err, []state.Session{{Hash: "aa", UserID: "u", Created: at, Seen: at.Add(time.Second), Expires: at.Add(time.Hour)}}, sessions)
	providers, err := s.AuthProviders(ctx)
	same("providers", err, []state.AuthProvider{{
		ID: "prov", Name: "Prov", Issuer: "https://login", ClientID: "c", SecretRef: "file:x", Settings: json.RawMessage(`{"a":1}`), Enabled: true, Created: at,
	}}, providers)
	tokens, err := s.APITokens(ctx)
	same("tokens", err, []state.APIToken{{
		ID: "t", Hash: "bb", Name: "T", UserID: "u", Scope: "read", Projects: []string{"p"}, Created: at, Expires: at.Add(time.Hour),
		Used: at.Add(time.Minute), Revoked: at.Add(2 * time.Minute),
	}}, tokens)
	audits, err := s.Audits(ctx, "p", 0, 10)
	same("audit", err, []state.Audit{{N: 1, At: at, Slug: "p", Host: "host", Action: "openai: 64 texts", Bytes: 7, Outcome: "ok"}}, audits)
	deliveries, err := s.DueDeliveries(ctx, commonDir)
	same("deliveries", err, []state.Delivery{{IDs: []string{"cc"}, CommonDir: commonDir, At: at, Work: `{"pull":1}`}}, deliveries)
	syncs, err := s.Syncs(ctx)
	same("syncs", err, []state.Sync{{
		CommonDir: commonDir, Remote: "https://host/p", Given: true, Since: at, Synced: at.Add(time.Second), Behind: at.Add(time.Minute),
		Stopped: "login", Reason: "r", Hint: "h",
	}}, syncs)
	proposals, err := s.Proposals(ctx, "p", "", state.ProposalCursor{}, 10)
	same("proposals", err, []state.Proposal{
		{
			ID: "00000000000000aa", Kind: state.ProposeLink, Maker: "consolidation", Memories: []state.ProposalEnd{{ID: id(1), Hash: "x"}, {ID: id(2), Hash: "y"}},
			Confidence: 0.5, State: state.ProposalOpen, CreatedAt: at,
			ProposalBody: state.ProposalBody{Reason: "why", Evidence: "ev", LinkType: "related", Context: "ctx"},
		},
		{
			ID: "00000000000000bb", Kind: state.ProposeAnnotate, Maker: "model", Memories: []state.ProposalEnd{{ID: id(1), Hash: "x"}},
			Confidence: 0.25, State: state.ProposalRejected, CreatedAt: at, DecidedAt: at.Add(time.Hour), DecidedBy: "someone",
			ProposalBody: state.ProposalBody{Reason: "why not", Tags: []string{"a"}},
		},
	}, proposals)
	if err := s.UseOAuthState(ctx, "dd", "prov", at.Add(time.Hour), at, 10); err == nil {
		t.Error("a login goes on twice")
	}
}
