package doctor

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/api/agents"
	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// A Host is what the checks look at, and mend by.
type Host struct {
	Daemon *local.Daemon
	// Service looks at the system's service; daemon is nil where none answers.
	Service func(daemon *wire.Status) []Result

	Parsers string                 // what this program parses by
	Program func() (string, error) // path of this one
	WorkDir func() (string, error) // of the user
	Agents  func() (agents.Options, error)
	Now     func() time.Time
	Wait    func(ctx context.Context, d time.Duration) error
	Free    func(dir string) (int64, error) // bytes that can be written where a folder lies
	Reindex func(ctx context.Context, c local.Client, slug string, in wire.Reindex) error

	DriftTimeout time.Duration // until the daemon has compared an index with its files
	GitTimeout   time.Duration // until one call of the git program has ended
}

// An exam is one run of the checks. Earlier ones fill what later ones need: the
// settings, the daemon, the checkouts.
type exam struct {
	host     *Host
	settings local.Settings // without what is wrong with them; zero where nobody knows where things lie
	wrong    error          // with the settings
	client   local.Client
	daemon   *wire.Status // nil where none answers

	listed    bool // checkouts is filled
	checkouts []checkout
}

// A checkout is one that is looked at: those that the daemon has, or where none
// answers the one that doctor runs in.
type checkout struct {
	slug   string // as it is told; "" is the folder's name
	path   string
	fold   string              // absolute path of the folder of memories
	status *wire.ProjectStatus // nil where no daemon answers
	main   bool                // no linked work tree
}

// allCheckouts returns what is to be looked at; none where there is no daemon and doctor
// runs in no repository.
func (x *exam) allCheckouts(ctx context.Context) []checkout {
	if !x.listed {
		x.listed, x.checkouts = true, x.list(ctx)
	}
	return x.checkouts
}

func (x *exam) list(ctx context.Context) (all []checkout) {
	if x.client == nil {
		return x.checkoutHere(ctx)
	}
	list, err := local.Answer(ctx, x.host.Daemon.Timeout, x.client.Projects)
	if err != nil {
		return nil
	}
	for _, pr := range list.Items {
		for _, co := range pr.Checkouts {
			if info, err := os.Stat(co.Path); err != nil || !info.IsDir() {
				continue // of others the projects check tells
			}
			t := checkout{slug: pr.Slug, path: co.Path, fold: co.Fold, main: !co.Linked}
			if t.fold == "" {
				t.fold = filepath.Join(co.Path, "fold")
			}
			for i, st := range x.statuses() {
				if st.Path == co.Path {
					t.status = &x.daemon.Projects[i]
				}
			}
			all = append(all, t)
		}
	}
	return all
}

func (x *exam) checkoutHere(ctx context.Context) []checkout {
	wd, err := x.host.WorkDir()
	if err != nil {
		return nil
	}
	l, err := usergit.Locate(ctx, wd)
	if err != nil || l.WorkTree == "" {
		return nil
	}
	return []checkout{{slug: filepath.Base(l.WorkTree), path: l.WorkTree, fold: l.FoldPath(""), main: !l.Linked}}
}

func (x *exam) statuses() []wire.ProjectStatus {
	if x.daemon == nil {
		return nil
	}
	return x.daemon.Projects
}

// again drops what was asked of the daemon before something was mended.
func (x *exam) again(ctx context.Context) {
	x.listed, x.checkouts = false, nil
	if x.client == nil {
		return
	}
	if st, err := local.Answer(ctx, x.host.Daemon.Timeout, x.client.Status); err == nil {
		x.daemon = x.opened(ctx, x.client, st)
	}
}

// mainCheckouts are the ones without linked work trees, whose fold/ is that of the main
// one.
func (x *exam) mainCheckouts(ctx context.Context) []checkout {
	return slices.DeleteFunc(slices.Clone(x.allCheckouts(ctx)), func(t checkout) bool { return !t.main })
}

// foldDir is the name of the folder of memories in the checkout.
func (t checkout) foldDir() string {
	if rel, err := filepath.Rel(t.path, t.fold); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return filepath.Base(t.fold)
}

// tracked reports whether the user's own branch holds the memories.
func (t checkout) tracked() bool { return t.status != nil && t.status.Mode == "tracked" }

// opened returns how the daemon is once it has opened the stores of its projects, or
// will not soon: before that it counts nothing. St is how it is now.
func (x *exam) opened(ctx context.Context, c local.Client, st wire.Status) *wire.Status {
	for range storesPatience / openingPause {
		if !slices.ContainsFunc(st.Projects, func(pr wire.ProjectStatus) bool { return pr.State == stateStarting }) {
			break
		}
		if x.host.Wait(ctx, openingPause) != nil {
			break
		}
		now, err := local.Answer(ctx, x.host.Daemon.Timeout, c.Status)
		if err != nil {
			break
		}
		st = now
	}
	return &st
}

// openingPause is how often a daemon that was just started is asked whether it has
// opened its stores, storesPatience how long. A loaded machine opens 16 in some seconds.
const (
	openingPause   = 100 * time.Millisecond
	storesPatience = 10 * time.Second
)

// stateStarting is that of a project whose stores are not open yet.
const stateStarting = "starting"
