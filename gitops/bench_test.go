package gitops_test

import (
	"fmt"
	"testing"

	"github.com/foldwatch/foldwatch/gitops"
)

// BenchmarkPutCommit measures one acknowledged write and its commit in a store
// of 2,000 memories, against what git add && git commit would do.
func BenchmarkPutCommit(b *testing.B) {
	dir := checkout(b)
	s := openStore(b, dir, nil)
	fill(b, s, 2000)
	i := 0
	b.Run("put", func(b *testing.B) {
		for b.Loop() {
			i++
			id, m := memoryFile(fmt.Sprintf("bench %d", i), "x")
			if _, err := s.Put(b.Context(), gitops.Write{ID: id, New: m}); err != nil {
				b.Fatal(err)
			}
		}
	})
	if _, err := s.Commit(b.Context(), nil, ""); err != nil {
		b.Fatal(err)
	}
	b.Run("put+commit", func(b *testing.B) {
		for b.Loop() {
			i++
			id, m := memoryFile(fmt.Sprintf("bench %d", i), "x")
			if _, err := s.Put(b.Context(), gitops.Write{ID: id, New: m}); err != nil {
				b.Fatal(err)
			}
			if _, err := s.Commit(b.Context(), nil, ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("git", func(b *testing.B) {
		for b.Loop() {
			i++
			write(b, dir+"/x.md", fmt.Sprint(i))
			git(b, dir, "add", "x.md")
			git(b, dir, "commit", "-qm", "x")
		}
	})
}
