package objdb

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"
	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Head is the branch that HEAD of every repository of ours names.
const Head = "refs/heads/foldwatch"

// packAbove is up to how many objects are written one file each; more go in as
// one pack (G5).
const packAbove = 500

// repoConfig is the whole configuration of a repository of ours.
const repoConfig = `[core]
	repositoryformatversion = 0
	bare = true
[gc]
	auto = 0
[receive]
	denyNonFastForwards = true
`

// A Repo is a bare repository of our own: objects and references. Objects are
// added to a batch in memory and become files in flush. Safe for concurrent
// use; go-git's storage is not, hence the mutex.
type Repo struct {
	fs *ownFS

	mu    sync.Mutex // guards the fields below; held across I/O
	st    *filesystem.Storage
	batch *memory.Storage // objects not yet written
}

// openObjects opens the repository at dir and makes it if need be. With
// readOnly it returns fs.ErrNotExist if there is none.
func Open(dir string, faults disk.Faults, readOnly bool) (*Repo, error) {
	if readOnly {
		if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
			return nil, err
		}
	} else if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	own, err := openOwnFS(dir, faults)
	if err != nil {
		return nil, err
	}
	o := &Repo{fs: own, batch: memory.NewStorage()}
	if !readOnly {
		if err := o.prepare(); err != nil {
			_ = own.close()
			return nil, fmt.Errorf("prepare %s: %w", filepath.Base(dir), err)
		}
	}
	o.reopen()
	return o, nil
}

// reopen forgets which packs there are; the caller holds mu or is alone.
func (o *Repo) reopen() {
	o.st = filesystem.NewStorageWithOptions(o.fs, cache.NewObjectLRU(16*cache.MiByte),
		filesystem.Options{AlternatesFS: o.fs})
}

// prepare makes what a bare repository consists of. HEAD comes last: where it
// stands the rest does too.
func (o *Repo) prepare() error {
	_, err := o.fs.Lstat("HEAD")
	if serr := o.sweep(); serr != nil || err == nil {
		return serr
	}
	for _, d := range []string{"objects/info", "objects/pack", "refs/heads", "refs/foldwatch"} {
		if err := o.fs.MkdirAll(d, 0o777); err != nil {
			return err
		}
	}
	if err := o.fs.writeFile("config", []byte(repoConfig)); err != nil {
		return err
	}
	if err := o.fs.writeFile("HEAD", []byte("ref: "+Head+"\n")); err != nil {
		return err
	}
	// The folder's own name must survive too.
	return syncPath(filepath.Dir(o.fs.dir))
}

// sweep removes what a crash left: temporary files, and what belongs to packs that
// never got their name (go-git writes the index first) or have lost it.
func (o *Repo) sweep() error {
	const dir = "objects/pack"
	list, err := o.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = o.fs.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return err
	}
	if err := o.dropHalfPacks(list); err != nil {
		return err
	}
	if list, err = o.fs.ReadDir(dir); err != nil {
		return err
	}
	packs := map[string]bool{}
	for _, fi := range list {
		if name, ok := strings.CutSuffix(fi.Name(), ".pack"); ok {
			packs[name] = true
		}
	}
	for _, fi := range list {
		name, kind, _ := strings.Cut(fi.Name(), ".")
		if strings.HasPrefix(fi.Name(), "tmp_") || strings.HasPrefix(fi.Name(), ".tmp-") ||
			strings.HasPrefix(name, "pack-") && kind != "pack" && !packs[name] {
			if err := o.fs.Remove(dir + "/" + fi.Name()); err != nil {
				return err
			}
		}
	}
	dirs := []string{"refs/foldwatch", "refs/heads", "."}
	fans, err := o.fs.ReadDir("objects")
	if err != nil {
		return err
	}
	for _, d := range fans {
		if d.IsDir() && len(d.Name()) == 2 {
			dirs = append(dirs, "objects/"+d.Name())
		}
	}
	for _, d := range dirs {
		list, err := o.fs.ReadDir(d)
		if err != nil {
			continue // refs/… may be packed
		}
		for _, fi := range list {
			if strings.HasPrefix(fi.Name(), ".tmp-") || strings.HasPrefix(fi.Name(), "tmp_obj_") {
				if err := o.fs.Remove(d + "/" + fi.Name()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// dropHalfPacks removes the packs of a list of files that have no index: git gives
// the index its name last, and go-git reads nothing while one is missing. What is in
// them is in the packs they were to replace, or was never fetched whole.
func (o *Repo) dropHalfPacks(list []os.FileInfo) error {
	indexed := map[string]bool{}
	for _, fi := range list {
		if name, ok := strings.CutSuffix(fi.Name(), ".idx"); ok {
			indexed[name] = true
		}
	}
	for _, fi := range list {
		if name, ok := strings.CutSuffix(fi.Name(), ".pack"); ok && !indexed[name] {
			if err := o.fs.Remove("objects/pack/" + fi.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func (o *Repo) Close() error { return o.fs.close() }

// Put adds an object to the batch and returns its name. What the repository
// holds already is not added.
func (o *Repo) Put(t plumbing.ObjectType, b []byte) (plumbing.Hash, error) {
	obj := &plumbing.MemoryObject{}
	obj.SetType(t)
	if _, err := obj.Write(b); err != nil {
		return plumbing.ZeroHash, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	h := obj.Hash()
	if o.has(h) {
		return h, nil
	}
	return o.batch.SetEncodedObject(obj)
}

// has is called with mu held.
func (o *Repo) has(h plumbing.Hash) bool {
	return o.batch.HasEncodedObject(h) == nil || o.st.HasEncodedObject(h) == nil
}

// Drop forgets the batch.
func (o *Repo) Drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.batch = memory.NewStorage()
}

// Flush writes the batch, durably. On error the batch is kept, no reference
// moves, and what was written so far is found again by name.
func (o *Repo) Flush() error { return o.FlushWhile(context.Background()) }

// FlushWhile is flush that gives up when ctx ends: a pack of ten thousand objects
// takes a second, and more on a slow disk.
func (o *Repo) FlushWhile(ctx context.Context) error {
	return o.flushAbove(ctx, packAbove)
}

// flushAbove is flush that makes a pack of more than so many objects. A pack is
// there whole or not at all, while of files written side by side a crash may leave
// any.
func (o *Repo) flushAbove(ctx context.Context, packAbove int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(o.batch.Objects)
	var err error
	if n > packAbove {
		err = o.writePack(ctx, o.batch, 0)
	} else {
		err = o.writeLoose(o.batch)
	}
	if err == nil {
		err = o.fs.syncDirs()
	}
	if err != nil {
		return fmt.Errorf("write %d objects: %w", n, disk.Unavailable(err))
	}
	o.batch = memory.NewStorage()
	return nil
}

// writeLoose writes every object of from to a file of its own. They are written
// at once rather than one after the other: a sync waits for the disk, and the
// disk takes many at the price of one.
func (o *Repo) writeLoose(from *memory.Storage) error {
	var g errgroup.Group
	g.SetLimit(syncsAtOnce)
	for h, obj := range from.Objects {
		g.Go(func() error { return o.writeObject(h, obj) })
	}
	return g.Wait()
}

func (o *Repo) writeObject(h plumbing.Hash, obj plumbing.EncodedObject) (err error) {
	hex := h.String()
	dir := path.Join("objects", hex[:2])
	t, err := o.fs.TempFile(dir, "tmp_obj_")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = t.Close() // may be closed already
			_ = o.fs.root.Remove(t.Name())
		}
	}()
	r, err := obj.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	w := objfile.NewWriter(t)
	if err := w.WriteHeader(obj.Type(), obj.Size()); err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := o.fs.Chmod(t.Name(), 0o444); err != nil { // as git does
		return err
	}
	if err := t.Close(); err != nil {
		return err
	}
	return o.fs.Rename(t.Name(), path.Join(dir, hex[2:]))
}

// writePack writes every object of from as one pack. Window is that of the
// delta search; 0 means whole objects, which costs least now. Called with mu
// held.
func (o *Repo) writePack(ctx context.Context, from *memory.Storage, window uint) error {
	hashes := make([]plumbing.Hash, 0, len(from.Objects))
	for h := range from.Objects {
		hashes = append(hashes, h)
	}
	w, err := o.st.PackfileWriter()
	if err != nil {
		return err
	}
	// The encoder writes ten times an object.
	buf := bufio.NewWriterSize(&endingWriter{ctx, w}, 64<<10)
	_, err = packfile.NewEncoder(buf, from, false).Encode(hashes, window)
	if err == nil {
		err = buf.Flush()
	}
	return errors.Join(err, w.Close())
}

// An endingWriter writes until ctx ends.
type endingWriter struct {
	ctx context.Context
	w   io.Writer
}

func (w *endingWriter) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(b)
}

// Get returns an object's bytes, or ErrNotFound. It looks again after
// reopening, since a repack may have moved it (F38).
func (o *Repo) Get(t plumbing.ObjectType, h plumbing.Hash) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	obj, err := o.batch.EncodedObject(t, h)
	if err != nil {
		obj, err = o.st.EncodedObject(t, h)
	}
	if err != nil {
		o.reopen()
		obj, err = o.st.EncodedObject(t, h)
	}
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, fmt.Errorf("object %s: %w", h, fold.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", h, err)
	}
	b, err := bytesOf(obj)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", h, err)
	}
	return b, nil
}

func bytesOf(obj plumbing.EncodedObject) ([]byte, error) {
	r, err := obj.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b := make([]byte, obj.Size())
	_, err = io.ReadFull(r, b)
	return b, err
}

// Blob returns the bytes of a file.
func (o *Repo) Blob(h plumbing.Hash) ([]byte, error) { return o.Get(plumbing.BlobObject, h) }

// CommitOf returns a commit, decoded.
func (o *Repo) CommitOf(h plumbing.Hash) (*object.Commit, error) {
	b, err := o.Get(plumbing.CommitObject, h)
	if err != nil {
		return nil, err
	}
	obj := &plumbing.MemoryObject{}
	obj.SetType(plumbing.CommitObject)
	_, _ = obj.Write(b) // memory
	c := &object.Commit{}
	if err := c.Decode(obj); err != nil {
		return nil, fmt.Errorf("commit %s: %w", h, err)
	}
	return c, nil
}

// TreeOf returns the root tree of a commit; that of no commit is empty.
func (o *Repo) TreeOf(commit plumbing.Hash) (plumbing.Hash, error) {
	if commit.IsZero() {
		return plumbing.ZeroHash, nil
	}
	c, err := o.CommitOf(commit)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return c.TreeHash, nil
}

// Ref returns the object a reference names; the zero hash if there is none.
func (o *Repo) Ref(name string) (plumbing.Hash, error) {
	f, err := o.fs.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return o.packedRef(name)
	}
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 100))
	if err != nil {
		return plumbing.ZeroHash, err
	}
	s := strings.TrimSpace(string(b))
	if !plumbing.IsHash(s) {
		return plumbing.ZeroHash, fmt.Errorf("reference %s is damaged: %.60q", name, s)
	}
	return plumbing.NewHash(s), nil
}

// packedRef finds a reference that git moved to packed-refs.
func (o *Repo) packedRef(name string) (plumbing.Hash, error) {
	b, err := o.fs.root.ReadFile("packed-refs")
	if errors.Is(err, fs.ErrNotExist) {
		return plumbing.ZeroHash, nil
	}
	if err != nil {
		return plumbing.ZeroHash, err
	}
	for line := range strings.Lines(string(b)) {
		oid, ref, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && ref == name && plumbing.IsHash(oid) {
			return plumbing.NewHash(oid), nil
		}
	}
	return plumbing.ZeroHash, nil
}

// SetRef moves a reference, durably. The objects must have been flushed.
func (o *Repo) SetRef(name string, h plumbing.Hash) error {
	if err := o.fs.writeFile(name, []byte(h.String()+"\n")); err != nil {
		return fmt.Errorf("move %s: %w", name, disk.Unavailable(err))
	}
	return nil
}

// syncPath makes the names in a directory of the system durable.
func syncPath(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return syncDir(root, ".")
}
