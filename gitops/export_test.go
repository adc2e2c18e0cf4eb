package gitops

import "context"

// RepackAbove is Repack with other limits, since 2,000 files take long to make.
func (s *Store) RepackAbove(ctx context.Context, loose, packs int) (bool, error) {
	return s.repack(ctx, loose, packs)
}
