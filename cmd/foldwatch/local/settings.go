package local

import (
	"github.com/foldwatch/foldwatch/meta/conf"
)

// Settings are the configuration, and where things lie on this machine.
type Settings struct {
	Config  conf.Config
	Origins []conf.Origin
	Dirs    conf.Dirs
}

// A Config reads the settings when they are first asked for.
type Config struct {
	Environ []string
	Getenv  func(string) string

	Err error // what of the settings is wrong, once they were read

	loaded *Settings
}

// Forget has the settings be read again.
func (c *Config) Forget() { c.loaded = nil }

// Settings reads the configuration when it is first needed: version and help
// work whatever the user file holds. With an error of [conf.Load] it returns what is
// right of it, by which nothing is served: see there.
func (c *Config) Settings() (Settings, error) {
	if c.loaded != nil {
		return *c.loaded, c.Err
	}
	dirs, err := conf.Locate(c.Getenv)
	if err != nil {
		return Settings{}, err
	}
	cfg, origins, err := conf.Load(dirs.ConfigFile(), c.Environ, nil)
	c.loaded, c.Err = &Settings{Config: cfg, Origins: origins, Dirs: dirs}, err
	return *c.loaded, c.Err
}

// Dirs are where things lie on this machine, which no user file decides.
func (c *Config) Dirs() (conf.Dirs, error) {
	st, err := c.Settings()
	if c.loaded != nil {
		err = nil
	}
	return st.Dirs, err
}
