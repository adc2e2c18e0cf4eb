package gitops_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/gitops/transport"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestFetchBranchLeavesTheUserAlone fetches the default branch of a remote as it
// goes on, is rewritten and deleted. No reference, file or object of the user's changes, and
// what came is read together with what is the user's.
func TestFetchBranchLeavesTheUserAlone(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			remote, dir, other := filepath.Join(base, "remote.git"), filepath.Join(base, "app"), filepath.Join(base, "other")
			git(t, base, "init", "-q", "--bare", "--object-format="+format, "-b", "main", remote)
			git(t, base, "init", "-q", "--object-format="+format, "-b", "main", dir)
			git(t, dir, "commit", "-q", "--allow-empty", "-m", "Begin")
			git(t, dir, "push", "-q", remote, "main")
			git(t, base, "clone", "-q", remote, other)
			git(t, other, "commit", "-q", "--allow-empty", "-m", "Go on")
			git(t, other, "push", "-q", "origin", "main")
			local := git(t, dir, "rev-parse", "HEAD")
			s := openStore(t, dir, nil)
			opt := transport.Options{Address: remote, Local: true}
			before := snapshot(t, dir)

			if b := s.Upstream().Fetched("main"); b.Tip != "" {
				t.Errorf("before: %+v", b)
			}
			b, err := s.Upstream().Fetch(t.Context(), "main", local, opt)
			tip := git(t, other, "rev-parse", "HEAD")
			if err != nil || b.Tip != tip || b.Seen.IsZero() || s.Upstream().Fetched("main").Tip != tip {
				t.Fatalf("Fetch = %+v, %v; want %s", b, err, tip)
			}
			if mine, theirs, err := b.Repo.Apart(t.Context(), local, b.Tip); mine != 0 || theirs != 1 || err != nil {
				t.Errorf("apart %d and %d, %v", mine, theirs, err)
			}
			list, err := b.Repo.Changes(t.Context(), b.Tip, []string{local}, 0, 10)
			if err != nil || len(list) != 1 || list[0].Subject != "Go on" {
				t.Errorf("Changes = %+v, %v", list, err)
			}

			git(t, other, "commit", "-q", "--amend", "--allow-empty", "-m", "Go elsewhere")
			git(t, other, "push", "-q", "--force", "origin", "main")
			tip = git(t, other, "rev-parse", "HEAD")
			if b, err = s.Upstream().Fetch(t.Context(), "main", local, opt); err != nil || b.Tip != tip {
				t.Errorf("rewritten: %+v, %v; want %s", b, err, tip)
			}
			git(t, remote, "update-ref", "-d", "refs/heads/main")
			if b, err = s.Upstream().Fetch(t.Context(), "main", local, opt); err != nil || b.Tip != "" || s.Upstream().Fetched("main").Tip != "" {
				t.Errorf("deleted: %+v, %v", b, err)
			}
			unchanged(t, before, snapshot(t, dir))
		})
	}
}

// TestFetchBranchAsksNoOtherAddress refuses what a remote may not be.
func TestFetchBranchAsksNoOtherAddress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "Begin")
	s := openStore(t, dir, nil)
	for _, remote := range []string{"ext::sh -c true", "/nowhere", "file:///nowhere", "http://192.0.2.1/x", "-oProxyCommand=true:x"} {
		_, err := s.Upstream().Fetch(t.Context(), "main", git(t, dir, "rev-parse", "HEAD"), transport.Options{Address: remote})
		if _, ok := errors.AsType[*transport.Error](err); !ok && !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("FetchBranch of %s: %v", remote, err)
		}
	}
}
