package gitops

import (
	"bufio"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// In tracked mode HEAD tracks fold/, and git is its people's (git.md, Tracked mode):
// the store writes working files, the wal and its own journal, and reads from the
// user's repository what their commits have. It asks git only after HEAD moved.

// A userTree is what one commit of the user's has below fold/: git's names of the
// blobs, by path.
type userTree struct {
	commit string
	blobs  map[string]string
}

// userTrees remembers what the newest commits that were asked for have. Safe for
// concurrent use; whoever asks for a new one waits for git.
type userTrees struct {
	mu   sync.Mutex
	kept [2]*userTree // HEAD's and the upstream's, the newest first

	upstream userUpstream
}

// A userUpstream is the name of the reference that follows the remote's branch, as it
// was found for a branch with a configuration.
type userUpstream struct {
	branch string
	config []look
	ref    string // "" if the branch has none
}

// userFiles returns what a commit of the user's has below fold/; nothing for "".
func (s *Store) userFiles(ctx context.Context, commit string) (map[string]string, error) {
	if commit == "" {
		return nil, nil
	}
	t := &s.trees
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, k := range t.kept {
		if k != nil && k.commit == commit {
			t.kept[0], t.kept[i] = k, t.kept[0]
			return k.blobs, nil
		}
	}
	found := &userTree{commit, map[string]string{}}
	dir := s.foldDir() + "/"
	err := s.l.git("ls-tree", "-r", "-z", "--full-tree", commit, "--", s.foldDir()).stream(ctx, func(r *bufio.Reader) error {
		return zReader{r}.each(func(line string) error { // mode SP type SP name TAB path
			what, path, ok := strings.Cut(line, "\t")
			f := strings.Fields(what)
			if !ok || len(f) != 3 {
				return fmt.Errorf("unexpected line %.80q", line)
			}
			if rel, below := strings.CutPrefix(path, dir); below && f[1] == "blob" && allowed(rel) {
				found.blobs[rel] = f[2]
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read %s/ of %.12s: %w", s.foldDir(), commit, err)
	}
	t.kept[1], t.kept[0] = t.kept[0], found
	return found.blobs, nil
}

// headFiles returns HEAD's commit and what it has below fold/.
func (s *Store) headFiles(ctx context.Context) (head string, blobs map[string]string, err error) {
	if head, err = s.l.headOid(); err != nil {
		return "", nil, err
	}
	blobs, err = s.userFiles(ctx, head)
	return head, blobs, err
}

// blobName is git's name of b in a repository whose names are as long as like.
func blobName(like string, b []byte) string {
	var h hash.Hash = sha1.New()
	if len(like) == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(b))
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// InUserHistory reports whether HEAD has the bytes b at path below fold/, and whether
// the remote's branch has them too, as it was fetched or pushed last.
func (s *Store) InUserHistory(ctx context.Context, path string, b []byte) (committed, pushed bool, err error) {
	head, blobs, err := s.headFiles(ctx)
	if err != nil || head == "" {
		return false, false, err
	}
	name := blobName(head, b)
	if committed = blobs[path] == name; !committed {
		return false, false, nil
	}
	upstream, err := s.upstreamOid(ctx)
	if err != nil {
		return committed, false, err
	}
	if blobs, err = s.userFiles(ctx, upstream); err != nil {
		return committed, false, err
	}
	return committed, blobs[path] == name, nil
}

// upstreamOid returns where the reference stands that follows HEAD's branch at the
// remote, "" if there is none.
func (s *Store) upstreamOid(ctx context.Context) (string, error) {
	branch, err := s.headBranch(ctx)
	if err != nil || branch == "" {
		return "", err
	}
	ref, err := s.upstreamRef(ctx, branch)
	if err != nil || ref == "" {
		return "", err
	}
	return s.l.refOid(ctx, ref)
}

// headBranch returns the branch that HEAD names, "" if it is detached.
func (s *Store) headBranch(ctx context.Context) (string, error) {
	if s.l.inTables() {
		h, err := s.l.Head(ctx)
		return h.Branch, err
	}
	head, err := readSmall(filepath.Join(s.l.GitDir, "HEAD"))
	if err != nil {
		return "", fmt.Errorf("read HEAD: %w", err)
	}
	branch, on := strings.CutPrefix(head, "ref: refs/heads/")
	if !on {
		return "", nil
	}
	return branch, nil
}

// upstreamRef returns the name of that reference. Git is asked when the branch or a
// configuration is another than at the last time.
func (s *Store) upstreamRef(ctx context.Context, branch string) (string, error) {
	t := &s.trees
	t.mu.Lock()
	defer t.mu.Unlock()
	var config []look
	now := s.opt.Now()
	for _, p := range append(configFiles(), filepath.Join(s.l.CommonDir, "config"), filepath.Join(s.l.GitDir, "config.worktree")) {
		config = append(config, lookAt(p, now))
	}
	if u := &t.upstream; u.branch == branch && len(u.config) == len(config) {
		same := true
		for i := range config {
			same = same && config[i].same(u.config[i])
		}
		if same {
			return u.ref, nil
		}
	}
	ref, err := s.l.git("for-each-ref", "--format=%(upstream)", "refs/heads/"+branch).line(ctx)
	if err != nil {
		return "", fmt.Errorf("find what %s follows: %w", branch, err)
	}
	t.upstream = userUpstream{branch, config, ref}
	return ref, nil
}

// foldMissing is the error of a write where neither the work tree nor HEAD has fold/
// (git.md T3): a branch without memories is not given any unasked. It is nil where
// fold/ may be made.
func (s *Store) foldMissing(ctx context.Context) error {
	_, blobs, err := s.headFiles(ctx)
	if err != nil || len(blobs) > 0 {
		return err
	}
	return fold.WithHint(fmt.Errorf("the branch checked out in %s has no %s/: %w", s.l.WorkTree, s.foldDir(), fold.ErrUnavailable),
		"git switch to a branch that has it; or bring it here: git checkout BRANCH -- "+s.foldDir()+"; or keep memories beside your branches: foldwatch untrack")
}

// headNow is the commit that HEAD names, for a record of the wal; "" in sidecar mode,
// and where it cannot be read, which is no commit's name.
func (s *Store) headNow() string {
	if !s.opt.Tracked {
		return ""
	}
	head, err := s.l.headOid()
	if err != nil {
		s.log.Warn("HEAD not read", "err", err)
	}
	return head
}

// HasFold reports whether memories may be written: always in sidecar mode, and in
// tracked mode where the work tree or HEAD has fold/.
func (s *Store) HasFold(ctx context.Context) error {
	if !s.opt.Tracked {
		return nil
	}
	root, err := s.openFold(false)
	if err == nil {
		return root.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, fold.ErrUnavailable) {
		return err
	}
	return s.foldMissing(ctx)
}
