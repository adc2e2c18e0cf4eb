package objdb

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/foldwatch/foldwatch/meta/disk"
)

// OpenBeside opens a bare repository of ours at dir that sees the objects of another,
// whose common git directory is of, as its alternates, and makes it if need be. Its
// configuration is ours alone, as [Repo.CheckOwn] sees to; sha256 says how objects
// are named. Where history ends in of, it ends here.
func OpenBeside(dir, of string, sha256 bool, faults disk.Faults) (_ *Repo, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	own, err := openOwnFS(dir, faults)
	if err != nil {
		return nil, err
	}
	o := &Repo{fs: own, batch: memory.NewStorage()}
	o.reopen()
	defer func() {
		if err != nil {
			_ = o.Close()
		}
	}()
	if err := o.noneOf("commondir", "objects/info/http-alternates", "config.worktree", "gitdir", "info/grafts"); err != nil {
		return nil, err
	}
	for _, d := range []string{"objects/info", "objects/pack", "refs/heads", "refs/foldwatch"} {
		if err := own.MkdirAll(d, 0o777); err != nil {
			return nil, err
		}
	}
	o.SweepPacks() // of a fetch that a crash ended
	config := repoConfig
	if sha256 {
		config = strings.Replace(config, "repositoryformatversion = 0", "repositoryformatversion = 1", 1) + "[extensions]\n\tobjectFormat = sha256\n"
	}
	alternates, err := filepath.Rel(filepath.Join(dir, "objects"), filepath.Join(of, "objects"))
	if err != nil {
		return nil, err
	}
	for _, f := range []struct{ name, text string }{
		{"objects/info/alternates", filepath.ToSlash(alternates) + "\n"},
		{"config", config},
		{"HEAD", "ref: refs/heads/none\n"},
	} {
		if err := o.keep(f.name, []byte(f.text)); err != nil {
			return nil, err
		}
	}
	shallow, err := os.ReadFile(filepath.Join(of, "shallow"))
	if errors.Is(err, fs.ErrNotExist) {
		if err := own.root.Remove("shallow"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return o, nil
	}
	if err != nil {
		return nil, err
	}
	return o, o.keep("shallow", shallow)
}

// keep has a file of the repository hold b.
func (o *Repo) keep(name string, b []byte) error {
	if have, err := o.fs.root.ReadFile(name); err == nil && bytes.Equal(have, b) {
		return nil
	}
	return o.fs.writeFile(name, b)
}
