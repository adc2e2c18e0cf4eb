// Package corpus measures search by a daemon of its own: it gets the sources that
// questions are asked of, puts them into scratch checkouts with memories and past
// commits, has the daemon index them, and asks it through the function that the
// socket calls too. `foldwatch eval` and tools/train use it.
//
// Sets a and b are asked of one checkout of a source, set c of another, with other
// lines blanked.
package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/daemon"
	"github.com/foldwatch/foldwatch/daemon/checkout"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// Options of [Open]. The zero value works.
type Options struct {
	// Dir holds the daemon's home and the checkouts, and is used again as far as
	// it holds the same corpora: then only what this version of the program makes
	// in another way is made again. "" is a temporary folder that Close removes.
	// Only one Searcher at a time can have it.
	Dir string
	// Worker is the command line of a parser process; empty parses in process.
	Worker []string
	// Config is the user's configuration; nil means the default.
	Config *conf.Config
	Log    *slog.Logger
	// Progress is called now and then while a corpus is indexed; nil for not.
	Progress func(slug string, p wire.Progress)
}

// A Searcher is a daemon of its own that has indexed some corpora. Its methods
// are safe for concurrent use.
type Searcher struct {
	Daemon *daemon.Daemon

	corpora map[string]Corpus
	end     func() error
}

// Open makes a scratch checkout of each corpus, runs a daemon over them, and
// returns when all of it can be searched: words, vectors and past commits. The
// caller calls Close.
func Open(ctx context.Context, opt Options, corpora ...Corpus) (_ *Searcher, err error) {
	s := &Searcher{corpora: map[string]Corpus{}, end: func() error { return nil }}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	dir := opt.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "foldwatch-eval-*"); err != nil {
			return nil, err
		}
		s.end = func() error { return os.RemoveAll(dir) }
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	if err := s.start(ctx, filepath.Join(dir, "home"), opt); err != nil {
		return nil, err
	}
	for _, c := range corpora {
		if s.corpora[c.Slug].Slug != "" {
			return nil, fmt.Errorf("two corpora are called %s: %w", c.Slug, fold.ErrConflict)
		}
		s.corpora[c.Slug] = c
		if err := s.add(ctx, filepath.Join(dir, "checkouts"), c); err != nil {
			return nil, fmt.Errorf("corpus %s: %w", c.Slug, err)
		}
		if err := s.wait(ctx, c.Slug, opt.Progress); err != nil {
			return nil, fmt.Errorf("corpus %s: %w", c.Slug, err)
		}
	}
	return s, nil
}

// start runs a daemon with its home in dir.
func (s *Searcher) start(ctx context.Context, home string, opt Options) error {
	dirs, err := conf.Locate(func(name string) string {
		if name == "FOLDWATCH_HOME" {
			return home
		}
		return os.Getenv(name)
	})
	if err != nil {
		return err
	}
	cfg := conf.Default()
	if opt.Config != nil {
		cfg = *opt.Config
	}
	cfg.AutoCommit = false // the history of memories is not searched
	d, err := daemon.Open(ctx, daemon.Options{Dirs: dirs, Config: cfg, Version: "eval", Worker: opt.Worker, Log: opt.Log})
	if err != nil {
		return err
	}
	runCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- d.Run(runCtx) }()
	s.Daemon = d
	last := s.end
	s.end = func() error {
		stop()
		return errors.Join(<-done, d.Close(), last())
	}
	return nil
}

// Close ends the daemon, and removes what Open made in a temporary folder.
func (s *Searcher) Close() error {
	end := s.end
	s.end = func() error { return nil }
	return end()
}

// add makes the checkout of c, unless the one that is there was made of the
// same, and registers it.
func (s *Searcher) add(ctx context.Context, dir string, c Corpus) error {
	stamp, err := c.stamp()
	if err != nil {
		return err
	}
	checkout, note := filepath.Join(dir, c.Slug), filepath.Join(dir, c.Slug+".stamp")
	if was, err := os.ReadFile(note); err != nil || string(was) != stamp {
		for _, p := range []string{note, checkout} {
			if err := os.RemoveAll(p); err != nil {
				return err
			}
		}
		if err := c.write(ctx, checkout); err != nil {
			return err
		}
		if err := os.WriteFile(note, []byte(stamp), 0o644); err != nil {
			return err
		}
	}
	_, err = s.Daemon.AddProject(ctx, fold.LocalScope(), wire.ProjectCreate{Path: checkout, Slug: c.Slug})
	return err
}

// stamp tells a corpus from others. Its tree counts by its path: those that are
// prepared have one for each content.
func (c Corpus) stamp() (string, error) {
	h := sha256.New()
	err := json.NewEncoder(h).Encode([]any{"1", c.Slug, c.Tree, c.Past, c.Memories})
	return fmt.Sprintf("%x\n", h.Sum(nil)), err
}

// write makes the checkout in dir, which is not there yet.
func (c Corpus) write(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if c.Tree != "" {
		if err := os.CopyFS(dir, os.DirFS(c.Tree)); err != nil {
			return err
		}
	}
	if len(c.Memories) > 0 {
		sum := sha256.Sum256([]byte(c.Slug))
		p := conf.Project{ID: fmt.Sprintf("proj_%x", sum[:4]), Slug: c.Slug, Name: c.Slug}
		if err := writeBelow(dir, checkout.DefaultFoldDir+"/"+conf.ProjectFile, conf.EncodeProject(p)); err != nil {
			return err
		}
	}
	for i := range c.Memories {
		m := &c.Memories[i]
		if err := writeBelow(dir, checkout.DefaultFoldDir+"/"+m.ID.Path(), fold.Encode(m, nil)); err != nil {
			return err
		}
	}
	return usergit.Replay(ctx, dir, c.Past)
}

// tick is how often a daemon is asked how far it is.
const tick = 100 * time.Millisecond

// wait waits until everything in the checkout can be found.
func (s *Searcher) wait(ctx context.Context, slug string, progress func(string, wire.Progress)) error {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		st, err := s.Daemon.ProjectStatus(ctx, fold.LocalScope(), slug)
		switch {
		case err != nil:
			return err
		case st.State == "failed" || st.State == "missing":
			return fmt.Errorf("%s: %s: %w", st.State, st.Reason, fold.ErrUnavailable)
		case st.Queued == 0 && st.VectorsDue == 0 && st.State == "ready":
			return nil
		case progress != nil && st.Progress != nil:
			progress(slug, *st.Progress)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}
