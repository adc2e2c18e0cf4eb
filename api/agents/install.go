package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A State says how a client's file stands to us.
type State string

// The states of a client's file.
const (
	Absent    State = "absent"    // no entry of ours
	Installed State = "installed" // our entry, as we would write it
	Different State = "different" // an entry of our name that says something else
)

// A Result tells what Install or Remove did.
type Result struct {
	File    string
	Changed bool   // false: the file was as it should be
	Backup  string // copy of the file as it was; "" if there was none or none is needed
}

// backupSuffix marks the copy of a file as it was before our first change.
const backupSuffix = ".before-foldwatch"

// fileLimit is how large a configuration may be in bytes. Claude Code keeps its
// history in the same file, which grows to tens of megabytes.
const fileLimit = 256 << 20

// Check tells whether our entry stands in the client's file. It returns
// ErrInvalid if the file cannot be parsed, and ErrNotFound for a client there
// is not or whose file is not known.
func Check(id string, o Options) (State, error) {
	c, path, err := locate(id, o)
	if err != nil {
		return "", err
	}
	b, _, err := read(path)
	if err != nil {
		return "", err
	}
	with, err := c.set(b, o)
	if err != nil {
		return "", unparsable(path, err)
	}
	if bytes.Equal(with, b) {
		return Installed, nil
	}
	without, err := c.remove(b)
	if err != nil {
		return "", unparsable(path, err)
	}
	if !bytes.Equal(without, b) {
		return Different, nil
	}
	return Absent, nil
}

// entryCommand is where an entry, in JSON or TOML, names its program.
var entryCommand = regexp.MustCompile(`\bcommand["']?\s*[:=]\s*\[?\s*("(?:[^"\\]|\\.)*"|'[^']*')`)

// Program returns what our entry in the client's file starts: a path, or a name that
// is looked for on PATH. It returns "" where there is no entry, or it names none.
func Program(id string, o Options) string {
	c, path, err := locate(id, o)
	if err != nil {
		return ""
	}
	b, _, err := read(path)
	if err != nil {
		return ""
	}
	without, err := c.remove(b)
	if err != nil {
		return ""
	}
	start := 0
	for start < min(len(b), len(without)) && b[start] == without[start] {
		start++
	}
	// An entry begins with our name, in which it differs from what follows it.
	entry := b[start:max(start, min(len(b), start+len(b)-len(without)))]
	m := entryCommand.FindSubmatch(entry)
	if m == nil {
		return ""
	}
	if m[1][0] == '\'' {
		return string(m[1][1 : len(m[1])-1])
	}
	var program string
	_ = json.Unmarshal(m[1], &program) // what JSON does not read names none
	return program
}

// Install writes our entry into the client's file and leaves every other byte
// of it alone. The file as it was is kept beside it. Doing it twice is doing it
// once. It returns ErrInvalid, and changes nothing, if the file cannot be
// parsed, and ErrNotFound for a client whose file is not known.
func Install(id string, o Options) (Result, error) {
	c, path, err := locate(id, o)
	if err != nil {
		return Result{}, err
	}
	res := Result{File: path}
	err = edit(path, 0o600, func(b []byte, there bool) ([]byte, bool, error) {
		now, err := c.set(b, o)
		if err != nil || bytes.Equal(now, b) && there {
			return b, there, unparsable(path, err)
		}
		if again, err := c.set(now, o); err != nil || !bytes.Equal(again, now) {
			// What cannot be read back is not written over what can.
			return nil, false, fmt.Errorf("%s: our entry does not fit into it: %w", path, errors.Join(fold.ErrInvalid, err))
		}
		if there {
			backup := path + backupSuffix
			if err := keep(backup, b); err != nil {
				return nil, false, err
			}
			res.Backup = backup
		}
		res.Changed = true
		return now, true, nil
	})
	if err != nil {
		return Result{File: path}, fmt.Errorf("setup %s: %w", c.ID, err)
	}
	return res, nil
}

// Remove takes our entry out of the client's file again: nothing of it stays,
// neither the file, if there was none before, nor the copy, if the file is now
// as it was.
func Remove(id string, o Options) (Result, error) {
	c, path, err := locate(id, o)
	if err != nil {
		return Result{}, err
	}
	backup := path + backupSuffix
	before, had, err := read(backup)
	if err != nil {
		return Result{}, err
	}
	res := Result{File: path}
	err = edit(path, 0o600, func(b []byte, there bool) ([]byte, bool, error) {
		if with, err := c.set(before, o); err == nil && there && bytes.Equal(with, b) {
			res.Changed = true
			return before, had, nil // nothing else changed since: as it was
		}
		now, err := c.remove(b)
		if err != nil || bytes.Equal(now, b) {
			return b, there, unparsable(path, err)
		}
		res.Changed = true
		return now, had || len(now) > 0, nil // nothing is left of a file that we made
	})
	if err != nil {
		return Result{File: path}, fmt.Errorf("setup --remove %s: %w", c.ID, err)
	}
	if had {
		now, _, err := read(path)
		if err != nil {
			return res, err
		}
		if bytes.Equal(now, before) {
			return res, os.Remove(backup)
		}
		res.Backup = backup
	}
	return res, nil
}

func locate(id string, o Options) (Client, string, error) {
	c, err := Find(id)
	if err != nil {
		return Client{}, "", err
	}
	if err := o.check(); err != nil {
		return Client{}, "", err
	}
	path := c.File(o)
	if path == "" {
		return Client{}, "", fold.WithHint(fmt.Errorf("the file of %s: %w", c.Name, fold.ErrNotFound), "paste what foldwatch setup --print "+c.ID+" prints")
	}
	return c, path, nil
}

func (c Client) set(b []byte, o Options) ([]byte, error) {
	if c.keys == nil {
		return conf.SetBlock(b, tomlBlock(o.Command, o.args()))
	}
	return conf.SetJSONC(b, c.keys, c.make(o.Command, o.args()))
}

func (c Client) remove(b []byte) ([]byte, error) {
	if c.keys == nil {
		return conf.RemoveBlock(b)
	}
	return conf.RemoveJSONC(b, c.keys)
}

func unparsable(path string, err error) error {
	if err == nil {
		return nil
	}
	return fold.WithHint(fmt.Errorf("%s: %w", path, err), "nothing was changed; mend the file, or paste what foldwatch setup --print prints")
}

func read(path string) (b []byte, there bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() || info.Size() > fileLimit {
		return nil, false, fmt.Errorf("%s is no configuration file: %w", path, fold.ErrInvalid)
	}
	b, err = os.ReadFile(path)
	return b, true, err
}

// edit replaces the file by what fn makes of it; fn says whether it shall
// exist. Perm is that of a new file, and of who may enter a new folder. The client writes its file too: where it did so meanwhile, fn decides
// again on what is there then.
func edit(path string, perm fs.FileMode, fn func(b []byte, there bool) (now []byte, exist bool, err error)) error {
	for range 5 {
		b, there, err := read(path)
		if err != nil {
			return err
		}
		now, exist, err := fn(b, there)
		if err != nil {
			return err
		}
		if exist == there && bytes.Equal(now, b) {
			return nil
		}
		again, still, err := read(path)
		if err != nil {
			return err
		}
		if still != there || !bytes.Equal(again, b) {
			continue
		}
		if !exist {
			return os.Remove(path)
		}
		if err := os.MkdirAll(filepath.Dir(path), perm|perm>>2&0o111); err != nil {
			return err
		}
		return disk.WriteFile(path, now, perm)
	}
	return fmt.Errorf("%s changes all the time: %w", path, fold.ErrUnavailable)
}

// keep stores the copy of a file as it was, once: a second install must not
// replace it by a file that has our entry.
func keep(path string, b []byte) error {
	if _, there, err := read(path); err != nil || there {
		return err
	}
	return disk.WriteFile(path, b, 0o600)
}
