package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/gitops/gitindex"
)

// An index that only git itself may change (version 4, split, sparse): git changes
// a copy of it, before any lock is taken.

// oddStaged is staged for such an index.
func (t *branchTarget) oddStaged(ctx context.Context) (Wait, error) {
	out, err := t.l.git("ls-files", "-z", "--unmerged").output(ctx)
	if err != nil {
		return Wait{}, fmt.Errorf("look for conflicts: %w", err)
	}
	if len(out) > 0 {
		return waitFor("there are conflicts to be resolved"), nil
	}
	out, err = t.l.git("diff-index", "--cached", "--name-only", "-z", "HEAD", "--", t.dir).output(ctx)
	if err != nil {
		return Wait{}, fmt.Errorf("look for what is staged: %w", err)
	}
	if len(out) > 0 {
		p, _, _ := strings.Cut(string(out), "\x00")
		return waitFor("%s is staged", oneLine(p)).hint("commit it, or: git restore --staged %s", t.dir), nil
	}
	return Wait{}, nil
}

// patchByGit has git make the edits in a copy of the index. It knows nothing of
// the files then, and looks at each of them once.
func (t *branchTarget) patchByGit(ctx context.Context, d *branchDraft, edits []gitindex.Edit) ([]byte, error) {
	tmp := filepath.Join(t.l.StateDir(), branchIndex)
	defer func() { _, _ = os.Remove(tmp), os.Remove(tmp+".lock") }()
	if err := os.WriteFile(tmp, d.index, 0o600); err != nil {
		return nil, err
	}
	// Entries that may have changed within the tick of the clock are told by it.
	if err := os.Chtimes(tmp, time.Time{}, time.Unix(0, d.stamp.mtime)); err != nil {
		return nil, err
	}
	var in strings.Builder
	for _, e := range edits {
		if e.Now == nil {
			fmt.Fprintf(&in, "0 %s\t%s\x00", strings.Repeat("0", 2*t.size), e.Path)
			continue
		}
		fmt.Fprintf(&in, "%o %x\t%s\x00", e.Mode, e.Now, e.Path)
	}
	// No shared index is written beside the user's, and none removed.
	c := t.l.git("-c", "splitIndex.maxPercentChange=100", "-c", "splitIndex.sharedIndexExpire=never", "update-index", "-z", "--index-info")
	c.stdin = strings.NewReader(in.String())
	c.env = []string{"GIT_INDEX_FILE=" + tmp}
	if _, err := c.output(ctx); err != nil {
		return nil, fmt.Errorf("prepare the index: %w", err)
	}
	return os.ReadFile(tmp)
}
