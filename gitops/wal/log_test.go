package wal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/gitops/wal"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestClosedLogIsLeftAlone: a writer that comes after the log was closed gets an error, and
// does not take the file from whoever has opened it since.
func TestClosedLogIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, err := wal.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := []wal.Entry{{Path: "a.md", New: []byte("a")}}
	if err := old.Append(first); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	now, err := wal.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	if err := now.Append([]wal.Entry{{Path: "b.md", New: []byte("b")}}); err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(filepath.Join(dir, "wal"))
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Append": old.Append([]wal.Entry{{Path: "c.md", New: []byte("c")}}),
		"Cut":    old.Cut([]uint64{first[0].Seq}),
	} {
		if !errors.Is(err, fold.ErrUnavailable) {
			t.Errorf("%s on a closed log = %v", name, err)
		}
	}
	if is, err := os.ReadFile(filepath.Join(dir, "wal")); err != nil || !bytes.Equal(is, was) {
		t.Errorf("the file of the open log is %q, %v, and was %q", is, err, was)
	}
	if !now.Present() {
		t.Error("the open log lost its file")
	}
}
