package gitops

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// A setting is one key of the user's configuration of git.
type setting struct {
	value string
	// mine says that it stands in the user's own or the machine's configuration,
	// not in one that came with the repository.
	mine bool
}

// A userConf is the configuration of git in a repository, includes followed. It is
// for one caller at a time.
type userConf struct {
	l      *Layout
	at     time.Time
	stamps map[string]stamp
	keys   map[string][]setting // lower case; in order
}

// read brings c up to date. Git is asked when a file of it moved, or after a
// minute: files that are included are not known.
func (c *userConf) read(ctx context.Context, now time.Time) error {
	files := append(configFiles(), filepath.Join(c.l.CommonDir, "config"), filepath.Join(c.l.GitDir, "config.worktree"))
	stamps := make(map[string]stamp, len(files))
	same := c.keys != nil && now.Sub(c.at) < identityAge && !now.Before(c.at)
	for _, p := range files {
		stamps[p] = stampAt(p)
		same = same && stamps[p] == c.stamps[p]
	}
	if same {
		return nil
	}
	out, err := c.l.git("config", "-z", "--list", "--show-scope").output(ctx)
	if err != nil {
		return fmt.Errorf("read git's configuration: %w", err)
	}
	keys := map[string][]setting{}
	f := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(f); i += 2 {
		scope := f[i]
		if scope == "command" {
			continue // what we set ourselves
		}
		k, v, valued := strings.Cut(f[i+1], "\n")
		if !valued {
			v = "true"
		}
		keys[k] = append(keys[k], setting{v, scope == "global" || scope == "system"})
	}
	c.keys, c.at, c.stamps = keys, now, stamps
	return nil
}

// get returns the value in force, "" if there is none.
func (c *userConf) get(key string) string {
	v := c.keys[key]
	if len(v) == 0 {
		return ""
	}
	return v[len(v)-1].value
}

// trusted returns the value that the user gave, whatever the repository says.
func (c *userConf) trusted(key string) string {
	value := ""
	for _, s := range c.keys[key] {
		if s.mine {
			value = s.value
		}
	}
	return value
}

// foreign reports whether the repository itself sets key.
func (c *userConf) foreign(key string) bool {
	for _, s := range c.keys[key] {
		if !s.mine {
			return true
		}
	}
	return false
}

// yes reports whether a key is set to true.
func (c *userConf) yes(key string) bool {
	switch strings.ToLower(c.get(key)) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// identity is who commits are by. What git would guess from login and host name is
// not used: it would carry the host name into history.
func (c *userConf) identity() (name, email string) {
	pick := func(key string) string {
		if v := c.get("author." + key); v != "" {
			return plainName(v)
		}
		return plainName(c.get("user." + key))
	}
	return pick("name"), pick("email")
}

// filters returns the names of the filters that would run a program.
func (c *userConf) filters() map[string]bool {
	out := map[string]bool{}
	for k := range c.keys {
		name, ok := strings.CutPrefix(k, "filter.")
		if !ok {
			continue
		}
		for _, end := range []string{".clean", ".process"} {
			if n, ok := strings.CutSuffix(name, end); ok {
				out[n] = true
			}
		}
	}
	return out
}
