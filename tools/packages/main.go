// Command packages makes everything that a release is made of: binaries,
// packages for Linux and Windows, manifests of package managers, bills of
// materials. It is a module of its own, so that what it needs is not what
// foldwatch needs. Run it by `make packages`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// The addresses that packages name.
const (
	homepage   = "https://github.com/foldwatch/foldwatch"
	maintainer = "foldwatch maintainers <foldwatch@users.noreply.github.com>"
	summary    = "memory for projects and their agents, in git"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

// A release is one set of packages: of which source, for when, and where to.
// The same source, version and date give the same bytes.
type release struct {
	tree, out string // absolute
	work      string // of files that are not kept
	version   string // as semver has it, without v
	commit    string
	date      time.Time // what stands in files that need a date
	previous  []entry   // of the changelog, newest first
	only      []string  // systems and machines, such as linux/amd64; empty is all
}

func run(ctx context.Context, args []string) error {
	fl := flag.NewFlagSet("packages", flag.ContinueOnError)
	tree := fl.String("tree", ".", "the checkout to make packages of")
	out := fl.String("out", "dist", "the folder to put them into; what was there is removed")
	version := fl.String("version", "", "version, such as 1.2.3 or 1.2.4-dev.5")
	commit := fl.String("commit", "", "commit that the program names")
	epoch := fl.Int64("epoch", 0, "SOURCE_DATE_EPOCH, in seconds")
	only := fl.String("only", "", "systems and machines to make packages for, such as linux/amd64,windows/amd64; empty is all")
	if err := fl.Parse(args); err != nil {
		return err
	}
	if *version == "" || *commit == "" || *epoch <= 0 {
		return errors.New("-version, -commit and -epoch are needed; run it by: make packages")
	}
	r := release{version: *version, commit: *commit, date: time.Unix(*epoch, 0).UTC()}
	r.only = strings.FieldsFunc(*only, func(c rune) bool { return c == ',' || c == ' ' })
	var err error
	if r.tree, err = filepath.Abs(*tree); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755)); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "foldwatch-packages-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	return r.make(ctx)
}

// make does it all, in an order in which what comes later needs what came before.
func (r *release) make(ctx context.Context) error {
	programs, err := r.programs(ctx)
	if err != nil {
		return err
	}
	host := find(programs, "linux", hostArch(), false)
	if host == nil {
		return fmt.Errorf("there is no program that runs here: packages are made on linux, with a C compiler")
	}
	if r.previous, err = r.changes(ctx); err != nil {
		return err
	}
	mods, err := r.modules(ctx, programs)
	if err != nil {
		return err
	}
	side, err := r.beside(ctx, host, mods)
	if err != nil {
		return err
	}
	for _, p := range programs {
		if err := r.bill(p, mods); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		switch {
		case p.os == "windows":
			err = r.windows(ctx, p, side, mods)
		case p.static:
			err = errors.Join(r.linux(p, side, "apk"), r.archive(p, side))
		default:
			err = r.linux(p, side, "deb", "rpm", "archlinux")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if err := r.source(ctx); err != nil {
		return err
	}
	if err := r.manifests(); err != nil {
		return err
	}
	return r.sums()
}

// name is that of a file of the release.
func (r *release) name(parts ...string) string {
	return filepath.Join(r.out, "foldwatch-"+r.version+"-"+strings.Join(parts, "-"))
}
