package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/gitops/gitindex"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A branchChange is a file below fold/ that the branch is to get, or to lose.
type branchChange struct {
	path string
	blob plumbing.Hash // in the journal; zero if it is to go
	was  oid           // in HEAD
	now  oid
	mode string
	stat gitindex.Stat
	b    []byte // what the commit holds; nil if it is to go

	off *putOff // the file comes with the commit; nil if it is there, see bycommit.go
}

// branchChanges returns what the journal has and HEAD's fold/ has not, of files
// that are on disk as the journal has them: what somebody is just changing, or git
// has just changed, is for the next time. Skipped counts those. The journal passed
// every gate already (G6, G7); memories with visibility: local stay out.
func (s *Store) branchChanges(ctx context.Context, t *branchTarget, head oid) (list []*branchChange, skipped int, err error) {
	tree, err := s.tipTree()
	if err != nil {
		return nil, 0, err
	}
	var all []*branchChange
	if err := s.compareTrees(ctx, t, tree, head, "", &all); err != nil {
		return nil, 0, err
	}
	if len(all) == 0 {
		return nil, 0, nil
	}
	root, err := s.openFold(false)
	if err != nil {
		return nil, len(all), nil // the vanish guard's
	}
	defer root.Close()
	deleted := map[string]bool{}
	for _, c := range all {
		if c.blob.IsZero() {
			deleted[c.path] = true
		}
	}
	if err := s.everRecorded(ctx, deleted); err != nil {
		return nil, 0, err
	}
	pulled := s.ahead(s.newByCommit(all))
	weight := 0
	for _, c := range all {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		if len(list) == s.perCommit {
			return list, len(all) - len(list), nil
		}
		if pulled[c.path] || t.isUnfit(c.path, s.opt.Now()) || weight >= byCommitMost && s.awaitsCommit(c.path) {
			skipped++ // it comes with a pull, or with the next commit
			continue
		}
		ok, err := s.fillChange(root, c, deleted)
		if err != nil {
			return nil, 0, err
		}
		if ok && c.off != nil {
			weight += c.off.weight()
		}
		switch {
		case !ok && c.blob.IsZero() && !deleted[c.path]: // never here: it stays in the branch
		case !ok:
			skipped++
		case c.was != "" || c.b != nil:
			list = append(list, c)
		}
	}
	return list, skipped, nil
}

// compareTrees adds to out what differs between a tree of the journal and one of
// the user's. Names that are no memories are passed over, and so is what is a file
// on one side and a folder on the other.
func (s *Store) compareTrees(ctx context.Context, t *branchTarget, mine plumbing.Hash, theirs oid, prefix string, out *[]*branchChange) error {
	if string(theirs) == string(mine[:]) {
		return nil
	}
	left, err := s.obj.readTree(mine)
	if err != nil {
		return err
	}
	right, err := t.objects.tree(ctx, theirs)
	if err != nil {
		return err
	}
	type pair struct {
		mine   treeEntry
		theirs userEntry
	}
	both := map[string]pair{}
	for _, e := range left {
		both[e.name] = pair{mine: e}
	}
	for _, e := range right {
		p := both[e.name]
		p.theirs = e
		both[e.name] = p
	}
	for _, name := range sortedKeys(both) {
		p := both[name]
		isDir := p.theirs.mode == "" || p.theirs.isDir()
		switch {
		case (p.mine.dir || p.mine.name == "") && isDir && (p.mine.dir || p.theirs.mode != ""):
			if err := s.compareTrees(ctx, t, p.mine.hash, p.theirs.oid, prefix+name+"/", out); err != nil {
				return err
			}
		case p.mine.dir, p.theirs.mode != "" && !regularMode(p.theirs.mode), !allowed(prefix + name):
		case string(p.theirs.oid) == string(p.mine.hash[:]):
		default:
			mode := p.theirs.mode
			if mode == "" {
				mode = modeRegular
			}
			*out = append(*out, &branchChange{path: prefix + name, blob: p.mine.hash, was: p.theirs.oid, mode: mode})
		}
	}
	return nil
}

// everRecorded leaves in paths those that the journal ever held: a file that it
// never saw was not deleted as far as we know, only not here.
func (s *Store) everRecorded(ctx context.Context, paths map[string]bool) error {
	if len(paths) == 0 {
		return nil
	}
	missing := map[string]bool{}
	for p := range paths {
		missing[p] = true
	}
	s.mu.Lock()
	at := s.tip
	s.mu.Unlock()
	for range 2000 {
		if at.IsZero() || len(missing) == 0 {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		c, err := s.obj.commitOf(at)
		if err != nil {
			return err
		}
		for p := range missing {
			h, err := s.obj.lookup(c.TreeHash, p)
			if err != nil {
				return err
			}
			if !h.IsZero() {
				delete(missing, p)
			}
		}
		at = firstParent(c)
	}
	for p := range missing {
		delete(paths, p)
	}
	return nil
}

// fillChange reads what is on disk. It reports false if that is not what the
// journal says.
func (s *Store) fillChange(root *disk.Root, c *branchChange, deleted map[string]bool) (bool, error) {
	if o := s.off.get(c.path); o != nil && s.awaitsCommit(c.path) {
		if ok, there := s.fillByCommit(root, c, o); !ok || !there {
			return ok, nil
		}
	}
	full := filepath.Join(s.l.FoldPath(s.opt.FoldDir), filepath.FromSlash(c.path))
	b, info, err := root.ReadNamed(c.path, maxFile)
	if c.blob.IsZero() {
		return errors.Is(err, fs.ErrNotExist) && deleted[c.path], nil
	}
	if err != nil {
		return false, nil //nolint:nilerr // the journal's to tell
	}
	want, err := s.blob(c.blob)
	if err != nil {
		return false, err
	}
	if _, gone := fold.Buried(b); string(want) != string(b) || !gone && !s.awaitsCommit(c.path) && s.unsettled(info) {
		return false, nil // a tombstone is ours, however young, and so is what came for a commit
	}
	if local(s.opt.Slug, c.path, b) {
		return true, nil // the branch loses it, or never gets it
	}
	fi, err := os.Lstat(full)
	if err != nil || disk.InfoOf(fi) != info {
		return false, nil //nolint:nilerr // gone a moment later
	}
	c.b, c.stat = b, indexStatOf(fi)
	if c.b == nil {
		c.b = []byte{}
	}
	return true, nil
}

// name gives each change the name of its blob in the user's repository, as git
// itself would store the file. It leaves out what is the same then.
func (t *branchTarget) name(ctx context.Context, dir string, list []*branchChange) ([]*branchChange, Wait, error) {
	attributes, err := t.attributes(ctx, dir, list)
	if err != nil {
		return nil, Wait{}, err
	}
	out := list[:0]
	for _, c := range list {
		if c.b == nil {
			out = append(out, c)
			continue
		}
		a := attributes[c.path]
		if f := a["filter"]; f != "" && t.conf.filters()[f] {
			return nil, Wait{
				Reason: fmt.Sprintf("%s/%s passes through the filter %s, which would have to run", dir, c.path, oneLine(f)),
				Hint:   fmt.Sprintf("add to .gitattributes: %s/** -filter", dir), After: branchQuiet,
			}, nil
		}
		if a["working-tree-encoding"] != "" || a["ident"] != "" {
			return nil, Wait{
				Reason: fmt.Sprintf("%s/%s is stored in another form than it has on disk (.gitattributes)", dir, c.path),
				Hint:   fmt.Sprintf("add to .gitattributes: %s/** -ident -working-tree-encoding", dir), After: branchQuiet,
			}, nil
		}
		if strings.Contains(string(c.b), "\r\n") && (t.conf.get("core.autocrlf") != "" || len(attributes) > 0) {
			if c.b, err = t.converted(ctx, joinDir(dir, c.path), c.b); err != nil {
				return nil, Wait{}, err
			}
		}
		if c.now = t.objects.put("blob", c.b); c.now != c.was {
			out = append(out, c)
		}
	}
	return out, Wait{}, nil
}

// converted returns what git stores of b at p: line ends as its attributes and
// core.autocrlf say. No filter is set there, so that no program runs.
func (t *branchTarget) converted(ctx context.Context, p string, b []byte) ([]byte, error) {
	c := t.l.git("hash-object", "-w", "--path="+p, "--stdin")
	c.stdin = strings.NewReader(string(b))
	line, err := c.line(ctx)
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", p, err)
	}
	id, ok := parseOid(line, t.size)
	if !ok {
		return nil, fmt.Errorf("convert %s: git answered %q", p, line)
	}
	return t.objects.get(ctx, "blob", id)
}

// attributes returns those of the changed files that decide how git stores them;
// nil if there is no file that could set any.
func (t *branchTarget) attributes(ctx context.Context, dir string, list []*branchChange) (map[string]map[string]string, error) {
	if !t.hasAttributes(dir, list) {
		return nil, nil
	}
	var in strings.Builder
	for _, c := range list {
		if c.b != nil {
			in.WriteString(joinDir(dir, c.path) + "\x00")
		}
	}
	c := t.l.git("check-attr", "-z", "--stdin", "filter", "ident", "working-tree-encoding")
	c.stdin = strings.NewReader(in.String())
	text, err := c.output(ctx)
	if err != nil {
		return nil, fmt.Errorf("read attributes: %w", err)
	}
	out := map[string]map[string]string{}
	f := strings.Split(string(text), "\x00")
	for i := 0; i+2 < len(f); i += 3 {
		p, value := strings.TrimPrefix(f[i], dir+"/"), f[i+2]
		if out[p] == nil {
			out[p] = map[string]string{}
		}
		if value != "unspecified" && value != "unset" {
			out[p][f[i+1]] = value
		}
	}
	return out, nil
}

func (t *branchTarget) hasAttributes(dir string, list []*branchChange) bool {
	there := func(p string) bool { _, err := os.Lstat(p); return err == nil }
	if t.conf.get("core.attributesfile") != "" {
		return true
	}
	files := attributeFiles(t.l, &t.conf)
	folders := map[string]bool{}
	for _, c := range list {
		for d := path.Dir(joinDir(dir, c.path)); d != "." && !folders[d]; d = path.Dir(d) {
			folders[d] = true
			files = append(files, filepath.Join(t.l.WorkTree, filepath.FromSlash(d), ".gitattributes"))
		}
	}
	return slices.ContainsFunc(files, there)
}
