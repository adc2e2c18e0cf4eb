package gitops

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// An aheadLook knows which files below fold/ branches have that are ahead of HEAD, and
// HEAD has not. Safe for concurrent use.
type aheadLook struct {
	mu       sync.Mutex      // guards the fields below; one at a time looks
	at       string          // how HEAD and the branches stood then
	paths    map[string]bool // true where upstream has it
	config   stamp           // of git's configuration, and of which branch, upstream was read
	branch   string
	upstream string // the reference that the branch follows; "" if none
}

// ahead returns which of paths, where no file lies, HEAD does not have, but the branch
// that it follows or the default branch: a file that is made there now is untracked, and
// in the way of the user's next pull or switch (B8). The value is true for those of the
// branch that HEAD follows. It starts processes only where one of them has moved. Where it
// cannot be told none is: nobody's write is refused for that.
func (s *Store) ahead(paths []string) map[string]bool {
	is, err := s.lookAhead(paths)
	if err != nil {
		s.log.Warn("Branches that are ahead not read", "err", err)
	}
	return is
}

func (s *Store) lookAhead(paths []string) (is map[string]bool, err error) {
	if len(paths) == 0 {
		return nil, nil
	}
	a := &s.aheadOf
	a.mu.Lock()
	defer a.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	t := newBranchTarget(s.l, s.foldDir()) // that of the store is guarded by commit
	head, upstream, tips, err := a.tips(ctx, t)
	if err != nil || head == "" {
		return nil, err
	}
	if at := strings.Join(append([]string{head, upstream}, tips...), " "); at != a.at {
		found := map[string]bool{}
		for _, tip := range tips {
			out, err := t.l.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", head, tip, "--", t.dir).output(ctx)
			if ctx.Err() != nil {
				return nil, fmt.Errorf("compare %s with %s: %w", head, tip, ctx.Err())
			}
			if err != nil {
				continue // a commit may be gone
			}
			for name := range strings.SplitSeq(string(out), "\x00") {
				if below, ok := strings.CutPrefix(name, t.dir+"/"); ok && fold.ValidPath(below) == nil {
					found[below] = found[below] || tip == upstream
				}
			}
		}
		a.at, a.paths = at, found
	}
	for _, path := range paths {
		if pull, ok := a.paths[path]; ok {
			if is == nil {
				is = map[string]bool{}
			}
			is[path] = pull
		}
	}
	return is, nil
}

// tips returns the commit of HEAD, that of the branch that it follows, "" if there is
// none, and all of those of branches that may be ahead of it.
func (a *aheadLook) tips(ctx context.Context, t *branchTarget) (head, upstream string, tips []string, err error) {
	b, err := readSmall(filepath.Join(t.l.GitDir, "HEAD"))
	if err != nil {
		return "", "", nil, err
	}
	refs := []string{"refs/heads/main", "refs/heads/master"}
	head = strings.TrimSpace(string(b))
	ref, on := strings.CutPrefix(head, "ref: ")
	if on {
		if head, err = t.refValue(ref); err != nil {
			return "", "", nil, err
		}
		config := stampAt(filepath.Join(t.l.CommonDir, "config"))
		if config != a.config || ref != a.branch {
			follows, err := t.l.git("for-each-ref", "--format=%(upstream)", ref).line(ctx)
			if err != nil {
				return "", "", nil, err
			}
			a.config, a.branch, a.upstream = config, ref, follows
		}
		if a.upstream != "" {
			refs = append(refs, a.upstream)
		}
	}
	if b, err := readSmall(filepath.Join(t.l.CommonDir, "refs", "remotes", "origin", "HEAD")); err == nil {
		if name, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "ref: "); ok {
			refs = append(refs, name)
		}
	}
	for _, ref := range refs {
		if !filepath.IsLocal(filepath.FromSlash(ref)) {
			continue
		}
		tip, err := t.refValue(ref)
		if err == nil && ref == a.upstream && on {
			upstream = tip
		}
		if err == nil && isFullName(tip) && tip != head && !slices.Contains(tips, tip) {
			tips = append(tips, tip)
		}
	}
	if !isFullName(head) {
		head = "" // nothing is committed yet
	}
	return head, upstream, tips, nil
}
