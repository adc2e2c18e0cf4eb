package usergit

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Folder tells what commits of the user's, the index, references and stashes have of
// one folder of the work tree. Blobs are git's names of them, by path below the folder.
// It asks git only after HEAD, or what its branch follows, moved. Safe for concurrent
// use; whoever asks for a new commit waits for git.
type Folder struct {
	repo *Repo
	dir  string
	now  func() time.Time

	mu       sync.Mutex     // guards the fields below
	kept     [2]*folderTree // of HEAD and of what it follows, the newest first
	newest   newest
	followed followed
}

// A folderTree is what one commit has in the folder.
type folderTree struct {
	commit string
	blobs  map[string]string
}

// followed is the reference that follows a branch at the remote, as it was found with
// a configuration.
type followed struct {
	branch string
	config []contentStamp
	ref    string // "" if the branch has none
}

// Folder returns the folder dir of the work tree. Nil for now means time.Now.
func (l *Repo) Folder(dir string, now func() time.Time) *Folder {
	if now == nil {
		now = time.Now
	}
	return &Folder{repo: l, dir: dir, now: now}
}

// Head returns HEAD's commit and what it has in the folder: "" and nothing before the
// first commit.
func (f *Folder) Head(ctx context.Context) (commit string, blobs map[string]string, err error) {
	if commit, err = f.repo.HeadOid(); err != nil {
		return "", nil, err
	}
	blobs, err = f.at(ctx, commit)
	return commit, blobs, err
}

// newest is the newest commit that changes the folder, as it was found from a commit of
// HEAD's.
type newest struct {
	head   string
	commit Commit // Oid is "" if there is none
}

// newestTimeout is for how long that commit is looked for.
const newestTimeout = 2 * time.Second

// Newest returns the newest commit of HEAD's history that changes the folder, without its
// body and files; false if there is none, or if git has not found it in two seconds. It
// runs git once for each commit that HEAD stands at.
func (f *Folder) Newest(ctx context.Context) (Commit, bool, error) {
	head, err := f.repo.HeadOid()
	if err != nil || head == "" {
		return Commit{}, false, err // nothing is committed yet
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.newest.head == head {
		return f.newest.commit, f.newest.commit.Oid != "", nil
	}
	found := newest{head: head}
	bound, cancel := context.WithTimeout(ctx, newestTimeout)
	defer cancel()
	out, err := f.repo.Git("--literal-pathspecs", "log", "-1", "--no-show-signature", "--no-mailmap", "--encoding=UTF-8",
		"--format=%H%x00%ct%x00%an%x00%s", "--end-of-options", head, "--", f.dir).Line(bound)
	if ctx.Err() != nil || err != nil && bound.Err() == nil {
		return Commit{}, false, err
	}
	if v := strings.Split(out, "\x00"); err == nil && len(v) == 4 { // else it is too far to look for each time
		at, err := readTime(v[1])
		if err != nil {
			return Commit{}, false, err
		}
		found.commit = Commit{Oid: v[0], Time: at, AuthorName: strings.ToValidUTF8(v[2], ""), Subject: strings.ToValidUTF8(v[3], "")}
	}
	f.newest = found
	return found.commit, found.commit.Oid != "", nil
}

// Upstream returns what the reference that follows HEAD's branch at the remote has in
// the folder, nothing if there is none.
func (f *Folder) Upstream(ctx context.Context) (map[string]string, error) {
	branch, err := f.repo.headBranch(ctx)
	if err != nil || branch == "" {
		return nil, err
	}
	ref, err := f.upstreamOf(ctx, branch)
	if err != nil || ref == "" {
		return nil, err
	}
	commit, err := f.repo.refOid(ctx, ref)
	if err != nil {
		return nil, err
	}
	return f.at(ctx, commit)
}

// at returns what a commit has in the folder; nothing for "".
func (f *Folder) at(ctx context.Context, commit string) (map[string]string, error) {
	if commit == "" {
		return nil, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, k := range f.kept {
		if k != nil && k.commit == commit {
			f.kept[0], f.kept[i] = k, f.kept[0]
			return k.blobs, nil
		}
	}
	tree, err := f.repo.Tree(ctx, commit, f.dir)
	if err != nil {
		return nil, err
	}
	found := &folderTree{commit, map[string]string{}}
	for path, blob := range tree {
		if rel, below := strings.CutPrefix(path, f.dir+"/"); below {
			found.blobs[rel] = blob
		}
	}
	f.kept[1], f.kept[0] = f.kept[0], found
	return found.blobs, nil
}

// upstreamOf returns the reference that follows a branch. Git is asked when the branch
// or a configuration is another than at the last time.
func (f *Folder) upstreamOf(ctx context.Context, branch string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var config []contentStamp
	now := f.now()
	for _, p := range append(configFiles(), filepath.Join(f.repo.CommonDir, "config"), filepath.Join(f.repo.GitDir, "config.worktree")) {
		config = append(config, stampContent(p, now))
	}
	if f.followed.branch == branch && slices.EqualFunc(f.followed.config, config, contentStamp.same) {
		return f.followed.ref, nil
	}
	ref, err := f.repo.Git("for-each-ref", "--format=%(upstream)", "refs/heads/"+branch).Line(ctx)
	if err != nil {
		return "", fmt.Errorf("find what %s follows: %w", branch, err)
	}
	f.followed = followed{branch, config, ref}
	return ref, nil
}

// Staged returns what the index has in the folder.
func (f *Folder) Staged(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	err := f.repo.Git("ls-files", "--stage", "-z", "--", f.dir).stream(ctx, func(r *bufio.Reader) error {
		return zReader{r}.each(func(line string) error {
			if e, ok := parseStage(line); ok {
				if rel, below := strings.CutPrefix(e.path, f.dir+"/"); below {
					out[rel] = e.oid
				}
			}
			return nil
		})
	})
	return out, err
}

// Sparse returns the files that a sparse checkout keeps out of the work tree: the index
// has them, and git takes none of them for deleted.
func (f *Folder) Sparse(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	err := f.repo.Git("ls-files", "-t", "-z", "--", f.dir).stream(ctx, func(r *bufio.Reader) error {
		return zReader{r}.each(func(line string) error {
			if path, skipped := strings.CutPrefix(line, "S "); skipped {
				if rel, below := strings.CutPrefix(path, f.dir+"/"); below {
					out[rel] = true
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list what is left out of a sparse checkout: %w", err)
	}
	return out, nil
}

// InHistory returns at which of the paths some reference has had the blob of that name,
// and at which only a stash has it, which its owner may still drop.
func (f *Folder) InHistory(ctx context.Context, blobs map[string]string) (committed, stashed map[string]bool, err error) {
	if committed, err = f.hadBy(ctx, []string{"--exclude=refs/stash", "--all"}, blobs); err != nil || len(committed) == len(blobs) {
		return committed, nil, err
	}
	newest, err := f.repo.Git("for-each-ref", "--format=%(objectname)", "refs/stash").Output(ctx)
	if err != nil || len(newest) == 0 {
		return committed, nil, err
	}
	// The older ones are in its log only.
	all, err := f.repo.Git("log", "--walk-reflogs", "--format=%H", "refs/stash", "--").Output(ctx)
	if err != nil {
		return nil, nil, err
	}
	revs := append(strings.Fields(string(all)), strings.TrimSpace(string(newest)))
	stashed, err = f.hadBy(ctx, revs, blobs)
	return committed, stashed, err
}

// hadBy returns at which of the paths the commits from revs back have had the blob of that
// name.
func (f *Folder) hadBy(ctx context.Context, revs []string, blobs map[string]string) (map[string]bool, error) {
	had := map[string]bool{}
	for paths := range slices.Chunk(slices.Sorted(maps.Keys(blobs)), 200) {
		args := append([]string{"--literal-pathspecs", "rev-list", "--objects", "--full-history"}, revs...)
		args = append(args, "--")
		for _, p := range paths {
			args = append(args, f.dir+"/"+p)
		}
		err := f.repo.Git(args...).stream(ctx, func(r *bufio.Reader) error {
			for {
				line, err := r.ReadString('\n')
				name, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
				if rel, below := strings.CutPrefix(path, f.dir+"/"); below && blobs[rel] == name {
					had[rel] = true
				}
				if err != nil {
					return nil //nolint:nilerr // the end; git's own status tells of an error
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return had, nil
}

// headBranch returns the branch that HEAD names, "" if it is detached.
func (l *Repo) headBranch(ctx context.Context) (string, error) {
	if l.inTables() {
		h, err := l.Head(ctx)
		return h.Branch, err
	}
	head, err := readSmall(filepath.Join(l.GitDir, "HEAD"))
	if err != nil {
		return "", fmt.Errorf("read HEAD: %w", err)
	}
	branch, on := strings.CutPrefix(head, "ref: refs/heads/")
	if !on {
		return "", nil
	}
	return branch, nil
}
