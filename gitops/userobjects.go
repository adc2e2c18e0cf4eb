package gitops

import (
	"bufio"
	"compress/zlib"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"path"

	"golang.org/x/sync/errgroup"

	"github.com/foldwatch/foldwatch/gitops/gitindex"
	"github.com/foldwatch/foldwatch/meta/disk"
)

// write makes the new objects durable in the user's repository: files of their
// own, or above packAbove one pack. What is written and never named by a reference
// is garbage that git itself removes.
func (u *userObjects) write(ctx context.Context, faults disk.Faults) error {
	var err error
	if len(u.made) > packAbove {
		err = u.writePack(ctx)
	} else {
		err = u.writeLoose(faults)
	}
	if err != nil {
		return fmt.Errorf("write %d objects: %w", len(u.made), unavailable(err))
	}
	return nil
}

func (u *userObjects) writeLoose(faults disk.Faults) error {
	fs, err := openOwnFS(u.l.CommonDir, faults)
	if err != nil {
		return err
	}
	defer func() { _ = fs.close() }()
	var g errgroup.Group
	g.SetLimit(syncsAtOnce)
	for id, o := range u.made {
		g.Go(func() error { return writeUserObject(fs, id, o) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return fs.syncDirs()
}

func writeUserObject(fs *ownFS, id oid, o *userObject) (err error) {
	hex := id.String()
	dir := path.Join("objects", hex[:2])
	if _, err := fs.Lstat(path.Join(dir, hex[2:])); err == nil {
		return nil
	}
	t, err := fs.TempFile(dir, "tmp_obj_")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = t.Close() // may be closed already
			_ = fs.root.Remove(t.Name())
		}
	}()
	w := zlib.NewWriter(t)
	if _, err := fmt.Fprintf(w, "%s %d\x00", o.kind, len(o.data)); err != nil {
		return err
	}
	if _, err := w.Write(o.data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := fs.Chmod(t.Name(), 0o444); err != nil { // as git does
		return err
	}
	if err := t.Close(); err != nil {
		return err
	}
	return fs.Rename(t.Name(), path.Join(dir, hex[2:]))
}

// packKinds are the numbers of the kinds in a pack (gitformat-pack(5)).
func packKind(kind string) byte {
	switch kind {
	case "commit":
		return 1
	case "tree":
		return 2
	}
	return 3
}

// writePack hands the objects, whole, to git's own index-pack, which checks, syncs
// and places them.
func (u *userObjects) writePack(ctx context.Context) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(u.encodePack(w)) }()
	defer r.Close() // ends the writer, whatever git did
	c := u.l.git("-c", "core.fsync=objects", "index-pack", "--stdin")
	c.stdin = r
	_, err := c.output(ctx)
	return err
}

func (u *userObjects) encodePack(w io.Writer) error {
	h := gitindex.NewHash(u.size)
	buf := bufio.NewWriterSize(io.MultiWriter(w, h), 64<<10)
	head := append([]byte("PACK\x00\x00\x00\x02"), 0, 0, 0, 0)
	binary.BigEndian.PutUint32(head[8:], uint32(len(u.made)))
	if _, err := buf.Write(head); err != nil {
		return err
	}
	for _, o := range u.made {
		n := len(o.data)
		b := packKind(o.kind)<<4 | byte(n&15)
		for n >>= 4; n > 0; n >>= 7 {
			if err := buf.WriteByte(b | 0x80); err != nil {
				return err
			}
			b = byte(n & 0x7f)
		}
		if err := buf.WriteByte(b); err != nil {
			return err
		}
		z := zlib.NewWriter(buf)
		if _, err := z.Write(o.data); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
	}
	if err := buf.Flush(); err != nil {
		return err
	}
	_, err := w.Write(h.Sum(nil))
	return err
}
