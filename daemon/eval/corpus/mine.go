package corpus

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Bounds of what is mined from a checkout.
const (
	maxMinedCommits  = 100  // commits that become questions
	maxLookedCommits = 400  // newest commits that are looked through for them
	minPast          = 20   // commits that stay behind as history, at least
	maxPast          = 5000 // and at most
	maxMinedComments = 200  // comments that become questions
	maxMinedFiles    = 8    // files of a commit that is asked for
	maxPastFiles     = 30   // files of a commit that stays behind
	minedSlug        = "checkout"
)

// Mine makes a corpus of the checkout that holds path, and questions of it that
// need no labels: the messages of its newest commits, which ask for the files
// they changed (set a), and the first sentences of doc comments, which ask for
// the function below (set b). The corpus is the tree before those commits, with
// their past, and without those comments; it is made in dir, which is empty. The
// same history gives the same questions. Worker is as in [Options].
//
// It returns ErrNotFound if there is no history, or nothing to ask.
func Mine(ctx context.Context, path, dir string, worker []string) (Corpus, []eval.Query, error) {
	c := Corpus{Slug: minedSlug, Tree: dir}
	l, err := usergit.Locate(ctx, path)
	if err != nil {
		return c, nil, err
	}
	head, err := l.Head(ctx)
	if err != nil {
		return c, nil, err
	}
	if head.Oid == "" {
		return c, nil, fmt.Errorf("mine %s: it has no commit yet: %w", path, fold.ErrNotFound)
	}
	commits, err := l.Commits(ctx, "", head.Oid, maxPast+maxLookedCommits)
	if err != nil {
		return c, nil, err
	}
	asked, base := newest(commits)
	tree, err := l.Tree(ctx, base)
	if err != nil {
		return c, nil, err
	}
	for p := range tree {
		if strings.HasPrefix(p, "fold/") {
			delete(tree, p)
		}
	}
	if err := Export(ctx, l, tree, dir); err != nil {
		return c, nil, err
	}
	if c.Past, err = Before(ctx, l, base); err != nil {
		return c, nil, err
	}
	questions := fromCommits(asked, tree)
	pool := chunker.NewPool(chunker.PoolOptions{Command: worker}, chunker.Options{})
	defer pool.Close()
	comments, err := fromComments(ctx, pool, dir, tree)
	if err != nil {
		return c, nil, err
	}
	if questions = append(questions, comments...); len(questions) == 0 {
		return c, nil, fmt.Errorf("mine %s: no commit and no comment to ask by: %w", path, fold.ErrNotFound)
	}
	return c, questions, nil
}

// newest returns the commits to ask for, and the one before all of them. A short
// history is not cut: all of it is past, and nothing of it asked for.
func newest(commits []usergit.Commit) (asked []usergit.Commit, base string) {
	n := min(maxLookedCommits, len(commits)/3)
	if len(commits)-n < minPast {
		n = 0
	}
	for i, c := range commits[:n] {
		if len(asked) == maxMinedCommits {
			return asked, commits[i].Oid
		}
		if c.Parents == 1 {
			asked = append(asked, c)
		}
	}
	return asked, commits[n].Oid
}

// Before returns the past of a commit, itself included, oldest first.
func Before(ctx context.Context, l *usergit.Repo, base string) ([]usergit.FixtureCommit, error) {
	commits, err := l.Commits(ctx, "", base, maxPast)
	if err != nil {
		return nil, err
	}
	var past []usergit.FixtureCommit
	for _, c := range slices.Backward(commits) {
		if c.Parents < 2 && len(c.Files) <= maxPastFiles {
			past = append(past, usergit.FixtureCommit{Message: strings.TrimSpace(c.Subject + "\n\n" + c.Body), Author: c.AuthorName, Time: c.Time, Files: c.Files})
		}
	}
	return past, nil
}

// fromCommits asks for the files that commits changed and that are in the tree.
func fromCommits(commits []usergit.Commit, tree map[string]string) []eval.Query {
	var out []eval.Query
	for _, c := range commits {
		q := eval.Query{QID: "commit-" + c.Oid[:12], Set: "a", Repo: minedSlug, Text: eval.Question(c.Subject + "\n" + c.Body), SHA: c.Oid}
		for _, f := range c.Files {
			if _, ok := tree[f]; ok && chunker.Language(f, nil) != "" {
				q.Rel = append(q.Rel, eval.Target{Path: f})
			}
		}
		if eval.Asks(q.Text) && len(q.Rel) > 0 && len(q.Rel) <= maxMinedFiles {
			out = append(out, q)
		}
	}
	return out
}

// fromComments asks by comments of files below dir, and takes these out of them.
func fromComments(ctx context.Context, pool *chunker.Pool, dir string, tree map[string]string) ([]eval.Query, error) {
	var all []eval.Comment
	for p := range tree {
		src, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(p)))
		if err != nil {
			continue // too long to be exported
		}
		r, err := pool.Cut(ctx, p, src)
		if err != nil {
			return nil, fmt.Errorf("cut %s: %w", p, err)
		}
		all = append(all, eval.Comments(p, src, r.Chunks)...)
	}
	var out []eval.Query
	for _, c := range eval.Fair(all, maxMinedComments) {
		path := filepath.Join(dir, filepath.FromSlash(c.Path))
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, c.Blank(src), 0o644); err != nil {
			return nil, err
		}
		out = append(out, c.Question(minedSlug))
	}
	return out, nil
}
