package gitops

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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
	Time        time.Time // of the commit, UTC
	Parents     int
	Files       []string // paths that differ from the parent; none for merges
}

// Caps on what one commit brings into memory.
const (
	maxBody  = 64 << 10
	maxFiles = 2000
)

// Commits returns the commits reachable from to and not from from (an empty
// from excludes nothing), newest first, at most limit (0 means all).
func (l *Layout) Commits(ctx context.Context, from, to string, limit int) ([]Commit, error) {
	args := []string{
		"log", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv",
		"--no-show-signature", "--no-notes", "--no-mailmap", "--encoding=UTF-8",
		"--format=%x01%H%x00%P%x00%an%x00%ae%x00%ct%x00%s%x00%b%x00",
	}
	if limit > 0 {
		args = append(args, "-n", strconv.Itoa(limit))
	}
	args = append(args, "--end-of-options", to)
	if from != "" {
		args = append(args, "^"+from)
	}
	var out []Commit
	err := l.git(append(args, "--")...).stream(ctx, func(r *bufio.Reader) (err error) {
		out, err = readCommits(zReader{r})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list commits of %s: %w", to, err)
	}
	return out, nil
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
			var parents, sec string
			for _, p := range []*string{&parents, &c.AuthorName, &c.AuthorEmail, &sec, &c.Subject, &c.Body} {
				if *p, err = z.next(); err != nil {
					return nil, short(err)
				}
			}
			n, err := strconv.ParseInt(sec, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("time of commit %s: %w", c.Oid, err)
			}
			c.Time = time.Unix(n, 0).UTC()
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
			if (regularMode(raw.modes[0]) || regularMode(raw.modes[1])) && len(c.Files) < maxFiles {
				c.Files = append(c.Files, raw.path)
			}
		default:
			return nil, fmt.Errorf("unexpected line %.80q", s)
		}
	}
}

// CommitTime returns the commit time of rev, UTC.
func (l *Layout) CommitTime(ctx context.Context, rev string) (time.Time, error) {
	s, err := l.git("log", "-1", "--no-show-signature", "--format=%ct", "--end-of-options", rev, "--").line(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("time of commit %s: %w", rev, err)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("time of commit %s: %w", rev, err)
	}
	return time.Unix(n, 0).UTC(), nil
}

// fewPaths is up to how many paths a history is asked for by name: git then
// skips the folders they are not in.
const fewPaths = 64

// HasBlobs returns, for each path of want, which of its blobs occur at that
// path anywhere in the local history of tip, tip included. It is one pass over
// the history that stops when all are found.
func (l *Layout) HasBlobs(ctx context.Context, tip string, want map[string][]string) (map[string]map[string]bool, error) {
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
		for _, p := range sortedKeys(want) {
			args = append(args, ":(literal)"+p)
		}
	}
	err := l.git(args...).stream(ctx, func(r *bufio.Reader) error {
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

// HasBlob returns which of blobs occur at path in the local history of tip.
func (l *Layout) HasBlob(ctx context.Context, path, tip string, blobs []string) (map[string]bool, error) {
	found, err := l.HasBlobs(ctx, tip, map[string][]string{path: blobs})
	return found[path], err
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
