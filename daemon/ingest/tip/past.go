package tip

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/gitops/upstream"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/index"
	"github.com/foldwatch/foldwatch/meta/secret"
)

const (
	// pastCommits are read and kept of the default branch, newest first: those
	// that answer most questions, in a second or two on a large repository.
	pastCommits = 5000
	// pastFiles are the most eligible files of a commit that is kept. One that
	// changes more is about none of them.
	pastFiles = 30
	// pastMessage is how much of a message is kept, in bytes.
	pastMessage = 2 << 10
)

// ReadPast keeps the commits of the default branch that came since it was read
// last, all of the newest where it was not or where history was rewritten.
// Merges, the commits of bots, messages that hold a credential, and commits of
// too many files are left out. Where the remote's default branch, ahead, goes on
// from ours, its past is read. It returns at once if neither has moved.
func (fo *Follower) ReadPast(ctx context.Context, ahead upstream.Branch) error {
	_, tip, err := fo.branch.Default(ctx)
	if err != nil || tip == "" {
		return err
	}
	l := fo.Repo
	if ahead.Tip != "" && ahead.Tip != tip {
		if left, _, err := ahead.Repo.Apart(ctx, tip, ahead.Tip); err == nil && left == 0 {
			l, tip = ahead.Repo, ahead.Tip
		}
	}
	known, err := fo.index.CommitsTip(ctx)
	if err != nil || known == tip {
		return err
	}
	anew := known == ""
	if !anew {
		left, err := l.Commits(ctx, tip, known, 1)
		anew = err != nil || len(left) > 0 // gone, or no longer in the past of the tip
	}
	from := known
	if anew {
		from = ""
	}
	commits, err := l.Commits(ctx, from, tip, pastCommits)
	if err != nil {
		return fmt.Errorf("read past commits: %w", err)
	}
	var keep []index.Commit
	for _, c := range slices.Backward(commits) {
		if p, ok := fo.pastCommit(c); ok {
			keep = append(keep, p)
		}
	}
	return fo.index.AddCommits(ctx, tip, keep, anew, pastCommits)
}

func (fo *Follower) pastCommit(c usergit.Commit) (index.Commit, bool) {
	p := index.Commit{Oid: c.Oid}
	if c.Parents >= commitMerged || c.Grafted || isBot(&c) {
		return p, false
	}
	rules, dir := fo.Selection.Rules(), fo.Selection.FoldDir()
	for _, f := range c.Files {
		if rules.Eligible(f, dir) {
			p.Files = append(p.Files, f)
		}
	}
	text := strings.TrimSpace(c.Subject + "\n" + c.Body)
	p.Message = strings.ToValidUTF8(text[:min(len(text), pastMessage)], "")
	if p.Message == "" || len(p.Files) == 0 || len(p.Files) > pastFiles {
		return p, false
	}
	return p, len(secret.Scan([]byte(p.Message))) == 0
}
