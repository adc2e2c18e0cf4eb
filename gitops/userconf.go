package gitops

import (
	"context"
	"fmt"
	"maps"
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
	at     time.Time // when it was read
	until  time.Time // when it is read again, whatever moved
	stamps map[string]stamp
	keys   map[string][]setting // lower case; in order
}

// confAge is for how long the configuration is not read again as long as none of
// its files moved: a file of the machine may come into being. Where there are
// includes it is identityAge: which of them count, and which are there, is git's
// to say.
const confAge = 10 * time.Minute

// read brings c up to date. Git is asked when a file of it moved, or after a while.
func (c *userConf) read(ctx context.Context, now time.Time) error {
	if c.fresh(now) {
		return nil
	}
	files := append(configFiles(), filepath.Join(c.l.CommonDir, "config"), filepath.Join(c.l.GitDir, "config.worktree"))
	before := map[string]stamp{}
	for _, p := range files {
		before[p] = stampAt(p)
	}
	git := c.l.git("config", "-z", "--list", "--show-scope", "--show-origin")
	out, err := git.output(ctx)
	if err != nil {
		return fmt.Errorf("read git's configuration: %w", err)
	}
	keys, stamps, age := map[string][]setting{}, map[string]stamp{}, confAge
	f := strings.Split(string(out), "\x00")
	for i := 0; i+2 < len(f); i += 3 {
		scope := f[i]
		if scope == "command" {
			continue // what we set ourselves
		}
		if p, ok := strings.CutPrefix(f[i+1], "file:"); ok {
			if !filepath.IsAbs(p) {
				p = filepath.Join(git.dir, p)
			}
			if _, known := before[p]; !known && stamps[p] == (stamp{}) {
				stamps[p] = stampAt(p).settled(time.Now()) // looked at only now
			}
		}
		k, v, valued := strings.Cut(f[i+2], "\n")
		if !valued {
			v = "true"
		}
		if strings.HasPrefix(k, "include.") || strings.HasPrefix(k, "includeif.") {
			age = identityAge
		}
		keys[k] = append(keys[k], setting{v, scope == "global" || scope == "system"})
	}
	maps.Copy(stamps, before)
	c.keys, c.stamps, c.until, c.at = keys, stamps, now.Add(age), now
	return nil
}

// fresh reports whether what was read is still so.
func (c *userConf) fresh(now time.Time) bool {
	if c.keys == nil || now.Before(c.at) || now.After(c.until) {
		return false
	}
	for p, was := range c.stamps {
		if stampAt(p) != was {
			return false
		}
	}
	return true
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
