package remember_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/remember"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/state"
)

// openDoor returns a door to a fresh checkout, and its store.
func openDoor(t *testing.T, faults disk.Faults) (*remember.Service, *gitops.Store) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "init", "-q", dir)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	layout, err := usergit.Locate(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	author := func() (string, string) { return "Ada", "ada@example.invalid" }
	store, err := gitops.OpenStore(t.Context(), gitops.StoreOptions{Repo: layout, Slug: "app", Author: author, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	index, err := index.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = index.Close() })
	state, err := state.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	allowed := map[string]bool{}
	return remember.New(remember.Options{
		Slug: "app", Store: store, Index: index, State: state,
		AllowSecret: func(_ context.Context, id fold.ID, rule string) error {
			allowed[string(id)+" "+rule] = true
			return nil
		},
		Allowed: func(_ context.Context, id fold.ID) (map[string]bool, error) {
			out := map[string]bool{}
			for k := range allowed {
				if rule, ok := strings.CutPrefix(k, string(id)+" "); ok {
					out[rule] = true
				}
			}
			return out, nil
		},
	}), store
}

// TestNoDoorTakesACredential shows that every field of every way in is searched
// as it would be written.
func TestNoDoorTakesACredential(t *testing.T) {
	t.Parallel()
	d, store := openDoor(t, nil)
	ctx, sc := t.Context(), fold.LocalScope()
	value := "AKIA" + "Z7QK3MXW5VRT2PLH"
	add := func(in wire.MemoryCreate) (wire.WriteReply, error) { return d.Add(ctx, sc, in) }
	one, err := add(wire.MemoryCreate{Content: "One."})
	if err != nil {
		t.Fatal(err)
	}
	two, err := add(wire.MemoryCreate{Content: "Two."})
	if err != nil {
		t.Fatal(err)
	}
	id := fold.ID(one.ID)
	text := "key " + value
	// a version that was recorded before anybody looked for credentials
	was, err := store.Read(id.Path())
	if err != nil {
		t.Fatal(err)
	}
	old := append(slices.Clip(was), text+"\n"...)
	for _, w := range []gitops.Write{{ID: id, Base: was, New: old}, {ID: id, Base: old, New: was}} {
		if _, err := store.Put(ctx, w); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Commit(ctx, nil, ""); err != nil {
			t.Fatal(err)
		}
	}
	for name, try := range map[string]func() error{
		"content":       func() error { _, err := add(wire.MemoryCreate{Content: text}); return err },
		"title":         func() error { _, err := add(wire.MemoryCreate{Content: "a", Title: text}); return err },
		"author":        func() error { _, err := add(wire.MemoryCreate{Content: "b", Author: text}); return err },
		"original date": func() error { _, err := add(wire.MemoryCreate{Content: "c", OriginalDate: text}); return err },
		"slug":          func() error { _, err := add(wire.MemoryCreate{Content: "d", Slug: text}); return err },
		"link of a new memory": func() error {
			_, err := add(wire.MemoryCreate{Content: "e", Links: []wire.NewLink{{Target: two.ID, Context: text}}})
			return err
		},
		"link": func() error {
			_, err := d.AddLink(ctx, sc, id, wire.LinkCreate{TargetID: two.ID, Context: text})
			return err
		},
		"update": func() error { _, err := d.Update(ctx, sc, id, wire.MemoryUpdate{Author: &text}); return err },
		"upload": func() error {
			up, err := d.Upload(ctx, sc, wire.FilesUpload{Files: []wire.UploadFile{{Path: "a.txt", Content: "x"}}, Author: text})
			if err == nil && strings.Contains(up.Results[0].Error, "credential") {
				err = fold.ErrSecret
			}
			return err
		},
		"restore": func() error { _, err := d.Restore(ctx, id.Path(), ""); return err },
	} {
		t.Run(name, func(t *testing.T) {
			err := try()
			if !errors.Is(err, fold.ErrSecret) {
				t.Errorf("err = %v, want ErrSecret", err)
			} else if strings.Contains(err.Error(), value) {
				t.Errorf("the value is in the error: %v", err)
			}
		})
	}
	if now, err := store.Read(id.Path()); err != nil || string(now) != string(was) {
		t.Errorf("file = %q, %v, want %q", now, err, was)
	}
}

// TestAnAllowedCredentialStaysAllowed shows that a memory that was let pass can
// be linked and changed.
func TestAnAllowedCredentialStaysAllowed(t *testing.T) {
	t.Parallel()
	d, _ := openDoor(t, nil)
	ctx, sc := t.Context(), fold.LocalScope()
	two, err := d.Add(ctx, sc, wire.MemoryCreate{Content: "Two."})
	if err != nil {
		t.Fatal(err)
	}
	one, err := d.Add(ctx, sc, wire.MemoryCreate{Content: "The example key is " + "AKIA" + "Z7QK3MXW5VRT2PLH", AllowSecret: "aws-access-token,generic-api-key"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.AddLink(ctx, sc, fold.ID(one.ID), wire.LinkCreate{TargetID: two.ID}); err != nil {
		t.Errorf("AddLink = %v", err)
	}
	if _, err := d.Update(ctx, sc, fold.ID(one.ID), wire.MemoryUpdate{Append: "More."}); err != nil {
		t.Errorf("Update = %v", err)
	}
}
