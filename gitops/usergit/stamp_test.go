package usergit

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLookGoesByContentWhereTimeProvesNothing writes a file anew without moving
// its time, size or inode.
func TestLookGoesByContentWhereTimeProvesNothing(t *testing.T) {
	t.Parallel()
	p := filepath.Join(t.TempDir(), "main")
	at := time.Now().Add(-time.Second)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, at, at); err != nil {
			t.Fatal(err)
		}
	}
	none := stampContent(p, at)
	write("one")
	if none.unchanged(p, at) {
		t.Error("a file that came up was not seen")
	}
	young := stampContent(p, at)
	if !young.unchanged(p, at) {
		t.Error("a young file that nobody touched counts as moved")
	}
	write("two")
	if young.unchanged(p, at) {
		t.Error("other content of a young file was not seen")
	}
	young = stampContent(p, at)
	later := at.Add(time.Hour)
	if young.unchanged(p, later) {
		t.Error("a file that has come of age was not asked about once more")
	}
	if old := stampContent(p, later); !old.unchanged(p, later) {
		t.Error("an old file that nobody touched counts as moved")
	}
	write(string(make([]byte, maxStampBytes+1)))
	if stampContent(p, at).unchanged(p, at) {
		t.Error("a young file that is too large to be read proves something")
	}
}

// TestDefaultBranchOfAPrunedRemote: git does not list an origin/HEAD that leads
// nowhere, and still says what it names.
func TestDefaultBranchOfAPrunedRemote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "Begin"},
		{"branch", "develop"},
		{"symbolic-ref", originHead, "refs/remotes/origin/develop"},
	} {
		if _, err := (Call{Dir: dir, Args: args}).Output(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Locate(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if name, oid, err := l.DefaultBranch(t.Context()); err != nil || name != "develop" || len(oid) != 40 {
		t.Errorf("DefaultBranch = %q, %q, %v, want develop", name, oid, err)
	}
	b := l.NewBranch()
	_, oid, err := b.Default(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, err := l.CommitTime(t.Context(), oid)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.CommitTime(t.Context(), oid); err != nil || !got.Equal(want) {
		t.Errorf("CommitTime = %v, %v, want %v", got, err, want)
	}
}
