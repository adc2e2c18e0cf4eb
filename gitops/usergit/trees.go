package usergit

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
)

// Tree returns the regular files of a commit or tree, path → blob. Symlinks
// and submodules are left out. Below limits it to these paths and what lies below them.
func (l *Repo) Tree(ctx context.Context, oid string, below ...string) (map[string]string, error) {
	out := map[string]string{}
	if oid == "" {
		return out, nil
	}
	args := append([]string{"--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", oid}, below...)
	err := l.Git(args...).stream(ctx, func(r *bufio.Reader) error {
		return zReader{r}.each(func(s string) error {
			head, path, ok := strings.Cut(s, "\t")
			f := strings.Fields(head)
			if !ok || len(f) != 3 {
				return fmt.Errorf("unexpected line %.80q", s)
			}
			if f[1] == "blob" && regularMode(f[0]) {
				out[path] = f[2]
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list tree %s: %w", oid, err)
	}
	return out, nil
}

// A TreeChange is one path that differs between two commits.
type TreeChange struct {
	Status  byte   // A, M, D, R (renamed from OldPath), T never
	Path    string // for D the path that is gone
	OldPath string // of a rename, else ""
	OldBlob string // "" for A
	NewBlob string // "" for D
}

// DiffTrees returns what differs between two commits or trees, renames found
// at 50 % similarity. An empty from means the empty tree. Only regular files
// count: a file that became a symlink is deleted, and the reverse is added.
func (l *Repo) DiffTrees(ctx context.Context, from, to string) ([]TreeChange, error) {
	if from == "" {
		tree, err := l.Tree(ctx, to)
		if err != nil {
			return nil, err
		}
		out := make([]TreeChange, 0, len(tree))
		for _, path := range slices.Sorted(maps.Keys(tree)) {
			out = append(out, TreeChange{Status: 'A', Path: path, NewBlob: tree[path]})
		}
		return out, nil
	}
	out, err := l.diffTrees(ctx, "-M50%", from, to)
	if ExitCode(err) == 128 {
		// A partial clone lacks the blobs that similarity needs.
		out, err = l.diffTrees(ctx, "--no-renames", from, to)
	}
	if err != nil {
		return nil, fmt.Errorf("compare %s with %s: %w", from, to, err)
	}
	return out, nil
}

func (l *Repo) diffTrees(ctx context.Context, renames, from, to string) ([]TreeChange, error) {
	var out []TreeChange
	c := l.Git("diff-tree", "-r", "-z", "--raw", "--no-abbrev", renames, "-l1000",
		"--no-ext-diff", "--no-textconv", "--no-color", "--end-of-options", from, to)
	err := c.stream(ctx, func(r *bufio.Reader) error {
		z := zReader{r}
		for {
			raw, err := readRaw(z)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if ch, ok := raw.change(); ok {
				out = append(out, ch)
			}
		}
	})
	return out, err
}

// A rawLine is one entry of git's raw diff format, of one or more parents.
type rawLine struct {
	modes  []string // one per parent, then the result's
	oids   []string
	status string // letter and, for renames, a similarity
	path   string
	old    string // of a rename or copy
}

// readRaw reads one entry of raw -z output.
func readRaw(z zReader) (rawLine, error) {
	s, err := z.next()
	if err != nil {
		return rawLine{}, err
	}
	raw, err := parseRaw(s)
	if err != nil {
		return raw, err
	}
	return raw, readRawPaths(z, &raw)
}

// parseRaw reads "::mode… oid… status".
func parseRaw(s string) (rawLine, error) {
	body := strings.TrimLeft(s, ":")
	n := len(s) - len(body) // parents
	f := strings.Fields(body)
	if n == 0 || len(f) != 2*(n+1)+1 {
		return rawLine{}, fmt.Errorf("unexpected line %.80q", s)
	}
	return rawLine{modes: f[:n+1], oids: f[n+1 : 2*(n+1)], status: f[2*(n+1)]}, nil
}

func readRawPaths(z zReader, raw *rawLine) (err error) {
	if len(raw.oids) == 2 && (raw.status[0] == 'R' || raw.status[0] == 'C') {
		if raw.old, err = z.next(); err != nil {
			return short(err)
		}
	}
	raw.path, err = z.next()
	return short(err)
}

// short turns an end in the middle of an entry into an error.
func short(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// change returns the entry as a change between regular files.
func (raw rawLine) change() (TreeChange, bool) {
	was, is := regularMode(raw.modes[0]), regularMode(raw.modes[1])
	ch := TreeChange{Path: raw.path, OldBlob: raw.oids[0], NewBlob: raw.oids[1]}
	switch {
	case !was && !is:
		return ch, false
	case !was:
		ch.Status, ch.OldBlob = 'A', ""
	case !is:
		ch.Status, ch.NewBlob = 'D', ""
	case raw.status[0] == 'R':
		ch.Status, ch.OldPath = 'R', raw.old
	case ch.OldBlob == ch.NewBlob:
		return ch, false // only the executable bit
	default:
		ch.Status = 'M'
	}
	return ch, true
}

// MaxBlob is how many bytes of a blob are read: the size up to which a source
// file is cut at its syntax.
const MaxBlob = 1 << 20

// Blobs reads objects in one run of the git program and calls fn with each, in
// the order of oids. b holds at most MaxBlob+1 bytes, so that a longer blob
// can be told; it is valid until fn returns, and nil if the object is missing
// (a partial clone, a shallow one) or no blob. An error of fn ends the run.
func (l *Repo) Blobs(ctx context.Context, oids []string, fn func(oid string, b []byte) error) error {
	if len(oids) == 0 {
		return nil
	}
	c := l.Git("cat-file", "--batch", "--buffer")
	c.stdin = strings.NewReader(strings.Join(oids, "\n") + "\n")
	buf := make([]byte, 0, 64<<10)
	err := c.stream(ctx, func(r *bufio.Reader) error {
		for _, oid := range oids {
			head, err := r.ReadString('\n')
			if err != nil {
				return short(err)
			}
			f := strings.Fields(head)
			if len(f) != 3 {
				if err := fn(oid, nil); err != nil {
					return err
				}
				continue
			}
			size, err := strconv.ParseInt(f[2], 10, 64)
			if err != nil {
				return fmt.Errorf("unexpected line %.80q", head)
			}
			n := int(min(size, MaxBlob+1))
			if cap(buf) < n {
				buf = make([]byte, n)
			}
			buf = buf[:n]
			if _, err := io.ReadFull(r, buf); err != nil {
				return short(err)
			}
			if _, err := io.CopyN(io.Discard, r, size-int64(n)+1); err != nil { // and the line end
				return short(err)
			}
			b := buf[:n:n]
			if f[1] != "blob" {
				b = nil
			}
			if err := fn(oid, b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read objects: %w", err)
	}
	return nil
}
