package corpus

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/daemon/eval"
	"github.com/foldwatch/foldwatch/gitops"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Bounds of what is mined from a checkout.
const (
	maxMinedCommits  = 100  // commits that become questions
	maxLookedCommits = 400  // newest commits that are looked through for them
	minPast          = 20   // commits that stay behind as history, at least
	maxPast          = 5000 // and at most
	maxMinedComments = 200  // comments that become questions
	commentsOfFile   = 4    // of one file at most
	maxMinedFiles    = 8    // files of a commit that is asked for
	leastWords       = 4    // words of a question
	leastLines       = 5    // lines of a function that is asked for
	maxQuestion      = 600  // bytes
	minedSlug        = "checkout"
	maxPastFiles     = 30 // files of a commit that stays behind
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
	l, err := gitops.Locate(ctx, path)
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
	if err := export(ctx, l, tree, dir); err != nil {
		return c, nil, err
	}
	if c.Past, err = before(ctx, l, base); err != nil {
		return c, nil, err
	}
	questions := fromCommits(asked, tree)
	pool := chunker.NewPool(chunker.PoolOptions{Command: worker})
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
func newest(commits []gitops.Commit) (asked []gitops.Commit, base string) {
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

// before returns the past of a commit, itself included, oldest first.
func before(ctx context.Context, l *gitops.Layout, base string) ([]gitops.Past, error) {
	commits, err := l.Commits(ctx, "", base, maxPast)
	if err != nil {
		return nil, err
	}
	var past []gitops.Past
	for _, c := range slices.Backward(commits) {
		if c.Parents < 2 && len(c.Files) <= maxPastFiles {
			past = append(past, gitops.Past{Message: strings.TrimSpace(c.Subject + "\n\n" + c.Body), Author: c.AuthorName, Time: c.Time, Files: c.Files})
		}
	}
	return past, nil
}

// fromCommits asks for the files that commits changed and that are in the tree.
func fromCommits(commits []gitops.Commit, tree map[string]string) []eval.Query {
	var out []eval.Query
	for _, c := range commits {
		text := clipBytes(strings.TrimSpace(c.Subject+"\n"+c.Body), maxQuestion)
		q := eval.Query{QID: "commit-" + c.Oid[:12], Set: "a", Repo: minedSlug, Text: text, SHA: c.Oid}
		for _, f := range c.Files {
			if _, ok := tree[f]; ok && chunker.Language(f, nil) != "" {
				q.Rel = append(q.Rel, eval.Target{Path: f})
			}
		}
		if len(strings.Fields(text)) >= leastWords && len(q.Rel) > 0 && len(q.Rel) <= maxMinedFiles {
			out = append(out, q)
		}
	}
	return out
}

// A comment is a doc comment with the function it is about. Lines count from 1.
type comment struct {
	path       string
	start, end int // of the comment
	last       int // of the function
	text       string
	order      [sha256.Size]byte // a fair choice that does not change
}

// fromComments asks by comments of files below dir, and takes these out of them.
func fromComments(ctx context.Context, pool *chunker.Pool, dir string, tree map[string]string) ([]eval.Query, error) {
	var all []comment
	for p := range tree {
		src, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(p)))
		if err != nil {
			continue // too long to be exported
		}
		r, err := pool.Cut(ctx, p, src)
		if err != nil {
			return nil, fmt.Errorf("cut %s: %w", p, err)
		}
		found := commentsOf(p, src, r.Chunks)
		slices.SortFunc(found, byOrder)
		all = append(all, found[:min(len(found), commentsOfFile)]...)
	}
	slices.SortFunc(all, byOrder)
	all = all[:min(len(all), maxMinedComments)]
	var out []eval.Query
	for _, c := range all {
		if err := blank(filepath.Join(dir, filepath.FromSlash(c.path)), c.start, c.end); err != nil {
			return nil, err
		}
		out = append(out, eval.Query{
			QID: fmt.Sprintf("comment-%s:%d", c.path, c.start), Set: "b", Repo: minedSlug, Text: c.text,
			Rel: []eval.Target{{Path: c.path, Start: c.end + 1, End: c.last}}, Strip: &eval.Target{Path: c.path, Start: c.start, End: c.end},
		})
	}
	return out, nil
}

func byOrder(a, b comment) int { return slices.Compare(a.order[:], b.order[:]) }

// blank empties lines of a file; those below keep their numbers.
func blank(path string, start, end int) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(string(b), "\n")
	for i := start - 1; i < end && i < len(lines); i++ {
		lines[i] = "\n"
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644)
}

// commentsOf returns the comments right above the functions of a file.
func commentsOf(path string, src []byte, chunks []fold.Chunk) []comment {
	lines := strings.Split(string(src), "\n")
	var out []comment
	for _, ch := range chunks {
		if ch.NodeType != "function" && ch.NodeType != "method" || ch.EndLine > len(lines) {
			continue
		}
		start := ch.StartLine
		for start < ch.EndLine && strings.TrimSpace(lines[start-1]) == "" {
			start++
		}
		end := start - 1 // of the comment
		for end < ch.EndLine && isComment(lines[end]) {
			end++
		}
		text := sentence(lines[start-1:end], ch.NodeName)
		last := ch.EndLine
		for last > end && strings.TrimSpace(lines[last-1]) == "" {
			last--
		}
		if last-end < leastLines || len(strings.Fields(text)) < leastWords {
			continue
		}
		out = append(out, comment{path, start, end, last, text, sha256.Sum256([]byte(path + "\x00" + ch.NodeName))})
	}
	return out
}

// markers begin a line of a comment in one language or another.
var markers = []string{"/**", "///", "//!", "//", "/*", "*/", "*", "##", "#", "--"}

func isComment(line string) bool {
	line = strings.TrimSpace(line)
	return slices.ContainsFunc(markers, func(m string) bool { return strings.HasPrefix(line, m) })
}

// sentence returns the first sentence of a comment, without the name of what it
// is about, which would give the answer away.
func sentence(lines []string, name string) string {
	var parts []string
	for _, line := range lines {
		line = strings.TrimSuffix(strings.TrimSpace(line), "*/")
		for _, m := range markers {
			if rest, ok := strings.CutPrefix(line, m); ok {
				line = rest
				break
			}
		}
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "@") {
			if len(parts) > 0 {
				break
			}
			continue
		}
		parts = append(parts, line)
	}
	text := strings.Join(parts, " ")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i]
	}
	first, rest, _ := strings.Cut(text, " ")
	own := name[strings.LastIndexAny(name, ".:#")+1:]
	if strings.EqualFold(strings.Trim(first, "`.:()"), cmp.Or(own, name)) {
		text = rest
	}
	return clipBytes(text, maxQuestion)
}

func clipBytes(s string, n int) string { return strings.ToValidUTF8(s[:min(len(s), n)], "") }
