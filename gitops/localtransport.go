package gitops

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/config"
)

const (
	// lockTries is how often another's lock on a reference is waited for, and
	// lockPause how long between them.
	lockTries = 20
	lockPause = 50 * time.Millisecond
)

// A localTransport reads and writes a repository of this machine, or of a
// mounted disk, where there is no git program.
type localTransport struct {
	obj *objects
	at  address
	opt SyncOptions
}

// open opens the remote's repository. The caller closes it.
func (l *localTransport) open() (*objects, error) {
	dir := l.at.url
	if u, err := url.Parse(dir); err == nil && u.Scheme == "file" {
		dir = filepath.FromSlash(u.Path)
	}
	for _, d := range []string{filepath.Join(dir, ".git"), dir} {
		o, err := openObjects(d, nil, true)
		if err == nil {
			if err := plain(d); err != nil {
				return nil, errors.Join(err, o.close())
			}
			return o, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, syncError(SyncOffline, "", "", "%v", err)
		}
	}
	return nil, syncError(SyncMissing, "", "", "%s is no git repository", dir)
}

// plain returns why a repository may not be written to without a git program, if so: it
// names objects or keeps references in another way than we do.
func plain(dir string) error {
	f, err := os.Open(filepath.Join(dir, "config"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return syncError(SyncOffline, "", "", "%v", err)
	}
	defer f.Close()
	c := config.New()
	if err := config.NewDecoder(f).Decode(c); err != nil {
		return syncError(SyncRefused, "", "", "the configuration of the remote: %v", err)
	}
	extensions := c.Section("extensions")
	if f := extensions.Option("objectformat"); f != "" && !strings.EqualFold(f, "sha1") {
		return errOtherNames("")
	}
	if f := extensions.Option("refstorage"); f != "" && !strings.EqualFold(f, "files") {
		return syncError(SyncRefused, "", "install git, which knows them", "the remote keeps references in tables")
	}
	return nil
}

func (l *localTransport) tip(context.Context) (plumbing.Hash, error) {
	o, err := l.open()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer o.close()
	h, err := o.ref(refBranch)
	if err != nil {
		return h, syncError(SyncOffline, "", "", "%v", err)
	}
	return h, nil
}

func (l *localTransport) fetch(ctx context.Context) (plumbing.Hash, error) {
	o, err := l.open()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer o.close()
	h, err := o.ref(refBranch)
	if err == nil && !h.IsZero() {
		err = copyHistory(ctx, o, l.obj, h)
	}
	if err != nil {
		return h, syncError(SyncOffline, "", "", "fetch: %v", err)
	}
	return h, nil
}

func (l *localTransport) push(ctx context.Context, was, is plumbing.Hash) error {
	o, err := l.open()
	if err != nil {
		return err
	}
	defer o.close()
	for _, hook := range []string{"pre-receive", "update", "reference-transaction"} {
		if _, err := os.Stat(filepath.Join(o.fs.dir, "hooks", hook)); err == nil {
			return syncError(SyncPolicy, "", "install git, which runs it", "the remote has a hook %s, which only git can ask", hook)
		}
	}
	if err := copyHistory(ctx, l.obj, o, is); err != nil {
		return syncError(SyncOffline, "", "", "push: %v", err)
	}
	return moveLocked(ctx, o, was, is)
}

// moveLocked moves the branch of a repository that others write too: under
// git's own lock, and only if it still stands at was.
func moveLocked(ctx context.Context, o *objects, was, is plumbing.Hash) error {
	lock := filepath.FromSlash(refBranch + ".lock")
	if err := o.fs.MkdirAll(filepath.Dir(lock), 0o777); err != nil {
		return syncError(SyncOffline, "", "", "push: %v", err)
	}
	for try := 1; ; try++ {
		f, err := o.fs.root.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			_ = f.Close()
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return syncError(SyncOffline, "", "", "push: %v", err)
		}
		if try == lockTries {
			return syncError(SyncLost, "", "", "somebody holds %s", filepath.Join(o.fs.dir, lock))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPause):
		}
	}
	defer func() { _ = o.fs.root.Remove(lock) }()
	have, err := o.ref(refBranch)
	switch {
	case err != nil:
		return syncError(SyncOffline, "", "", "push: %v", err)
	case have != was:
		return syncError(SyncLost, "", "", "somebody else pushed")
	}
	if err := o.setRef(refBranch, is); err != nil {
		return syncError(SyncOffline, "", "", "push: %v", err)
	}
	return nil
}
