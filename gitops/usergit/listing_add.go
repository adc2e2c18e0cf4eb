package usergit

import (
	"os"
	"path"
	"slices"
)

// Add has the list hold untracked paths that came up and that git, which was
// asked already, does not ignore. It returns those that are listed now: what lies in
// a repository of its own is not, even where it came before that.
func (x *TrackedFiles) Add(paths []string) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.dirs == nil {
		return paths
	}
	root, err := os.OpenRoot(x.l.WorkTree)
	if err != nil {
		return nil
	}
	defer root.Close()
	own := map[string]bool{"": false}
	var listed, came []string
	rules := false
	for _, p := range paths {
		if _, have := slices.BinarySearch(x.all, p); have {
			listed = append(listed, p)
			continue
		}
		if x.nested[p] || x.below(p) || x.inRepo(root, folder(p), own) {
			continue
		}
		x.put(p)
		came = append(came, p)
		rules = rules || path.Base(p) == ".gitignore"
	}
	if rules {
		x.dirs = nil
	}
	if len(came) == 0 {
		return listed
	}
	slices.Sort(came)
	came = slices.Compact(came)
	x.all = merged(x.all, came)
	x.version++
	return append(listed, came...)
}

// inRepo reports whether dir lies in the work tree of another repository, or is one.
// own keeps the answers; "" is our own.
func (x *TrackedFiles) inRepo(root *os.Root, dir string, own map[string]bool) bool {
	in, known := own[dir]
	if !known {
		in = x.inRepo(root, folder(dir), own) || x.ownRepo(root, dir) && !unfinished(root, dir)
		own[dir] = in
	}
	return in
}

// merged returns the paths of two sorted lists that have none in common. A list
// that was handed out is never changed, and a storm adds thousands at once: it is
// copied once for all of them.
func merged(all, came []string) []string {
	out := make([]string, 0, len(all)+len(came))
	for _, p := range came {
		at, _ := slices.BinarySearch(all, p)
		out = append(append(out, all[:at]...), p)
		all = all[at:]
	}
	return append(out, all...)
}
