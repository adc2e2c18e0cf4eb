package ingest

import (
	"context"
	"slices"

	"github.com/foldwatch/foldwatch/meta/index"
)

// below returns the part of a sorted list of paths that lies in the folder dir.
func below(sorted []string, dir string) []string {
	if dir == "." || dir == "" {
		return sorted
	}
	from, _ := slices.BinarySearch(sorted, dir+"/")
	to, _ := slices.BinarySearch(sorted, dir+"0") // "0" is the byte after "/"
	return sorted[from:to]
}

// A stat is what the manifest knows of a file, as far as a sweep compares it.
type stat struct {
	size, mtime int64
	inode       uint64
	state       index.FileState
}

// same reports whether a file is certainly the one the manifest knows. One that
// was written while it was read carries the time -1 and never is.
func (s stat) same(size, mtime int64, inode uint64) bool {
	return s.mtime == mtime && s.size == size && s.inode == inode && !s.state.Again()
}

// stats are the manifest of fold/, or of source, in the order of the paths. They
// do not change once made.
type stats struct {
	version int64 // of the manifest
	paths   []string
	stats   []stat
}

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
