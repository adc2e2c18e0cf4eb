package objdb

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// CheckOwn sees that git, run in our repository, reads no other configuration
// than ours: a checkout may have come from an archive, git directory and all
// (F39, F40).
func (o *Repo) CheckOwn() error {
	if err := o.noneOf("commondir", "objects/info/alternates", "objects/info/http-alternates", "config.worktree", "gitdir", "info/grafts"); err != nil {
		return err
	}
	if b, err := o.fs.root.ReadFile("config"); err == nil && bytes.Equal(b, []byte(repoConfig)) {
		return nil
	}
	if err := o.fs.writeFile("config", []byte(repoConfig)); err != nil {
		return fmt.Errorf("configuration of the sidecar: %w", disk.Unavailable(err))
	}
	return nil
}

// noneOf returns ErrForbidden if the repository has a file of one of those names: git
// would follow it elsewhere.
func (o *Repo) noneOf(names ...string) error {
	for _, name := range names {
		if _, err := o.fs.Lstat(name); err == nil {
			return fold.WithHint(fmt.Errorf("%s/%s is none of our files: %w", o.fs.dir, name, fold.ErrForbidden), "delete it, if you did not put it there yourself")
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Refresh makes objects seen that the git program has added.
func (o *Repo) Refresh() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reopen()
}

// PackBytes returns how many bytes lie in the folder of packs.
func (o *Repo) PackBytes() int64 {
	list, err := o.fs.ReadDir("objects/pack")
	if err != nil {
		return 0
	}
	var n int64
	for _, fi := range list {
		n += fi.Size()
	}
	return n
}

// SweepPacks removes what an ended fetch left half done.
func (o *Repo) SweepPacks() {
	const dir = "objects/pack"
	list, err := o.fs.ReadDir(dir)
	if err != nil {
		return
	}
	_ = o.dropHalfPacks(list) // the next start tries again
	for _, fi := range list {
		if strings.HasPrefix(fi.Name(), "tmp_pack_") || strings.HasPrefix(fi.Name(), "tmp_idx_") || strings.HasPrefix(fi.Name(), "tmp_rev_") {
			_ = o.fs.Remove(dir + "/" + fi.Name())
		}
	}
}

// Size returns how many bytes an object has, without reading it.
func (o *Repo) Size(h plumbing.Hash) (int64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.batch.HasEncodedObject(h) == nil {
		return o.batch.EncodedObjectSize(h)
	}
	n, err := o.st.EncodedObjectSize(h)
	if err != nil {
		o.reopen()
		n, err = o.st.EncodedObjectSize(h)
	}
	return n, err
}

// Dir is where the repository lies.
func (o *Repo) Dir() string { return o.fs.dir }

// ReadFile returns the bytes of a file of the repository.
func (o *Repo) ReadFile(name string) ([]byte, error) { return o.fs.root.ReadFile(name) }

// WriteFile writes a file of the repository, durably.
func (o *Repo) WriteFile(name string, b []byte) error { return o.fs.writeFile(name, b) }

// RemoveFile removes a file of the repository.
func (o *Repo) RemoveFile(name string) error { return o.fs.Remove(name) }

// SyncPacks makes durable what the git program added to the folder of packs.
func (o *Repo) SyncPacks() error {
	o.fs.mark("objects/pack/new")
	return o.fs.syncDirs()
}
