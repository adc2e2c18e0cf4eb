package gitops

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/gitindex"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// An oid is the name of an object of the user's repository in bytes: 20 or 32 of
// them; "" is none.
type oid string

func (o oid) String() string { return hex.EncodeToString([]byte(o)) }

func (o oid) bytes() []byte {
	if o == "" {
		return nil
	}
	return []byte(o)
}

func parseOid(s string, size int) (oid, bool) {
	b, err := hex.DecodeString(s)
	return oid(b), err == nil && len(b) == size
}

// A userEntry is one name in a tree of the user's repository, of any kind.
type userEntry struct {
	mode string
	name string
	oid  oid
}

func (e userEntry) isDir() bool { return e.mode == "40000" || e.mode == "040000" }

// sortKey orders entries as git does: a folder as if its name ended in "/".
func (e userEntry) sortKey() string {
	if e.isDir() {
		return e.name + "/"
	}
	return e.name
}

// userObjects reads objects of the user's repository through one git program, and
// holds the new ones until they are written. For one caller at a time.
type userObjects struct {
	l    *Layout
	size int                 // bytes of an object name
	own  *objects            // ours, which may have a tree of theirs as well; nil is none
	kept keptObjects         // what was read and made last, which the next commit begins with
	aged keptObjects         // the same of before
	made map[oid]*userObject // new ones
	cat  *exec.Cmd           // nil until the first object is read
	in   io.WriteCloser      // of cat
	out  *bufio.Reader       // of cat
	stop context.CancelFunc  // ends cat
}

type userObject struct {
	kind string
	data []byte
}

// keptObjects are objects, decoded, that need not be read again.
type keptObjects struct {
	trees   map[oid][]userEntry
	commits map[oid]userCommit
	blobs   map[oid][]byte
	bytes   int // about how much that is
}

// maxKept is how much of them is kept from one commit to the next, in bytes: the
// trees of 8,000 memories are 1 MB. What was not used in the last half of it goes.
const maxKept = 4 << 20

// maxAged is what may be kept for once beyond that, as all trees of 100,000 memories:
// 6 MB. A commit that was made of more, as the first of many memories, leaves nothing.
const maxAged = 4 * maxKept

func newKept() keptObjects {
	return keptObjects{map[oid][]userEntry{}, map[oid]userCommit{}, map[oid][]byte{}, 0}
}

// keptAgain returns what is kept under id. What was used before, and not lately, has
// been used lately then.
func keptAgain[T any](bytes *int, lately, before map[oid]T, id oid, size func(T) int) (T, bool) {
	if v, ok := lately[id]; ok {
		return v, true
	}
	v, ok := before[id]
	if ok {
		lately[id] = v
		*bytes += size(v)
	}
	return v, ok
}

func treeBytes(t []userEntry) int  { return 64 * len(t) }
func blobBytes(b []byte) int       { return len(b) }
func commitBytes(c userCommit) int { return 256 + len(c.message) }

func newUserObjects(l *Layout, size int) *userObjects {
	return &userObjects{l: l, size: size, kept: newKept(), aged: newKept(), made: map[oid]*userObject{}}
}

// get returns the bytes of an object of kind. An object that is missing, as in a
// partial clone, is ErrUnavailable: nothing is fetched here. A tree that we made is
// in our repository under the same name, and read there without a process.
func (u *userObjects) get(ctx context.Context, kind string, id oid) ([]byte, error) {
	if o := u.made[id]; o != nil && o.kind == kind {
		return o.data, nil
	}
	if u.own != nil && kind == "tree" && u.size == len(plumbing.ZeroHash) {
		if b, ok := u.own.peek(plumbing.TreeObject, plumbing.Hash([]byte(id))); ok {
			return b, nil
		}
	}
	if err := u.start(ctx); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(u.in, id.String()+"\n"); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, id, err)
	}
	head, err := u.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, id, err)
	}
	f := strings.Fields(head)
	if len(f) != 3 || f[1] != kind {
		return nil, fold.WithHint(fmt.Errorf("%s %s is not in this clone: %w", kind, id, fold.ErrUnavailable),
			"fetch it: git fetch --refetch, or keep history beside the repository: --commit-to sidecar")
	}
	n, err := strconv.Atoi(f[2])
	if err != nil || n < 0 || n > 64<<20 {
		return nil, fmt.Errorf("%s %s is too large: %w", kind, id, fold.ErrInvalid)
	}
	b := make([]byte, n+1)
	if _, err := io.ReadFull(u.out, b); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, id, err)
	}
	return b[:n], nil
}

func (u *userObjects) start(ctx context.Context) error {
	if u.cat != nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, callLimit)
	cmd, err := u.l.git("cat-file", "--batch").command(ctx)
	if err != nil {
		stop()
		return err
	}
	in, err := cmd.StdinPipe()
	if err == nil {
		u.in = in
		var out io.Reader
		if out, err = cmd.StdoutPipe(); err == nil {
			u.out = bufio.NewReaderSize(out, 64<<10)
			err = cmd.Start()
		}
	}
	if err != nil {
		stop()
		return fmt.Errorf("git cat-file: %w", err)
	}
	u.cat, u.stop = cmd, stop
	return nil
}

// close ends the program and forgets what was not written.
func (u *userObjects) close() {
	u.made = map[oid]*userObject{}
	if u.kept.bytes > maxKept/2 {
		if u.aged = u.kept; u.aged.bytes > maxAged {
			u.aged = newKept()
		}
		u.kept = newKept()
	}
	if u.cat == nil {
		return
	}
	_ = u.in.Close()
	u.stop()
	_ = u.cat.Wait() // ended on purpose
	u.cat = nil
}

// put adds an object to those that are to be written.
func (u *userObjects) put(kind string, b []byte) oid {
	h := gitindex.NewHash(u.size)
	fmt.Fprintf(h, "%s %d\x00", kind, len(b))
	h.Write(b)
	id := oid(h.Sum(nil))
	u.made[id] = &userObject{kind, b}
	return id
}

// blob returns the bytes of a file.
func (u *userObjects) blob(ctx context.Context, id oid) ([]byte, error) {
	if b, ok := keptAgain(&u.kept.bytes, u.kept.blobs, u.aged.blobs, id, blobBytes); ok {
		return b, nil
	}
	b, err := u.get(ctx, "blob", id)
	if err == nil {
		u.kept.blobs[id] = b
		u.kept.bytes += blobBytes(b)
	}
	return b, err
}

// tree returns the entries of a tree; that of "" is empty.
func (u *userObjects) tree(ctx context.Context, id oid) ([]userEntry, error) {
	if id == "" {
		return nil, nil
	}
	if t, ok := keptAgain(&u.kept.bytes, u.kept.trees, u.aged.trees, id, treeBytes); ok {
		return t, nil
	}
	b, err := u.get(ctx, "tree", id)
	if err != nil {
		return nil, err
	}
	var out []userEntry
	for len(b) > 0 {
		head, rest, ok := bytes.Cut(b, []byte{0})
		mode, name, ok2 := strings.Cut(string(head), " ")
		if !ok || !ok2 || len(rest) < u.size {
			return nil, fmt.Errorf("tree %s is damaged", id)
		}
		out = append(out, userEntry{mode, name, oid(rest[:u.size])})
		b = rest[u.size:]
	}
	u.kept.trees[id] = out
	u.kept.bytes += treeBytes(out)
	return out, nil
}

func (u *userObjects) putTree(entries []userEntry) oid {
	slices.SortFunc(entries, func(a, b userEntry) int { return strings.Compare(a.sortKey(), b.sortKey()) })
	var b bytes.Buffer
	for _, e := range entries {
		b.WriteString(e.mode + " " + e.name)
		b.WriteByte(0)
		b.WriteString(string(e.oid))
	}
	return u.put("tree", b.Bytes())
}

// A spliced is a file of a tree that is to become another: "" is none.
type spliced struct {
	was, now oid
	mode     string // of now
}

// splice returns the tree in which the files at the paths of changes are what they
// say. Every other entry stays as it is, of whatever kind. It notes in trees what
// each folder on the way came to; dir is where the tree lies.
func (u *userObjects) splice(ctx context.Context, tree oid, dir string, changes map[string]spliced, trees map[string]gitindex.TreeChange) (oid, error) {
	old, err := u.tree(ctx, tree)
	if err != nil {
		return "", err
	}
	deeper := map[string]map[string]spliced{}
	files := map[string]spliced{}
	for p, c := range changes {
		name, rest, isDeeper := strings.Cut(p, "/")
		if !isDeeper {
			files[name] = c
			continue
		}
		if deeper[name] == nil {
			deeper[name] = map[string]spliced{}
		}
		deeper[name][rest] = c
	}
	var out []userEntry
	for _, e := range old {
		sub, inside := deeper[e.name]
		c, changed := files[e.name]
		switch {
		case inside && !e.isDir(), changed && (e.isDir() || e.oid != c.was):
			return "", fmt.Errorf("%s is something else in the commit: %w", joinDir(dir, e.name), fold.ErrConflict)
		case inside:
			delete(deeper, e.name)
			if e.oid, err = u.splice(ctx, e.oid, joinDir(dir, e.name), sub, trees); err != nil {
				return "", err
			}
			if e.oid != "" {
				out = append(out, e)
			}
		case changed:
			delete(files, e.name)
			if c.now != "" {
				out = append(out, userEntry{c.mode, e.name, c.now})
			}
		default:
			out = append(out, e)
		}
	}
	for name, sub := range deeper {
		id, err := u.splice(ctx, "", joinDir(dir, name), sub, trees)
		if err != nil {
			return "", err
		}
		if id != "" {
			out = append(out, userEntry{"40000", name, id})
		}
	}
	for name, c := range files {
		if c.was != "" {
			return "", fmt.Errorf("%s is not in the commit: %w", joinDir(dir, name), fold.ErrConflict)
		}
		if c.now != "" {
			out = append(out, userEntry{c.mode, name, c.now})
		}
	}
	var id oid
	if len(out) > 0 || dir == "" {
		id = u.putTree(out)
	}
	trees[dir] = gitindex.TreeChange{Was: tree.bytes(), Now: id.bytes()}
	return id, nil
}

func joinDir(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// diff calls fn with every file, link or submodule that differs between two trees.
// Equal folders are not read.
func (u *userObjects) diff(ctx context.Context, a, b oid, prefix string, fn func(path string, was, is userEntry)) error {
	if a == b {
		return nil
	}
	left, err := u.tree(ctx, a)
	if err != nil {
		return err
	}
	right, err := u.tree(ctx, b)
	if err != nil {
		return err
	}
	type pair struct{ was, is userEntry }
	both := map[string]pair{} // by sortKey, so that a file and a folder of one name are two
	for _, e := range left {
		both[e.sortKey()] = pair{was: e}
	}
	for _, e := range right {
		p := both[e.sortKey()]
		p.is = e
		both[e.sortKey()] = p
	}
	for _, key := range sortedKeys(both) {
		p := both[key]
		if p.was == p.is {
			continue
		}
		if strings.HasSuffix(key, "/") {
			if err := u.diff(ctx, p.was.oid, p.is.oid, prefix+key, fn); err != nil {
				return err
			}
			continue
		}
		fn(prefix+key, p.was, p.is)
	}
	return nil
}

// differOnlyAt reports whether two trees differ in nothing but the entry called
// name.
func (u *userObjects) differOnlyAt(ctx context.Context, name string, a, b oid) (bool, error) {
	left, err := u.tree(ctx, a)
	if err != nil {
		return false, err
	}
	right, err := u.tree(ctx, b)
	if err != nil {
		return false, err
	}
	other := func(e userEntry) bool { return e.name == name }
	return slices.Equal(slices.DeleteFunc(slices.Clone(left), other), slices.DeleteFunc(slices.Clone(right), other)), nil
}

// child returns the entry called name in a tree.
func (u *userObjects) child(ctx context.Context, tree oid, name string) (userEntry, error) {
	entries, err := u.tree(ctx, tree)
	if err != nil {
		return userEntry{}, err
	}
	for _, e := range entries {
		if e.name == name {
			return e, nil
		}
	}
	return userEntry{}, nil
}

// A userCommit is a commit of the user's repository.
type userCommit struct {
	tree    oid
	parents []oid
	when    int64 // of its committer, seconds since 1970
	by      string
	message string
}

func (u *userObjects) commit(ctx context.Context, id oid) (c userCommit, err error) {
	if c, ok := keptAgain(&u.kept.bytes, u.kept.commits, u.aged.commits, id, commitBytes); ok {
		return c, nil
	}
	b, err := u.get(ctx, "commit", id)
	if err != nil {
		return c, err
	}
	head, message, _ := strings.Cut(string(b), "\n\n")
	c.message = message
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			c.tree, _ = parseOid(value, u.size)
		case "parent":
			p, _ := parseOid(value, u.size)
			c.parents = append(c.parents, p)
		case "committer":
			f := strings.Fields(value)
			if len(f) >= 2 {
				c.when, _ = strconv.ParseInt(f[len(f)-2], 10, 64)
			}
			c.by, _, _ = strings.Cut(value, " <")
		}
	}
	if c.tree == "" || slices.Contains(c.parents, "") {
		return c, fmt.Errorf("commit %s is damaged", id)
	}
	u.kept.commits[id] = c
	u.kept.bytes += commitBytes(c)
	return c, nil
}
