package usergit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Commit is one commit of the user's history.
type Commit struct {
	Oid         string
	Subject     string
	Body        string // without the subject; at most maxBody bytes
	AuthorName  string
	AuthorEmail string
	AuthorTime  time.Time // UTC
	Time        time.Time // of the commit, UTC
	Parents     int
	Files       []string // paths that differ from the parent, at most maxFiles; none for merges
	Removed     []string // those of Files that are gone after it
	More        int      // paths that differ beyond Files
	// Grafted says that a shallow clone does not have its parents: it looks as if
	// it had added every file there is.
	Grafted bool
}

// trailerCommit is the trailer of every commit that foldwatch makes, and
// TrailerPublish that of those in which a user publishes memories.
const (
	TrailerCommit  = "Foldwatch-Commit"
	TrailerPublish = "Foldwatch-Publish"
)

// Ours reports whether foldwatch made the commit, as its trailer says: what it
// holds are memories.
func (c *Commit) Ours() bool {
	for _, name := range []string{TrailerCommit, TrailerPublish} {
		if strings.HasPrefix(c.Body, name+": ") || strings.Contains(c.Body, "\n"+name+": ") {
			return true
		}
	}
	return false
}

// Caps on what one commit brings into memory.
const (
	maxBody  = 64 << 10
	maxFiles = 2000
)

// Commits returns the commits reachable from to and not from from (an empty
// from excludes nothing), newest first, at most limit (0 means all).
func (l *Repo) Commits(ctx context.Context, from, to string, limit int) ([]Commit, error) {
	return l.commits(ctx, to, []string{from}, limit)
}

// Changes is Commits without merges, without what is reachable from any of not
// ("" excludes nothing), and without the newest skip of them.
func (l *Repo) Changes(ctx context.Context, to string, not []string, skip, limit int) ([]Commit, error) {
	return l.commits(ctx, to, not, limit, "--no-merges", "--skip="+strconv.Itoa(skip))
}

// CountChanges returns how many commits [Repo.Changes] would return that skips
// none and has no limit.
func (l *Repo) CountChanges(ctx context.Context, to string, not []string) (int, error) {
	args := append([]string{"rev-list", "--count", "--no-merges", "--end-of-options", to}, except(not)...)
	s, err := l.Git(append(args, "--")...).Line(ctx)
	if err != nil {
		return 0, fmt.Errorf("count commits of %s: %w", to, err)
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("count commits of %s: %w", to, err)
	}
	return n, nil
}

// UnknownCommit reports whether err says that git does not have a commit that it
// was asked about.
func UnknownCommit(err error) bool {
	g, ok := errors.AsType[*gitError](err)
	return ok && (strings.Contains(g.Stderr, "bad object") || strings.Contains(g.Stderr, "bad revision"))
}

// except are the arguments that leave out what is reachable from any of revs.
func except(revs []string) (args []string) {
	for _, rev := range revs {
		if rev != "" {
			args = append(args, "^"+rev)
		}
	}
	return args
}

func (l *Repo) commits(ctx context.Context, to string, not []string, limit int, only ...string) ([]Commit, error) {
	args := append([]string{
		"log", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv",
		"--no-show-signature", "--no-notes", "--no-mailmap", "--encoding=UTF-8",
		"--format=%x01%H%x00%P%x00%an%x00%ae%x00%at%x00%ct%x00%s%x00%b%x00",
	}, only...)
	if limit > 0 {
		args = append(args, "-n", strconv.Itoa(limit))
	}
	args = append(append(args, "--end-of-options", to), except(not)...)
	var out []Commit
	err := l.Git(append(args, "--")...).stream(ctx, func(r *bufio.Reader) (err error) {
		out, err = readCommits(zReader{r})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list commits of %s: %w", to, err)
	}
	grafted := l.grafts()
	for i := range out {
		out[i].Grafted = grafted[out[i].Oid]
	}
	return out, nil
}

// grafts returns the commits at which a shallow clone ends, nil for others.
func (l *Repo) grafts() map[string]bool {
	b, err := os.ReadFile(filepath.Join(l.CommonDir, "shallow"))
	if err != nil {
		return nil
	}
	oids := map[string]bool{}
	for line := range strings.FieldsSeq(string(b)) {
		oids[line] = true
	}
	return oids
}

func readCommits(z zReader) ([]Commit, error) {
	var out []Commit
	for {
		s, err := z.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		s = strings.TrimLeft(s, "\n")
		switch {
		case s == "": // between a message and its files, or two commits
		case s[0] == 1:
			c := Commit{Oid: s[1:]}
			var parents, written, made string
			for _, p := range []*string{&parents, &c.AuthorName, &c.AuthorEmail, &written, &made, &c.Subject, &c.Body} {
				if *p, err = z.next(); err != nil {
					return nil, short(err)
				}
			}
			if c.Time, err = readTime(made); err != nil {
				return nil, fmt.Errorf("time of commit %s: %w", c.Oid, err)
			}
			if c.AuthorTime, err = readTime(written); err != nil {
				c.AuthorTime = c.Time // a broken tool wrote it
			}
			c.Subject, c.AuthorName = strings.ToValidUTF8(c.Subject, ""), strings.ToValidUTF8(c.AuthorName, "")
			c.Parents = len(strings.Fields(parents))
			c.Body = strings.TrimSpace(c.Body)
			c.Body = strings.ToValidUTF8(c.Body[:min(len(c.Body), maxBody)], "")
			out = append(out, c)
		case s[0] == ':' && len(out) > 0:
			raw, err := parseRaw(s)
			if err != nil {
				return nil, err
			}
			if err := readRawPaths(z, &raw); err != nil {
				return nil, err
			}
			c := &out[len(out)-1]
			c.touched(&raw)
		default:
			return nil, fmt.Errorf("unexpected line %.80q", s)
		}
	}
}

// touched notes a file that the commit changes.
func (c *Commit) touched(raw *rawLine) {
	was, is := regularMode(raw.modes[0]), regularMode(raw.modes[1])
	switch {
	case !was && !is:
	case len(c.Files) == maxFiles:
		c.More++
	default:
		c.Files = append(c.Files, raw.path)
		if !is {
			c.Removed = append(c.Removed, raw.path)
		}
	}
}

// CommitTime returns the commit time of rev, UTC.
func (l *Repo) CommitTime(ctx context.Context, rev string) (time.Time, error) {
	s, err := l.Git("log", "-1", "--no-show-signature", "--format=%ct", "--end-of-options", rev, "--").Line(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("time of commit %s: %w", rev, err)
	}
	t, err := readTime(s)
	if err != nil {
		return time.Time{}, fmt.Errorf("time of commit %s: %w", rev, err)
	}
	return t, nil
}

// fewPaths is up to how many paths a history is asked for by name: git then
// skips the folders they are not in.
const fewPaths = 64

// HasBlobs returns, for each path of want, which of its blobs occur at that
// path anywhere in the local history of tip, tip included. It is one pass over
// the history that stops when all are found.
func (l *Repo) HasBlobs(ctx context.Context, tip string, want map[string][]string) (map[string]map[string]bool, error) {
	found := map[string]map[string]bool{}
	missing := 0
	for path, blobs := range want {
		m := map[string]bool{}
		for _, b := range blobs {
			if b != "" {
				m[b] = false
			}
		}
		found[path], missing = m, missing+len(m)
	}
	defer func() {
		for _, m := range found {
			maps.DeleteFunc(m, func(_ string, in bool) bool { return !in })
		}
	}()
	if missing == 0 || tip == "" {
		return found, nil
	}
	// -c shows what a merge itself brought in, and no file that a parent had.
	args := []string{
		"log", "-z", "--raw", "--no-abbrev", "--no-renames", "-c", "--full-history", "--no-color",
		"--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-notes", "--format=", "--end-of-options", tip, "--",
	}
	if len(want) <= fewPaths {
		for _, p := range slices.Sorted(maps.Keys(want)) {
			args = append(args, ":(literal)"+p)
		}
	}
	err := l.Git(args...).stream(ctx, func(r *bufio.Reader) error {
		z := zReader{r}
		for {
			s, err := z.next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if s = strings.TrimLeft(s, "\n"); s == "" {
				continue
			}
			raw, err := parseRaw(s)
			if err != nil {
				return err
			}
			if err := readRawPaths(z, &raw); err != nil {
				return err
			}
			m, ok := found[raw.path]
			if !ok {
				continue
			}
			for _, oid := range raw.oids { // old sides too: a shallow clone lacks the commit that added it
				if in, asked := m[oid]; asked && !in {
					m[oid] = true
					missing--
				}
			}
			if missing == 0 {
				return errEnough
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("search the history of %s: %w", tip, err)
	}
	return found, nil
}

// Apart returns how many commits two histories have that the other lacks: a and b
// name their newest.
func (l *Repo) Apart(ctx context.Context, a, b string) (onlyA, onlyB int, err error) {
	line, err := l.Git("rev-list", "--count", "--left-right", "--end-of-options", a+"..."+b, "--").Line(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("compare %.12s with %.12s: %w", a, b, err)
	}
	left, right, _ := strings.Cut(line, "\t")
	if onlyA, err = strconv.Atoi(left); err == nil {
		onlyB, err = strconv.Atoi(right)
	}
	return onlyA, onlyB, err
}
