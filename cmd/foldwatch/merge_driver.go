package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/spf13/cobra"
)

// mergeDriverCommand has git merge memories as the daemon does, and is what git then
// runs for a memory that both sides of a merge, rebase, cherry-pick or stash changed.
// That asks no daemon: git waits for it, file by file. The result takes the place of
// the second file, and the exit code says whether git may go on: 0 it is merged, else
// it is left as it was, and git calls it a conflict.
func mergeDriverCommand(app *App) *cobra.Command {
	c := &cobra.Command{
		Use:   "merge-driver",
		Short: "Have git merge memories by their meaning (tracked mode)",
		Long: "Has git merge, rebase, cherry-pick and stash pop merge a memory that both sides changed\n" +
			"by its parts, and not line by line. Git itself then runs, for each:\n\n" +
			"  foldwatch merge-driver BASE OURS THEIRS PATH",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 4 {
				return nil
			}
			return noSuchCommand(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return driveMerge(args[0], args[1], args[2], args[3], app.now())
		},
	}
	c.AddCommand(
		driverCommand(app, "install", "Write the merge driver into this repository's configuration and fold/.gitattributes",
			"Writes merge.foldwatch.name and merge.foldwatch.driver into the configuration of this\n"+
				"repository by git config, and a .gitattributes into the folder of memories.", (*driverInstaller).install),
		driverCommand(app, "remove", "Take out what merge-driver install has written",
			"Takes out what merge-driver install has written, and leaves every other byte.", (*driverInstaller).remove),
	)
	return c
}

// offerMergeDriver says how to have git merge memories, unless it does.
func offerMergeDriver(ctx context.Context, app *App, dir string) {
	l, err := usergit.Locate(ctx, dir)
	if err != nil {
		return // the daemon tells what is wrong with it
	}
	if driver, err := l.MergeDriver(ctx); err == nil && driver == "" {
		app.Messages(false).Printf("git merges memories line by line here; to have it merge them by their meaning: foldwatch merge-driver install\n")
	}
}

// driverReply is what `merge-driver install|remove --json` prints.
type driverReply struct {
	Driver     string `json:"driver,omitempty"` // that git runs now
	Attributes string `json:"attributes"`       // the file that names it
	Changed    bool   `json:"changed"`          // false if all was so already
}

func driverCommand(app *App, use, short, long string, run func(*driverInstaller, context.Context) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.inProject(cmd.Context(), func(c local.Client, slug string) error {
				w, err := app.workTree(cmd.Context(), c, slug)
				if err != nil {
					return err
				}
				d := &driverInstaller{e: app, tree: w}
				if err := run(d, cmd.Context()); err != nil {
					return fmt.Errorf("merge-driver %s: %w", use, err)
				}
				return nil
			})
		},
	}
}

// A driverInstaller writes the merge driver into a repository, or takes it out.
type driverInstaller struct {
	e    *App
	tree workTree
}

// attributesFile lies in the folder of memories.
const attributesFile = ".gitattributes"

func (d *driverInstaller) install(ctx context.Context) error {
	if err := d.tree.mustBeTracked("git merges no memories here"); err != nil {
		return err
	}
	r := driverReply{Attributes: path.Join(d.tree.fold, attributesFile)}
	root, err := os.OpenRoot(filepath.Join(d.tree.WorkTree, filepath.FromSlash(d.tree.fold))) // before anything is written
	if errors.Is(err, fs.ErrNotExist) {
		return d.tree.noFold()
	}
	if err != nil {
		return err
	}
	defer root.Close()
	if r.Driver, err = d.tree.MergeDriver(ctx); err != nil {
		return err
	}
	if program, ours := driverProgram(r.Driver); !ours || !local.Runnable(program) {
		if r.Driver != "" && !ours {
			return fold.WithHint(fmt.Errorf("the configuration has merge.foldwatch.driver = %s, which is not ours: %w", r.Driver, fold.ErrConflict),
				"git config --unset merge.foldwatch.driver, and again")
		}
		if r.Driver, err = driverLine(d.e); err != nil {
			return err
		}
		if err := d.tree.SetMergeDriver(ctx, "memories of foldwatch", r.Driver); err != nil {
			return err
		}
		r.Changed = true
	}
	was, reason := readPlain(root, attributesFile)
	switch {
	case reason == "" && strings.Contains(string(was), usergit.MergeAttributes):
	case reason == "" || !local.Exists(filepath.Join(root.Name(), attributesFile)):
		// In front of the lines of others: those count more.
		if err := root.WriteFile(attributesFile, append([]byte(usergit.MergeAttributes), was...), 0o666); err != nil {
			return err
		}
		r.Changed = true
	default:
		return fmt.Errorf("%s: %s: %w", r.Attributes, reason, fold.ErrInvalid)
	}
	return d.e.Emit(r, func(p terminal.Printer) {
		if !r.Changed {
			p.Printf("git merges memories by: %s (it did already)\n", r.Driver)
			return
		}
		p.Printf("git merges memories by: %s\n", r.Driver)
		d.e.Messages(false).Printf("commit %s, so that it is there in every clone; each clone runs this command once\n", r.Attributes)
	})
}

func (d *driverInstaller) remove(ctx context.Context) error {
	r := driverReply{Attributes: path.Join(d.tree.fold, attributesFile)}
	driver, err := d.tree.MergeDriver(ctx)
	if err != nil {
		return err
	}
	if _, ours := driverProgram(driver); ours {
		if r.Changed, err = d.tree.UnsetMergeDriver(); err != nil {
			return err
		}
	} else {
		r.Driver = driver
	}
	cut, err := d.cutAttributes()
	if err != nil {
		return err
	}
	if r.Changed = r.Changed || cut; !r.Changed {
		if err := d.tree.mustBeTracked("there is none"); err != nil {
			return err
		}
	}
	return d.e.Emit(r, func(p terminal.Printer) {
		switch {
		case r.Driver != "":
			p.Printf("merge.foldwatch.driver = %s is not ours, and stays\n", r.Driver)
		case r.Changed:
			p.Printf("git merges memories line by line again\n")
		default:
			p.Printf("there is no merge driver of ours here\n")
		}
	})
}

// cutAttributes takes our lines out of the attributes, and the file with them where
// nothing else stands there.
func (d *driverInstaller) cutAttributes() (cut bool, err error) {
	if d.tree.fold == "" {
		return false, nil
	}
	root, err := os.OpenRoot(filepath.Join(d.tree.WorkTree, filepath.FromSlash(d.tree.fold)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer root.Close()
	was, reason := readPlain(root, attributesFile)
	before, after, found := strings.Cut(string(was), usergit.MergeAttributes)
	switch {
	case reason != "" || !found:
		return false, nil
	case before+after == "":
		return true, root.Remove(attributesFile)
	}
	return true, root.WriteFile(attributesFile, []byte(before+after), 0o666)
}

// driverArgs are what git fills in: base, ours, theirs and the path.
const driverArgs = " merge-driver %O %A %B %P"

// driverLine is how git is to run this program: by its name where that finds it, so
// that another version may take its place.
func driverLine(app *App) (string, error) {
	self, err := app.program()
	if err != nil {
		return "", err
	}
	if named, err := exec.LookPath("foldwatch"); err == nil && sameFile(named, self) {
		return "foldwatch" + driverArgs, nil
	}
	return terminal.Quote(filepath.ToSlash(self)) + driverArgs, nil // git has a shell run it, on every system
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// driverProgram returns the program of a merge driver, and whether it is run as we
// have git run it.
func driverProgram(driver string) (program string, ours bool) {
	program, ours = strings.CutSuffix(driver, driverArgs)
	return program, ours
}

// driveMerge merges the files base, ours and theirs, versions of what lies at
// path in the repository, into ours.
func driveMerge(base, ours, theirs, path string, now time.Time) error {
	var sides [3][]byte
	for i, name := range [...]string{base, ours, theirs} {
		b, err := readMerged(name)
		if err != nil {
			return fmt.Errorf("merge %s: %w", path, err)
		}
		sides[i] = b
	}
	merged, err := mergeSides(sides, belowFold(path), now)
	if errors.Is(err, fold.ErrQuarantined) {
		name := terminal.Quote(path)
		err = fold.WithHint(err, "git show :2:"+name+" and git show :3:"+name+" are both versions: write each into a file of its own, and git add them")
	}
	if err != nil {
		return fmt.Errorf("merge %s: %w", path, err)
	}
	f, err := os.OpenFile(ours, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	if _, err := f.Write(merged); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// mergeSides merges base, ours and theirs of what lies at a path below the folder of
// memories. Two clones that began side by side have a project file each.
func mergeSides(sides [3][]byte, at string, now time.Time) ([]byte, error) {
	if at == fold.ProjectFile {
		ours, _, err := conf.ParseProject(sides[1])
		if err != nil {
			return nil, err
		}
		theirs, _, err := conf.ParseProject(sides[2])
		if err != nil {
			return nil, err
		}
		return conf.EncodeProject(conf.MergeProject(ours, theirs)), nil
	}
	if fold.ValidPath(at) != nil {
		return nil, fmt.Errorf("only memories are merged: %w", fold.ErrInvalid)
	}
	if len(sides[0]) == 0 {
		sides[0] = nil // git has no other way to say that there is none
	}
	r, err := fold.MergeAt(sides[0], sides[1], sides[2], fold.MergeOptions{Now: now, Path: at})
	return r.Bytes, err
}

func readMerged(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > fold.MaxFile {
		return nil, fmt.Errorf("%d bytes, at most %d: %w", info.Size(), fold.MaxFile, fold.ErrInvalid)
	}
	return os.ReadFile(name)
}

// belowFold returns path, which git gives from the top of the repository, as it
// lies below the folder of memories. Nobody says which folder that is: of a file
// of our own form the last three parts tell, and any other is a note, whose place
// does not count.
func belowFold(path string) string {
	parts := strings.Split(path, "/")
	if n := len(parts); n > 3 {
		if at := strings.Join(parts[n-3:], "/"); fold.ValidPath(at) == nil {
			if _, own := fold.OwnPath(at); own {
				return at
			}
		}
	}
	return parts[len(parts)-1]
}

// readPlain reads a file of the work tree, through no link, or says why not.
func readPlain(root *os.Root, p string) (b []byte, reason string) {
	info, err := root.Lstat(p)
	switch {
	case err != nil:
		return nil, err.Error()
	case !info.Mode().IsRegular():
		return nil, "it is no plain file"
	case info.Size() > fold.MaxFile:
		return nil, "it is larger than 1 MiB"
	}
	f, err := root.Open(p)
	if err != nil {
		return nil, err.Error()
	}
	defer f.Close()
	if b, err = io.ReadAll(io.LimitReader(f, fold.MaxFile+1)); err != nil {
		return nil, err.Error()
	}
	return b, ""
}
