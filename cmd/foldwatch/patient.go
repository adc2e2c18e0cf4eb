package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/gitops/usergit"
)

// A patient is what the checks of one run of doctor share. Earlier checks fill
// what later ones need: the configuration, the daemon, the checkouts.
type patient struct {
	e     *environment
	st    local.Settings // zero where the configuration cannot be read
	have  bool           // st says where things lie
	slips error          // what is wrong with the configuration: st is without that
	c     local.Client
	stat  *wire.Status // nil where no daemon answers

	looked bool // trees is filled
	trees  []tree
}

// A tree is one checkout that is looked at: those that the daemon has, or where
// none answers the one that doctor runs in.
type tree struct {
	slug   string // as it is told; "" is the folder's name
	path   string
	fold   string              // absolute path of the folder of memories
	status *wire.ProjectStatus // nil where no daemon answers
	main   bool                // no linked work tree
}

// checkouts returns what is to be looked at; none where there is no daemon and
// doctor runs in no repository.
func (p *patient) checkouts(ctx context.Context) []tree {
	if p.looked {
		return p.trees
	}
	p.looked = true
	if p.c == nil {
		p.trees = p.treeHere(ctx)
		return p.trees
	}
	list, err := local.Answer(ctx, p.e.daemon.Timeout, p.c.Projects)
	if err != nil {
		return nil
	}
	for _, pr := range list.Items {
		for _, co := range pr.Checkouts {
			t := tree{slug: pr.Slug, path: co.Path, fold: co.Fold, main: !co.Linked}
			for i, st := range p.statuses() {
				if st.Path == co.Path {
					t.status = &p.stat.Projects[i]
				}
			}
			if t.fold == "" {
				t.fold = filepath.Join(co.Path, "fold")
			}
			if info, err := os.Stat(t.path); err == nil && info.IsDir() {
				p.trees = append(p.trees, t) // of others the projects check tells
			}
		}
	}
	return p.trees
}

func (p *patient) treeHere(ctx context.Context) []tree {
	wd, err := p.e.workDir()
	if err != nil {
		return nil
	}
	l, err := usergit.Locate(ctx, wd)
	if err != nil || l.WorkTree == "" {
		return nil
	}
	return []tree{{slug: filepath.Base(l.WorkTree), path: l.WorkTree, fold: l.FoldPath(""), main: !l.Linked}}
}

func (p *patient) statuses() []wire.ProjectStatus {
	if p.stat == nil {
		return nil
	}
	return p.stat.Projects
}

// again drops what was asked of the daemon before something was mended.
func (p *patient) again(ctx context.Context) {
	p.looked, p.trees = false, nil
	if p.c == nil {
		return
	}
	if st, err := local.Answer(ctx, p.e.daemon.Timeout, p.c.Status); err == nil {
		p.stat = p.opened(ctx, p.c, st)
	}
}

// mainTrees are the checkouts without linked work trees, whose fold/ is that of
// the main one.
func (p *patient) mainTrees(ctx context.Context) []tree {
	return slices.DeleteFunc(slices.Clone(p.checkouts(ctx)), func(t tree) bool { return !t.main })
}

// foldDir is the name of the folder of memories in the checkout.
func (t tree) foldDir() string {
	if rel, err := filepath.Rel(t.path, t.fold); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return filepath.Base(t.fold)
}

// tracked reports whether the user's own branch holds the memories.
func (t tree) tracked() bool { return t.status != nil && t.status.Mode == "tracked" }

// noTrees says why there is no checkout to look at.
func (p *patient) noTrees() []finding {
	if p.c == nil && noGit() {
		return []finding{skipped("no daemon, and no git program to find a checkout by: see check 7")}
	}
	if p.c == nil {
		return []finding{skipped("no daemon, and this folder is in no repository")}
	}
	return []finding{ok("no project is registered")}
}
