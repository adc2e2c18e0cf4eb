package disk

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
)

// A File is a path and what shall stand there.
type File struct {
	Path string
	Data []byte
}

// CreateMany writes new files, durable together when it returns: all of them
// under temporary names, one sync of the file system (or one a file, where
// there is no such call), then their names, then a sync again; so that no name
// ever shows an empty file after a power cut. Files that exist already are
// left alone and named in an *ExistError; any other error means that none may
// be taken as written, although some may be there.
func (r *Root) CreateMany(files []File) error {
	if len(files) == 0 {
		return nil
	}
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	m := many{r: r, temps: make([]string, len(files))}
	if hasSyncFS {
		m.r = &Root{root: r.root, faults: r.faults, temps: r.temps, swap: r.swap, put: r.put, made: &m.made}
	}
	defer m.close()
	if err := m.write(files); err != nil {
		m.undo(files)
		return err
	}
	if err := m.sync(); err != nil {
		m.undo(files)
		return err
	}
	exist, err := m.place(files)
	if err != nil {
		m.undo(files)
		return err
	}
	if err := m.sync(); err != nil {
		return err
	}
	if len(exist) > 0 {
		return &ExistError{Paths: exist}
	}
	return nil
}

// many is the state of one CreateMany.
type many struct {
	r     *Root
	temps []string // by file; "" once placed or given up
	t     *target  // of the directory last used: files come sorted
	dirs  []string // used, each once
	made  []string // directories that were not there, not synced by themselves
}

// at points m.t at the file p.
func (m *many) at(p string) error {
	if m.t != nil && path.Dir(m.t.path) == path.Dir(p) {
		m.t.path, m.t.name = p, path.Base(p)
		return validPath(p)
	}
	m.close()
	t, err := m.r.target(p, true)
	if err != nil {
		return err
	}
	m.t = t
	return nil
}

func (m *many) close() {
	if m.t != nil {
		m.t.close()
		m.t = nil
	}
}

func (m *many) write(files []File) error {
	for i, f := range files {
		if err := m.at(f.Path); err != nil {
			return wrap(OpCreate, f.Path, err)
		}
		if d := path.Dir(f.Path); len(m.dirs) == 0 || m.dirs[len(m.dirs)-1] != d {
			m.dirs = append(m.dirs, d)
		}
		temp, err := m.t.temp(f.Data, 0, !hasSyncFS)
		if err != nil {
			return wrap(OpCreate, f.Path, err)
		}
		m.temps[i] = temp
	}
	return nil
}

// sync makes everything so far durable. Where only directories can be synced,
// the files, and the directories that were made, have been one by one.
func (m *many) sync() error {
	if err := injectFault(m.r.faults, OpSyncDir, "."); err != nil {
		return wrap(OpSyncDir, ".", err)
	}
	f, err := m.r.root.Open(".")
	if err != nil {
		return wrap(OpSyncDir, ".", err)
	}
	defer f.Close()
	if err := syncFS(f); !errors.Is(err, errUnsupported) {
		return wrap(OpSyncDir, ".", err)
	}
	for _, d := range m.dirs {
		if err := m.syncOne(d); err != nil {
			return wrap(OpSyncDir, d, err)
		}
	}
	return nil
}

func (m *many) syncOne(dir string) error {
	d, err := m.r.open(dir, false)
	if err != nil {
		return err
	}
	defer m.r.done(d)
	f, err := d.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return syncDir(f)
}

func (m *many) place(files []File) (exist []string, err error) {
	for i, f := range files {
		if err := m.at(f.Path); err != nil {
			return exist, wrap(OpRename, f.Path, err)
		}
		err := m.t.put(m.temps[i])
		if errors.Is(err, fs.ErrExist) {
			exist = append(exist, f.Path)
			m.t.drop(m.temps[i])
		} else if err != nil {
			return exist, wrap(OpRename, f.Path, err)
		}
		m.temps[i] = ""
	}
	return exist, nil
}

// undo removes the temporary files that are left, and the directories that were
// made and are empty: the next call must not take them for durable.
func (m *many) undo(files []File) {
	for i, f := range files {
		if m.temps[i] != "" && m.at(f.Path) == nil {
			m.t.drop(m.temps[i])
		}
	}
	m.close()
	for _, dir := range slices.Backward(m.made) {
		if d, err := m.r.open(path.Dir(dir), false); err == nil {
			_ = d.Remove(path.Base(dir)) // holds a file that was placed
			m.r.done(d)
		}
	}
}

// Sync makes everything on the file system of r durable, where the system has a
// call for that. Elsewhere each file and directory was synced by itself.
func (r *Root) Sync() error {
	if !hasSyncFS {
		return nil
	}
	m := many{r: r}
	return m.sync()
}
