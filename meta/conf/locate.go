package conf

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// maxSocketPath is the longest path, in bytes, at which a unix socket can be
// bound everywhere: macOS allows 103 and Linux 107.
const maxSocketPath = 100

// Dirs says where foldwatch keeps things on this machine. The folders need not
// exist yet.
type Dirs struct {
	Home   string // FOLDWATCH_HOME; "" unless it is set
	Config string // holds config.toml
	State  string // registry, caches, indexes, the daemon's lock
	Data   string // mirrors, the global project
	Cache  string // holds models
	Socket string // path of the daemon's socket; on Windows the name of a pipe
}

// ConfigFile returns the path of the user file.
func (d Dirs) ConfigFile() string { return filepath.Join(d.Config, "config.toml") }

// Models returns the folder of downloaded models.
func (d Dirs) Models() string { return filepath.Join(d.Cache, "models") }

// SocketFile returns the file in the state folder that holds the path at which
// the daemon really listens.
func (d Dirs) SocketFile() string { return filepath.Join(d.State, "socket") }

// Locate returns the folders for the environment that env looks up. It returns
// ErrInvalid if FOLDWATCH_HOME is not absolute, or the home folder cannot be
// told.
func Locate(env func(string) string) (Dirs, error) {
	return locate(env, system{
		os: runtime.GOOS, uid: os.Getuid(), temp: os.TempDir(), owned: ownedByUser,
	})
}

// A system is what Locate asks of the machine, so that tests can be another.
type system struct {
	os    string
	uid   int // -1 on Windows
	temp  string
	owned func(dir string) bool // dir exists and belongs to uid alone
}

func locate(env func(string) string, sys system) (Dirs, error) {
	if home := env("FOLDWATCH_HOME"); home != "" {
		if !filepath.IsAbs(home) {
			return Dirs{}, fmt.Errorf("FOLDWATCH_HOME %q is not an absolute path: %w", home, fold.ErrInvalid)
		}
		home = filepath.Clean(home)
		d := Dirs{
			Home:   home,
			Config: filepath.Join(home, "config"),
			State:  filepath.Join(home, "state"),
			Data:   filepath.Join(home, "data"),
			Cache:  filepath.Join(home, "cache"),
		}
		d.Socket = socketPath(env, sys, filepath.Join(home, "foldwatch.sock"))
		return d, nil
	}
	d, err := systemDirs(env, sys)
	if err != nil {
		return Dirs{}, err
	}
	d.Socket = socketPath(env, sys, "")
	return d, nil
}

func systemDirs(env func(string) string, sys system) (Dirs, error) {
	if sys.os == "windows" {
		local, roaming := env("LOCALAPPDATA"), env("APPDATA")
		if local == "" || roaming == "" {
			return Dirs{}, fmt.Errorf("APPDATA and LOCALAPPDATA are not both set: %w", fold.ErrInvalid)
		}
		base := filepath.Join(local, "foldwatch")
		return Dirs{
			Config: filepath.Join(roaming, "foldwatch"),
			State:  filepath.Join(base, "state"),
			Data:   filepath.Join(base, "data"),
			Cache:  filepath.Join(base, "cache"),
		}, nil
	}
	home := env("HOME")
	// The specification: a relative path in an XDG variable is ignored.
	xdg := func(name string, rest ...string) string {
		if v := env(name); filepath.IsAbs(v) {
			return filepath.Join(v, "foldwatch")
		}
		if !filepath.IsAbs(home) {
			return ""
		}
		return filepath.Join(append(append([]string{home}, rest...), "foldwatch")...)
	}
	var d Dirs
	if sys.os == "darwin" {
		support := []string{"Library", "Application Support"}
		d = Dirs{
			Config: xdg("XDG_CONFIG_HOME", support...),
			State:  xdg("XDG_STATE_HOME", support...),
			Data:   xdg("XDG_DATA_HOME", support...),
			Cache:  xdg("XDG_CACHE_HOME", "Library", "Caches"),
		}
	} else {
		d = Dirs{
			Config: xdg("XDG_CONFIG_HOME", ".config"),
			State:  xdg("XDG_STATE_HOME", ".local", "state"),
			Data:   xdg("XDG_DATA_HOME", ".local", "share"),
			Cache:  xdg("XDG_CACHE_HOME", ".cache"),
		}
	}
	if d.Config == "" || d.State == "" || d.Data == "" || d.Cache == "" {
		return Dirs{}, fold.WithHint(
			fmt.Errorf("HOME is not set to an absolute path: %w", fold.ErrInvalid),
			"set HOME, or FOLDWATCH_HOME to a folder that may hold everything")
	}
	return d, nil
}

// socketPath returns where the daemon listens. wanted is the path under
// FOLDWATCH_HOME, or "" for the runtime folder of the system.
func socketPath(env func(string) string, sys system, wanted string) string {
	if sys.os == "windows" {
		key := env("LOCALAPPDATA")
		if wanted != "" {
			key = wanted
		}
		return `\\.\pipe\foldwatch-` + hash8(key)
	}
	temp := filepath.Join(sys.temp, fmt.Sprintf("foldwatch-%d", sys.uid))
	if wanted == "" {
		dir := temp
		if run := env("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
			dir = filepath.Join(run, "foldwatch")
		} else if run := fmt.Sprintf("/run/user/%d", sys.uid); sys.owned(run) {
			dir = filepath.Join(run, "foldwatch")
		}
		wanted = filepath.Join(dir, "foldwatch.sock")
	}
	if len(wanted) <= maxSocketPath {
		return wanted
	}
	name := hash8(wanted) + ".sock"
	if p := filepath.Join(temp, name); len(p) <= maxSocketPath {
		return p
	}
	// Some systems give every user a temp folder with a very long name.
	return filepath.Join("/tmp", fmt.Sprintf("foldwatch-%d", sys.uid), name)
}

func hash8(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
