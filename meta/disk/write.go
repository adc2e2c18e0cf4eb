package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// A folder is an open directory.
type folder struct {
	d *os.Root
	f *os.File // d again, for what os.Root cannot do
}

func (d folder) close() {
	_ = d.f.Close()
	_ = d.d.Close()
}

// A target is the place a file is written to: the open directory and the name
// in it.
type target struct {
	folder

	r     *Root
	path  string // below r
	name  string
	temps folder // where temporary files lie: the directory of r for them, else the target's own
}

// target opens the directory of p. The caller closes it.
func (r *Root) target(p string, create bool) (*target, error) {
	if err := validPath(p); err != nil {
		return nil, err
	}
	d, err := r.open(path.Dir(p), create)
	if err != nil {
		return nil, err
	}
	f, err := d.Open(".")
	if err != nil {
		r.done(d)
		return nil, err
	}
	t := &target{folder: folder{d, f}, r: r, path: p, name: path.Base(p)}
	t.temps = t.folder
	if r.temps != nil {
		t.temps = *r.temps
	}
	return t, nil
}

// tempsElsewhere reports whether temporary files lie in another directory than the target.
func (t *target) tempsElsewhere() bool { return t.temps.d != t.d }

// moveTempBeside moves the temporary file into the directory of the target: for what
// can only be done within one directory.
func (t *target) moveTempBeside(temp string) error {
	if !t.tempsElsewhere() {
		return nil
	}
	if err := move(t.temps.f, temp, t.f, temp); err != nil {
		return err
	}
	t.temps = t.folder
	return nil
}

func (t *target) close() {
	_ = t.f.Close()
	t.r.done(t.d)
}

// temp writes b to a new temporary file, syncs it if sync says so, and returns its
// name. Perm is set exactly; 0 means 0666 less the umask. On failure nothing is left:
// the next try writes everything again, since a failed fsync may have dropped pages
// that a second fsync would not report.
func (t *target) temp(b []byte, perm fs.FileMode, sync bool) (string, error) {
	if err := injectFault(t.r.faults, OpCreate, t.path); err != nil {
		return "", err
	}
	name := tempFor(t.path, tempSuffix)
	f, err := t.temps.d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", err
	}
	err = t.fill(f, b, perm, sync)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		t.drop(name)
		return "", err
	}
	return name, nil
}

func (t *target) fill(f *os.File, b []byte, perm fs.FileMode, sync bool) error {
	if perm != 0 {
		if err := f.Chmod(perm.Perm()); err != nil {
			return err
		}
	}
	if err := writeAll(t.r.faults, f, t.path, b); err != nil {
		return err
	}
	if !sync {
		return nil
	}
	if err := injectFault(t.r.faults, OpSync, t.path); err != nil {
		return err
	}
	return f.Sync()
}

// drop removes a temporary file. Should that fail too, CleanTemps finds it.
func (t *target) drop(name string) {
	if injectFault(t.r.faults, OpRemove, t.path) == nil {
		_ = t.temps.d.Remove(name)
	}
}

// put renames temp to the target and fails with fs.ErrExist if that exists.
func (t *target) put(temp string) error {
	if err := injectFault(t.r.faults, OpRename, t.path); err != nil {
		return err
	}
	return t.place(temp, t.name)
}

// place renames the temporary file from to to and fails with fs.ErrExist if to exists.
func (t *target) place(from, to string) error {
	err := t.r.put(t.temps.f, from, t.f, to)
	if !errors.Is(err, errUnsupported) {
		return err
	}
	if err := t.moveTempBeside(from); err != nil {
		return err
	}
	// A hard link fails if the name exists, too.
	if err = t.d.Link(from, to); err == nil {
		return t.d.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system with neither (FAT): the best there is.
	if _, err := t.d.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return err
	}
	return t.d.Rename(from, to)
}

// Create writes a new file, durably, with its parent directories. It fails
// with fs.ErrExist if anything has that name, and then changes nothing.
func (r *Root) Create(p string, b []byte) error {
	err := r.create(p, b)
	// A parent that just became empty may be removed between our opening it
	// and our writing into it; it is then made again.
	for range 3 {
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		err = r.create(p, b)
	}
	return wrap(OpCreate, p, err)
}

func (r *Root) create(p string, b []byte) error {
	t, err := r.target(p, true)
	if err != nil {
		return err
	}
	defer t.close()
	if _, err := t.d.Lstat(t.name); err == nil {
		return fs.ErrExist
	}
	temp, err := t.temp(b, 0, true)
	if err != nil {
		return err
	}
	if err := t.put(temp); err != nil {
		t.drop(temp)
		return err
	}
	if err := r.syncDir(t.f, path.Dir(p)); err != nil {
		// Not durable, so not there: the caller will try again.
		if cur, _, rerr := readIn(t.d, t.name, p, int64(len(b))); rerr == nil && bytes.Equal(cur, b) {
			_ = t.d.Remove(t.name)
		}
		return err
	}
	return nil
}

// Replace writes now over the file at path, durably, if the file holds was.
// The permission bits stay. If the disk holds something else it returns a
// *ChangedError and leaves the disk as it was found: the new file is exchanged
// with the old in one step and the old one compared afterwards, so that a
// write of somebody else in between is never lost. It returns ErrNotRegular
// for a link or anything else that is no file.
func (r *Root) Replace(p string, was, now []byte) error {
	return wrap(OpRename, p, r.replace(p, was, now))
}

func (r *Root) replace(p string, was, now []byte) error {
	t, err := r.target(p, false)
	if err != nil {
		return goneIf(p, err)
	}
	defer t.close()
	info, err := t.verify(t.d, t.name, was)
	if err != nil {
		return err
	}
	temp, err := t.temp(now, info.Mode.Perm(), true)
	if err != nil {
		return err
	}
	if err := injectFault(r.faults, OpRename, p); err != nil {
		t.drop(temp)
		return err
	}
	switch err = r.swap(t.temps.f, temp, t.f, t.name); {
	case errors.Is(err, errUnsupported):
		if err := t.moveTempBeside(temp); err != nil {
			t.drop(temp)
			return err
		}
		return t.swapByLink(temp, was, now)
	case err != nil:
		t.drop(temp)
		return goneIf(p, err)
	}
	if _, err = t.verify(t.temps.d, temp, was); err == nil {
		err = r.syncDir(t.f, path.Dir(p))
	}
	if err != nil {
		return t.undo(temp, now, err)
	}
	t.drop(temp)
	return nil
}

// undo exchanges the file of somebody else, which lies at temp, back to the
// target. If that turns out to have been replaced once more since our
// exchange, the newest is what must stay, so it is put back in turn.
func (t *target) undo(temp string, now []byte, cause error) error {
	ours := now
	for range 8 {
		put, _, err := readIn(t.temps.d, temp, t.path, maxCompare)
		if err != nil {
			put = nil // whatever comes back next is somebody's, too
		}
		if err := t.r.swap(t.temps.f, temp, t.f, t.name); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				// Removed since: what somebody else wrote is put back.
				err = t.place(temp, t.name)
			}
			if err != nil {
				return errors.Join(cause, fmt.Errorf("put back %s from %s: %w", t.path, temp, err))
			}
			return t.changed(cause)
		}
		cur, _, err := readIn(t.temps.d, temp, t.path, maxCompare)
		if err == nil && bytes.Equal(cur, now) {
			break
		}
		// Newer than what we put there, and not than what lies there by now, which
		// may be newer still: what we put is what must come back.
		now = put
	}
	if ce, ok := errors.AsType[*ChangedError](cause); ok {
		if left, _, err := readIn(t.temps.d, temp, t.path, maxCompare); err == nil && !bytes.Equal(left, ours) {
			ce.Aside = left
		}
	}
	t.drop(temp)
	return t.changed(cause)
}

// changed returns cause; if it is a ChangedError, with what is there now.
func (t *target) changed(cause error) error {
	if ce, ok := errors.AsType[*ChangedError](cause); ok {
		if cur, _, err := readIn(t.d, t.name, t.path, maxCompare); err == nil {
			ce.Have, ce.Gone = cur, false
		}
	}
	return cause
}

// swapByLink replaces the target where two files cannot be exchanged: a hard
// link keeps the old file, so that what was written to it up to the rename is
// seen and put back. A rename by somebody else between the last look and ours
// is not seen.
func (t *target) swapByLink(temp string, was, now []byte) error {
	old := tempFor(t.path, tempSuffix)
	linked := t.d.Link(t.name, old) == nil
	check := t.name
	if linked {
		check = old
		a, aerr := t.d.Lstat(t.name)
		b, berr := t.d.Lstat(old)
		if aerr != nil || berr != nil || !os.SameFile(a, b) {
			t.drop(old)
			t.drop(temp)
			return t.changed(&ChangedError{Path: t.path, Gone: true})
		}
	}
	_, err := t.verify(t.d, check, was)
	if err == nil {
		err = t.d.Rename(temp, t.name)
	}
	if err != nil {
		t.drop(temp)
		if linked {
			t.drop(old)
		}
		return goneIf(t.path, err)
	}
	if linked {
		_, err = t.verify(t.d, old, was)
	}
	if err == nil {
		err = t.r.syncDir(t.f, path.Dir(t.path))
	}
	if err != nil {
		if linked {
			if cur, _, rerr := readIn(t.d, t.name, t.path, maxCompare); rerr == nil && bytes.Equal(cur, now) {
				_ = t.d.Rename(old, t.name)
			} else {
				t.drop(old)
			}
		}
		return t.changed(err)
	}
	if linked {
		t.drop(old)
	}
	return nil
}

// maxCompare bounds what is read back to be compared. Memories have at most
// 1 MiB; a file that grew beyond this differs anyway.
const maxCompare = 64 << 20

// verify returns a ChangedError unless the file called name in d holds was.
func (t *target) verify(d *os.Root, name string, was []byte) (Info, error) {
	cur, info, err := readIn(d, name, t.path, maxCompare)
	switch {
	case err != nil:
		return info, goneIf(t.path, err)
	case !bytes.Equal(cur, was):
		return info, &ChangedError{Path: t.path, Have: cur}
	}
	return info, nil
}

// goneIf turns fs.ErrNotExist into a ChangedError.
func goneIf(p string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &ChangedError{Path: p, Gone: true}
	}
	return err
}

// Remove deletes the file at path, durably, if it holds was; otherwise it
// returns a *ChangedError and leaves the disk as it was found. Directories of
// one character (the a/b of a/b/<id>.md) that become empty go too.
func (r *Root) Remove(p string, was []byte) error {
	return wrap(OpRemove, p, r.remove(p, was))
}

func (r *Root) remove(p string, was []byte) error {
	t, err := r.target(p, false)
	if err != nil {
		return goneIf(p, err)
	}
	defer t.close()
	info, err := t.takeAway(was)
	if err != nil {
		return err
	}
	// Synced only now: were the name aside to come back after a power cut,
	// CleanTemps would put the file back that is long deleted.
	if err := t.syncBoth(); err != nil {
		// Not durable, so not done: the caller will try again.
		if temp, terr := t.temp(was, info.Mode.Perm(), true); terr != nil {
			return errors.Join(err, fmt.Errorf("put back %s: %w", p, terr))
		} else if perr := t.place(temp, t.name); perr != nil {
			t.drop(temp)
			if !errors.Is(perr, fs.ErrExist) {
				return errors.Join(err, fmt.Errorf("put back %s: %w", p, perr))
			}
		}
		return err
	}
	r.prune(path.Dir(p))
	return nil
}

// takeAway removes the target if it holds was, and syncs nothing. It returns what it
// was.
func (t *target) takeAway(was []byte) (info Info, err error) {
	if _, err := t.verify(t.d, t.name, was); err != nil {
		return info, err
	}
	if err := injectFault(t.r.faults, OpRemove, t.path); err != nil {
		return info, err
	}
	// Taken aside first, under a name from which CleanTemps can put it back,
	// since somebody may write between the look above and now.
	aside := tempFor(t.path, goneSuffix)
	if err := t.takeAside(aside); err != nil {
		return info, goneIf(t.path, err)
	}
	if info, err = t.verify(t.temps.d, aside, was); err != nil {
		if perr := t.place(aside, t.name); errors.Is(perr, fs.ErrExist) {
			_ = t.temps.d.Remove(aside) // somebody wrote a newer one meanwhile
		} else if perr != nil {
			return info, errors.Join(err, fmt.Errorf("put back %s from %s: %w", t.path, aside, perr))
		}
		return info, t.changed(err)
	}
	return info, t.temps.d.Remove(aside)
}

// syncBoth makes durable which names there are beside the target and among the
// temporary files.
func (t *target) syncBoth() error {
	if t.tempsElsewhere() {
		if err := t.r.syncDir(t.temps.f, path.Dir(t.path)); err != nil {
			return err
		}
	}
	return t.r.syncDir(t.f, path.Dir(t.path))
}

// takeAside gives the target a temporary name.
func (t *target) takeAside(name string) error {
	if t.tempsElsewhere() {
		return move(t.f, t.name, t.temps.f, name)
	}
	return t.d.Rename(t.name, name)
}

// prune removes emptied directories of one character, upwards. It is
// best-effort: an empty directory does no harm.
func (r *Root) prune(dir string) {
	for dir != "." && len(path.Base(dir)) == 1 {
		d, err := r.open(path.Dir(dir), false)
		if err != nil {
			return
		}
		err = d.Remove(path.Base(dir)) // fails unless empty
		r.done(d)
		if err != nil {
			return
		}
		dir = path.Dir(dir)
	}
}

// MkdirAll makes the directory dir and its parents, durably.
func (r *Root) MkdirAll(dir string) error {
	if err := validPath(dir); err != nil {
		return err
	}
	d, err := r.open(dir, true)
	if err != nil {
		return wrap(OpMkdir, dir, err)
	}
	r.done(d)
	return nil
}
