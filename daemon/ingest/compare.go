package ingest

import (
	"context"
	"errors"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/meta/index"
)

// manifestOf returns the manifest as far as a sweep needs it, from memory where
// nothing in it changed since the last one. Paths of the listing are shared with
// it: those of a large checkout are kept once.
func (in *Ingester) manifestOf(ctx context.Context, foldFiles bool, listed []string) (*stats, error) {
	at := &in.sourceStats
	if foldFiles {
		at = &in.foldStats
	}
	version := in.Index.FilesVersion(foldFiles)
	if *at != nil && (*at).version == version {
		return *at, nil
	}
	now := &stats{version: version}
	if n := len(listed); n > 0 {
		now.paths, now.stats = make([]string, 0, n), make([]stat, 0, n)
	}
	i := 0
	err := in.Index.EachFileStat(ctx, foldFiles, func(f *index.FileStat) {
		for i < len(listed) && listed[i] < string(f.Path) {
			i++
		}
		if i < len(listed) && listed[i] == string(f.Path) {
			now.paths = append(now.paths, listed[i])
		} else {
			now.paths = append(now.paths, string(f.Path))
		}
		now.stats = append(now.stats, stat{size: f.Size, mtime: f.MtimeNS, inode: f.Inode, state: f.State})
	})
	if err != nil {
		return nil, err
	}
	*at = now
	return now, nil
}

// manifest returns what is known of paths, and maybe of others: those of a branch
// by name, those of a first index all at once.
func (in *Ingester) manifest(ctx context.Context, paths []string, foldFiles bool) (map[string]index.File, error) {
	if len(paths) > 8192 {
		return in.Index.Files(ctx, foldFiles)
	}
	return in.Index.FilesByPath(ctx, paths, foldFiles)
}

// lookAt returns those of paths whose stat is not the one that was.
func (in *Ingester) lookAt(ctx context.Context, paths []string, was func(i int) stat) ([]string, error) {
	in.Count.Stats.Add(int64(len(paths)))
	moved := make([]bool, len(paths))
	err := disk.LstatAll(in.root, paths, in.Workers, func(i int, info disk.Info, err error) error {
		moved[i] = err != nil || !was(i).same(info.Size, info.MtimeNS, info.Inode)
		if i%1024 == 0 {
			return ctx.Err()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []string
	for i, p := range paths {
		if moved[i] {
			out = append(out, p)
		}
	}
	return out, nil
}

// leaves has the source file at p leave the index in the next call of
// [Ingester.Source], which must name it.
func (in *Ingester) leaves(p string) {
	if in.leaving == nil {
		in.leaving = map[string]bool{}
	}
	in.leaving[p] = true
}

// goneOf returns those of paths at which there is certainly no file any more, or
// none of this checkout.
func (in *Ingester) goneOf(paths []string) []string {
	var gone []string
	for _, p := range paths {
		if _, none := in.Stands(p); none || in.leaving[p] {
			gone = append(gone, p)
		}
	}
	return gone
}

// forgetSource makes the next [Ingester.Source] treat the file at path as new.
func (in *Ingester) forgetSource(ctx context.Context, path string) error {
	f, err := in.Index.FileByPath(ctx, path, false)
	if errors.Is(err, fold.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	f.State, f.Hash, f.MtimeNS = "stale", "", -1
	_, err = in.apply(ctx, []index.Change{{File: &f}})
	return err
}
