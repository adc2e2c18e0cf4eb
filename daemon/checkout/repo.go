package checkout

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon/ingest"
	"github.com/foldwatch/foldwatch/daemon/repos"
	"github.com/foldwatch/foldwatch/gitops/history"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A RepoHandle is what of a checkout is open for as long as it is kept, also while
// its stores rest: its history, and what says which of its files are indexed.
type RepoHandle struct {
	repo     *usergit.Repo
	FoldPath string
	Store    *repos.Store
	fold     disk.Folder
	Ingest   *ingest.Ingester    // has its stores from attach to Rest
	heads    []usergit.HeadStamp // as checkTracking saw them; of the job runner alone, once opened
	swept    bool                // a sweep was done since the opening; of the job runner alone
	// generation of the index that this began with; "" before.
	generation string

	Tracked bool // the user's branch tracks fold/, and its people commit it
}

// mode is what status calls the mode of the checkout.
func (k *RepoHandle) mode() string {
	if k.Tracked {
		return ModeTracked
	}
	return ModeSidecar
}

// blockedInTracked is why a write of tracked mode is not committed yet.
const blockedInTracked = "not committed yet: foldwatch commit, or git commit, does that"

// InHistory completes what is said of a memory in tracked mode, whose file at path has
// the bytes b: HEAD has them or not, and so has the remote's branch.
func (k *RepoHandle) InHistory(ctx context.Context, path string, b []byte, state *wire.WriteState) {
	committed, pushed, err := k.Store.InUserHistory(ctx, path, b)
	state.Committed, state.Pushed = err == nil && committed, err == nil && pushed
	if err == nil && !committed && state.BlockedReason == "" {
		state.BlockedReason = blockedInTracked
	}
}

// headStamps look at the branches that decide about that: of this work tree and
// of the main one.
func (k *RepoHandle) headStamps() []usergit.HeadStamp {
	stamps := []usergit.HeadStamp{k.repo.HeadStamp()}
	if k.repo.Linked {
		of := usergit.Repo{GitDir: k.repo.CommonDir, CommonDir: k.repo.CommonDir}
		stamps = append(stamps, of.HeadStamp())
	}
	return stamps
}

// empty reports whether the folder of memories holds none.
func (k *RepoHandle) empty() bool {
	_, found, err := repos.ProjectAt(k.FoldPath)
	return err == nil && !found
}

// projectFile reads fold/project.toml.
func (k *RepoHandle) projectFile() (conf.Project, []conf.Notice, error) {
	b, _, err := k.fold.Read(conf.ProjectFile, 64<<10)
	if err != nil {
		return conf.Project{}, nil, err
	}
	return conf.ParseProject(b)
}

// filesBelow returns the files in a folder below fold/. It returns an error if
// that is not there.
func (k *RepoHandle) filesBelow(dir string) ([]string, error) {
	var out []string
	root := filepath.Join(k.FoldPath, filepath.FromSlash(dir))
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(k.FoldPath, p)
		out = append(out, filepath.ToSlash(rel))
		return err
	})
	return out, err
}

// present returns those of paths below fold/ that are there.
func (k *RepoHandle) present(paths []string) []string {
	var out []string
	for _, p := range paths {
		if _, err := k.fold.Lstat(p); !errors.Is(err, os.ErrNotExist) {
			out = append(out, p)
		}
	}
	return out
}

// lastCommit is the newest commit of memories that git can show: in tracked mode of the
// user's history, else of ours.
func lastCommit(ctx context.Context, k *RepoHandle) *wire.CommitInfo {
	if k.Tracked {
		c, ok, err := k.Store.UserFolder().Newest(ctx)
		if err != nil || !ok {
			return nil
		}
		return &wire.CommitInfo{Rev: c.Oid, Time: c.Time, Message: c.Subject, Author: c.AuthorName}
	}
	rev, ok, err := k.Store.History().Newest(ctx)
	if err != nil || !ok {
		return nil
	}
	info := CommitInfo(rev)
	return &info
}

func CommitInfo(r history.Revision) wire.CommitInfo {
	c := wire.CommitInfo{Rev: r.Oid, Time: r.Time, Message: r.Subject, Author: r.Author, From: r.From, Writers: r.Writers}
	for _, p := range r.Paths {
		c.Paths = append(c.Paths, p.Path)
		if id, ok := fold.OwnPath(p.Path); ok {
			c.IDs = append(c.IDs, string(id))
		}
	}
	return c
}

func gitDirs(k *RepoHandle) []string {
	dirs := []string{k.repo.GitDir}
	if k.repo.CommonDir != k.repo.GitDir {
		dirs = append(dirs, k.repo.CommonDir)
	}
	return dirs
}

// close gives up what was opened, also when only part of it was. The stores were
// closed before.
func (k *RepoHandle) close() error {
	var errs []error
	if k.Ingest != nil {
		errs = append(errs, k.Ingest.Close())
	}
	if k.Store != nil {
		errs = append(errs, k.Store.Release())
	}
	return errors.Join(errs...)
}
