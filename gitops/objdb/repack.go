package objdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Repack puts loose objects into one pack where there are more than maxLoose, and all
// packs into one where there are more than maxPacks. It reports whether it did anything.
// Where packs cannot be joined err is a *JoinError: many packs are slower, not wrong.
func (o *Repo) Repack(ctx context.Context, maxLoose, maxPacks int, git RunGit) (did bool, err error) {
	if o.CountLoose() > maxLoose {
		if err := o.packLoose(ctx); err != nil {
			return false, fmt.Errorf("repack: %w", err)
		}
		did = true
	}
	packs, err := o.packs()
	if err != nil {
		return did, fmt.Errorf("repack: %w", err)
	}
	if len(packs) <= maxPacks {
		return did, nil
	}
	if err := o.joinPacks(ctx, git); err != nil {
		return did, &JoinError{Packs: len(packs), Err: err}
	}
	return true, nil
}

// RunGit runs the git program in the repository at dir.
type RunGit func(ctx context.Context, dir string, args ...string) error

// A JoinError says that the git program could not make one pack of many.
type JoinError struct {
	Packs int
	Err   error
}

func (e *JoinError) Error() string { return fmt.Sprintf("join %d packs: %v", e.Packs, e.Err) }

// Unwrap returns what git said.
func (e *JoinError) Unwrap() error { return e.Err }

// loose returns the names of the objects in files of their own.
func (o *Repo) loose() ([]plumbing.Hash, error) {
	list, err := o.fs.ReadDir("objects")
	if err != nil {
		return nil, err
	}
	var out []plumbing.Hash
	for _, d := range list {
		if len(d.Name()) != 2 || !d.IsDir() {
			continue
		}
		files, err := o.fs.ReadDir("objects/" + d.Name())
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if name := d.Name() + f.Name(); plumbing.IsHash(name) {
				out = append(out, plumbing.NewHash(name))
			}
		}
	}
	return out, nil
}

// CountLoose returns how many objects lie in files of their own.
func (o *Repo) CountLoose() int {
	l, err := o.loose()
	if err != nil {
		return 0
	}
	return len(l)
}

func (o *Repo) packs() ([]string, error) {
	list, err := o.fs.ReadDir("objects/pack")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range list {
		if strings.HasSuffix(f.Name(), ".pack") {
			out = append(out, f.Name())
		}
	}
	return out, nil
}

// packBytes bounds what one pass of packLoose holds in memory.
const packBytes = 64 << 20

// packLoose moves all loose objects into packs. Their files go only after the
// pack is durable.
func (o *Repo) packLoose(ctx context.Context) error {
	names, err := o.loose()
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(names) > 0 {
		from, size, k := memory.NewStorage(), int64(0), 0
		for k < len(names) && size < packBytes {
			if err := ctx.Err(); err != nil {
				return err
			}
			obj, err := o.st.EncodedObject(plumbing.AnyObject, names[k])
			if err != nil {
				return fmt.Errorf("object %s: %w", names[k], err)
			}
			if _, err := from.SetEncodedObject(obj); err != nil {
				return err
			}
			size += obj.Size()
			k++
		}
		// Versions of one memory differ little: a small window finds that.
		if err := o.writePack(ctx, from, 10); err != nil {
			return err
		}
		if err := o.fs.syncDirs(); err != nil {
			return err
		}
		for _, h := range names[:k] {
			hex := h.String()
			err := o.fs.Remove(path.Join("objects", hex[:2], hex[2:]))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		names = names[k:]
	}
	return nil
}

// joinPacks lets the git program make one pack of all, since go-git would hold
// all of it in memory. What it replaces is removed only once the name of the new
// pack is durable, which git does not wait for.
func (o *Repo) joinPacks(ctx context.Context, git RunGit) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.reopen()
	old, err := o.packs()
	if err != nil {
		return err
	}
	repack := func(more ...string) error {
		return git(ctx, o.fs.dir, append([]string{"-c", "repack.writeBitmaps=false", "repack", "-a", "-q"}, more...)...)
	}
	if err := repack(); err != nil {
		return err
	}
	if err := o.SyncPacks(); err != nil {
		return err
	}
	now, err := o.packs()
	if err != nil {
		return err
	}
	if len(now) == len(old) {
		return repack("-d") // one of them had all: it has its name for long
	}
	for _, pack := range old {
		// The pack goes first: sweep removes what is left without one.
		for _, kind := range []string{".pack", ".idx", ".rev", ".bitmap"} {
			err := o.fs.Remove("objects/pack/" + strings.TrimSuffix(pack, ".pack") + kind)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
