package ingest

import (
	"slices"
	"sort"
	"strings"

	"github.com/foldwatch/foldwatch/meta/disk"
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
	return s.mtime == mtime && s.size == size && s.inode == inode && !s.state.MustReread()
}

// stats are the manifest of fold/, or of source, in the order of the paths. They
// do not change once made.
type stats struct {
	version int64 // of the manifest
	paths   []string
	stats   []stat
}

// match calls fn with the places of equal paths in two sorted lists, and with -1
// for the list that does not have one.
func match(a, b []string, fn func(i, k int)) {
	i, k := 0, 0
	for i < len(a) || k < len(b) {
		switch {
		case k == len(b) || i < len(a) && a[i] < b[k]:
			fn(i, -1)
			i++
		case i == len(a) || b[k] < a[i]:
			fn(-1, k)
			k++
		default:
			fn(i, k)
			i++
			k++
		}
	}
}

// sameStat reports whether a file is certainly the one the manifest knows. One
// that was written while it was read carries the time -1 and never is.
func sameStat(old index.File, info disk.Info) bool {
	return old.MtimeNS == info.MtimeNS && old.Size == info.Size && old.Inode == info.Inode && old.State != "stale" && old.State != "failed"
}

// distinct returns list with each of its values once, in order. It takes list for that.
func distinct[T comparable](list []T) []T {
	seen := make(map[T]bool, len(list))
	out := list[:0]
	for _, p := range list {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}

// outermost leaves out folders that lie in another of them.
func outermost(dirs []string) []string {
	sort.Strings(dirs)
	var out []string
	for _, d := range dirs {
		if n := len(out); n > 0 && (out[n-1] == "." || d == out[n-1] || strings.HasPrefix(d, out[n-1]+"/")) {
			continue
		}
		out = append(out, d)
	}
	return out
}
