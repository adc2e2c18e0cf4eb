package state_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/state"
)

func setVersion(t *testing.T, name string, v int) {
	t.Helper()
	d, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Exec(fmt.Sprintf("pragma user_version = %d", v)); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBusyIsNotDamaged holds the write lock of state.db from outside.
func TestBusyIsNotDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.db")
	s, err := state.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutCheckout(t.Context(), state.Checkout{Key: "k", Slug: "p"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", path+"?_txlock=exclusive")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err = state.Open(t.Context(), dir)
	if err == nil {
		if s.Lost != "" {
			t.Errorf("Lost = %q", s.Lost)
		}
		_ = s.Close()
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(path + ".damaged*"); len(left) != 0 {
		t.Errorf("a busy file was set aside: %v", left)
	}
}

func TestDamagedState(t *testing.T) {
	for name, do := range map[string]func(path string) error{
		"garbage":   func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte("x"), 50000), 0o600) },
		"empty":     func(p string) error { return os.Truncate(p, 0) },
		"truncated": func(p string) error { return os.Truncate(p, 9000) },
		"zeroed": func(p string) error {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			clear(b[4096:])
			return os.WriteFile(p, b, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			dir := t.TempDir()
			path := filepath.Join(dir, "state.db")
			var damaged []byte
			for round := range 2 {
				s, err := state.Open(ctx, dir)
				if err != nil {
					t.Fatal(err)
				}
				if (s.Lost != "") != (round == 1) {
					t.Errorf("round %d: Lost = %q", round, s.Lost)
				}
				if cs, err := s.Checkouts(ctx); err != nil || len(cs) != 0 {
					t.Errorf("Checkouts = %v, %v", cs, err)
				}
				if err := s.PutCheckout(ctx, state.Checkout{Key: "k", Slug: "p"}); err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if round == 0 {
					if err := do(path); err != nil {
						t.Fatal(err)
					}
					if damaged, err = os.ReadFile(path); err != nil {
						t.Fatal(err)
					}
				}
			}
			if kept, err := os.ReadFile(path + ".damaged"); len(damaged) > 0 && !bytes.Equal(kept, damaged) {
				t.Errorf("the copy of the damaged file has %d bytes of %d: %v", len(kept), len(damaged), err)
			}
		})
	}
}

func TestNewerStateIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.db")
	s, err := state.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	setVersion(t, path, 1000)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = state.Open(t.Context(), dir)
	if err == nil || !strings.Contains(err.Error(), "version 1000") || fold.Hint(err) == "" {
		t.Errorf("Open = %v (hint %q), want a refusal that names the version", err, fold.Hint(err))
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed: %v", err)
	}
}
