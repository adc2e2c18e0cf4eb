package usergit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const (
	driverSection = "[merge \"foldwatch\"]\n"
	// driverNote is a file in our own folder that says that the user's configuration
	// ended without a line end before git added the section.
	driverNote = "merge-driver"
)

// MergeAttributes are the lines that name the merge driver for memories, in a file
// of attributes in the folder that they lie in.
const MergeAttributes = "# how git merges memories: foldwatch merge-driver install\n*.md merge=foldwatch\nproject.toml merge=foldwatch\n"

// MergeDriver returns the command by which the repository's configuration has git
// merge memories, or "".
func (l *Repo) MergeDriver(ctx context.Context) (string, error) {
	out, err := l.Git("config", "--local", "--get", "merge.foldwatch.driver").Line(ctx)
	if ExitCode(err) == 1 {
		return "", nil
	}
	return out, err
}

// SetMergeDriver has the user's git write the merge driver into the configuration
// of the repository, for a command that the user typed.
func (l *Repo) SetMergeDriver(ctx context.Context, name, command string) error {
	config, err := os.ReadFile(l.configFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if n := len(config); n > 0 && config[n-1] != '\n' && !bytes.Contains(config, []byte(driverSection)) {
		if err := os.MkdirAll(l.StateDir(), 0o700); err != nil {
			return err
		}
		if err := disk.WriteFile(filepath.Join(l.StateDir(), driverNote), nil, 0o600); err != nil {
			return err
		}
	}
	for _, kv := range [][2]string{{"merge.foldwatch.name", name}, {"merge.foldwatch.driver", command}} {
		if _, err := l.readByUserGit(ctx, nil, "config", "--local", kv[0], kv[1]); err != nil {
			return err
		}
	}
	return nil
}

func (l *Repo) configFile() string { return filepath.Join(l.CommonDir, "config") }

// UnsetMergeDriver takes the lines that SetMergeDriver had git write out of the
// configuration, and leaves every other byte of it. git config --remove-section
// would also take the comments up to the next section, and --unset leave an empty
// section behind a comment. What somebody else wrote into that section stays.
func (l *Repo) UnsetMergeDriver() (removed bool, err error) {
	name, err := filepath.EvalSymlinks(l.configFile())
	if err != nil {
		return false, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return false, err
	}
	lock, err := os.OpenFile(name+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()) // git's own way to change it
	if errors.Is(err, fs.ErrExist) {
		return false, fold.WithHint(fmt.Errorf("git holds %s: %w", name, fold.ErrConflict), "wait until git has ended; if no git runs there, delete "+quoteArg(name+".lock"))
	}
	if err != nil {
		return false, err
	}
	renamed := false // then the lock by that name is another's
	defer func() {
		if !renamed {
			_ = os.Remove(lock.Name())
		}
	}()
	note := filepath.Join(l.StateDir(), driverNote)
	_, noteErr := os.Stat(note)
	config, err := os.ReadFile(name)
	left, found := withoutDriver(config, noteErr == nil)
	if err == nil && found {
		_, err = lock.Write(left)
	}
	if err = errors.Join(err, lock.Sync(), lock.Close()); err != nil || !found {
		return false, err
	}
	if err := os.Rename(lock.Name(), name); err != nil {
		return false, err
	}
	renamed = true
	if noteErr == nil {
		err = os.Remove(note)
	}
	return true, err
}

// withoutDriver returns a configuration without the lines of the merge driver, and
// without their section where nothing else stands in it. joined says that git
// ended a line in front of it that had no end.
func withoutDriver(config []byte, joined bool) (left []byte, found bool) {
	before, after, ok := bytes.Cut(config, []byte(driverSection))
	if !ok || len(before) > 0 && before[len(before)-1] != '\n' {
		return config, false
	}
	var others []byte // what somebody else wrote into the section
	for len(after) > 0 && after[0] != '[' {
		line, rest, ended := bytes.Cut(after, []byte("\n"))
		if ended {
			line = after[:len(line)+1]
		}
		after = rest
		key, _, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if key == "name" || key == "driver" {
			found = true
			continue
		}
		others = append(others, line...)
	}
	if !found {
		return config, false
	}
	left = bytes.Clone(before)
	if hasKey(others) {
		left = append(left, driverSection...)
	} else if joined && len(others)+len(after) == 0 {
		left = bytes.TrimSuffix(left, []byte("\n"))
	}
	return append(append(left, others...), after...), true
}

// hasKey reports whether lines of a section set anything.
func hasKey(lines []byte) bool {
	for line := range strings.Lines(string(lines)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != ';' {
			return true
		}
	}
	return false
}

// mergeDriver is the name of our driver in attributes and configuration.
const mergeDriver = "foldwatch"

// MergesMemories reports whether git merges memories by their meaning in this
// checkout: its configuration says which program our driver is, and its attributes
// name that for memories and for the project file. It starts git.
func (l *Repo) MergesMemories(ctx context.Context, foldDir string) (bool, error) {
	driver, err := l.Git("config", "--get", "merge."+mergeDriver+".driver").Line(ctx)
	if ExitCode(err) == 1 || err == nil && driver == "" {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read git's configuration: %w", err)
	}
	out, err := l.Git("check-attr", "-z", "merge", "--", foldDir+"/decision/a-memory-00000000.md", foldDir+"/"+fold.ProjectFile).Output(ctx)
	if err != nil {
		return false, fmt.Errorf("read attributes: %w", err)
	}
	f := strings.Split(string(out), "\x00")
	return len(f) > 5 && f[2] == mergeDriver && f[5] == mergeDriver, nil
}
