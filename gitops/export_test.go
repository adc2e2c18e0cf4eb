package gitops

import "context"

// RepackAbove is Repack with other limits, since 2,000 files take long to make.
func (s *Store) RepackAbove(ctx context.Context, loose, packs int) (bool, error) {
	return s.repack(ctx, loose, packs)
}

// LimitCommits makes commits take at most n files, since 10,000 take long to make.
func (s *Store) LimitCommits(n int) { s.perCommit = n }
