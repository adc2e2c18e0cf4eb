package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/cmd/foldwatch/local"
	"github.com/foldwatch/foldwatch/cmd/foldwatch/terminal"
	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/disk"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// staleLock is how old git's lock is before nobody is thought to come back for it.
const staleLock = 10 * time.Minute

// git runs the git program in a checkout, with nothing of that run: no hook, no
// watcher, no filter is among what doctor asks for, and whose hook doctor is called
// from says nothing about the repository. It returns the error of a context where
// that ended the program, whatever the program then said.
func (x *exam) git(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, x.host.GitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	cmd.Env = usergit.CleanEnv(os.Environ())
	cmd.WaitDelay = time.Second // what git has started may keep the pipe open
	out, err := cmd.Output()
	if err != nil && ctx.Err() != nil {
		return "", fmt.Errorf("git %s: %w", args[0], ctx.Err())
	}
	if exit, exited := errors.AsType[*exec.ExitError](err); exited && len(exit.Stderr) > 0 {
		line, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
		err = fmt.Errorf("git %s: %s", args[0], line)
	}
	return strings.TrimRight(string(out), "\n"), err
}

// gitVersion is that of the git program on PATH.
func (x *exam) gitVersion(ctx context.Context) (text string, major, minor int, err error) {
	text, err = x.git(ctx, ".", "--version")
	text = strings.TrimPrefix(text, "git version ")
	_, _ = fmt.Sscanf(text, "%d.%d", &major, &minor)
	return text, major, minor, err
}

func checkGit(ctx context.Context, x *exam) Result {
	const mend = "install git " + usergit.MinGit + " or newer, or put its folder on PATH"
	at, err := exec.LookPath("git")
	if err != nil {
		return Fault(mend, "there is no git program on PATH; what needs it is not looked at")
	}
	v, major, minor, err := x.gitVersion(ctx)
	switch {
	case err != nil:
		return Fault(mend, "the git program cannot be run: %v", err)
	case tooOld(major, minor):
		return Fault(mend, "git %s at %s is too old", v, at)
	}
	return Pass("git %s, %s", v, at)
}

// tooOld reports whether a git program lacks what is asked of it. One whose version
// cannot be read (0.0) is taken for new.
func tooOld(major, minor int) bool {
	var a, b int
	_, _ = fmt.Sscanf(usergit.MinGit, "%d.%d", &a, &b)
	return major > 0 && before(major, minor, a, b)
}

// before reports whether version a.b is older than c.d.
func before(a, b, c, d int) bool { return a < c || a == c && b < d }

// checkIdentity looks whether commits of memories have the user's name.
func checkIdentity(ctx context.Context, x *exam) []Result {
	trees := x.mainCheckouts(ctx)
	var found []Result
	said := ""
	for _, t := range trees {
		l, err := usergit.Locate(ctx, t.path)
		if err != nil {
			continue // the projects check tells
		}
		name, mail := l.Identity(ctx)
		if name != "" && mail != "" {
			said = name
			continue
		}
		mend := "git config --global user.name 'Your Name' && git config --global user.email you@example.com"
		found = append(found, Warning(mend, "%s: git does not know who you are; history names nobody", t.slug))
	}
	if said == "" && len(found) == 0 {
		return []Result{Skip("no checkout can be looked at: see check 21")}
	}
	return OrPass(found, "memories are committed as %s", said)
}

// checkGitLock looks for a lock that git left in a checkout when it was killed: as
// long as it is there nothing can be committed, by anybody.
func checkGitLock(ctx context.Context, x *exam) []Result {
	trees := x.allCheckouts(ctx)
	var found []Result
	for _, t := range trees {
		l, err := usergit.Locate(ctx, t.path)
		if err != nil {
			continue
		}
		for _, path := range []string{filepath.Join(l.GitDir, "index.lock"), filepath.Join(l.GitDir, "HEAD.lock")} {
			info, err := os.Lstat(path)
			if err != nil {
				continue
			}
			if age := x.host.Now().Sub(info.ModTime()); age > staleLock {
				found = append(found, Fault("if no git runs there: rm "+terminal.Quote(path), "%s: git left %s %s ago, and refuses to commit until it is gone", t.slug, path, terminal.Span(age)))
			}
		}
	}
	return OrPass(found, "git left none behind")
}

// checkTracked looks for settings of git that do not go well with memories on the
// user's own branch.
func checkTracked(ctx context.Context, x *exam) []Result {
	var found []Result
	tracked := 0
	for _, t := range x.allCheckouts(ctx) {
		if !t.tracked() {
			continue
		}
		tracked++
		if t.main {
			found = append(found, x.autostash(ctx, t)...)
		}
		found = append(found, awaited(t)...)
	}
	if tracked == 0 {
		return []Result{Pass("no branch of yours holds memories")}
	}
	return OrPass(found, "memories are on the branch in %s, and nothing waits for you", terminal.Plural(tracked, "checkout"))
}

// awaited lists what nobody but a person does in tracked mode (git.md T1).
func awaited(t checkout) []Result {
	var found []Result
	here := "cd " + terminal.Quote(t.path) + " && "
	if n := t.status.Lost; n > 0 {
		found = append(found, Warning(here+"foldwatch restore --lost", "%s: git took %s away before any commit had it", t.slug, terminal.Plural(n, "memory")))
	}
	for _, path := range withCallouts(t.fold) {
		found = append(found, Warning("settle it in the file, and delete the callout", "%s: %s keeps another version that a merge could not keep in place", t.slug, path))
	}
	if n := t.status.Uncommitted; n > 0 {
		found = append(found, Pass("%s: %s not committed yet: %sfoldwatch commit", t.slug, areMemories(n), here))
	}
	return found
}

// withCallouts returns the memories below a folder that hold a conflict callout. What
// cannot be read is told of elsewhere.
func withCallouts(dir string) (paths []string) {
	folder := disk.Folder{Dir: dir}
	_ = folder.Walk(func(path string, info disk.Info) error {
		if !info.Mode.IsRegular() || filepath.Ext(path) != ".md" {
			return nil
		}
		b, _, _ := folder.Read(path, 1<<20)
		if _, callouts := fold.CutCallouts(string(b)); len(callouts) > 0 {
			paths = append(paths, filepath.Join(dir, filepath.FromSlash(path)))
		}
		return nil
	})
	return paths
}

func areMemories(n int) string {
	if n == 1 {
		return "1 memory is"
	}
	return fmt.Sprintf("%d memories are", n)
}

// overdueAfter is how long something may wait before a person is told, as everywhere.
const overdueAfter = 24 * time.Hour

// autostash tells of git before 2.47 with autostash: what the daemon writes while a
// rebase has the user's changes stashed may then be taken for theirs.
func (x *exam) autostash(ctx context.Context, t checkout) []Result {
	v, major, minor, err := x.gitVersion(ctx)
	if err != nil || !before(major, minor, 2, 47) {
		return nil
	}
	var found []Result
	for _, key := range []string{"rebase.autoStash", "merge.autoStash"} {
		if on, err := x.git(ctx, t.path, "config", "--type=bool", "--get", key); err == nil && on == "true" {
			found = append(found, Warning("git config "+key+" false, or git 2.47 and newer",
				"%s: %s is on with git %s: a stash that cannot be applied again strands memories in it", t.slug, key, v))
		}
	}
	return found
}

// checkMergeDriver looks whether git merges memories as foldwatch does, where a
// branch of the user holds them.
func checkMergeDriver(ctx context.Context, x *exam) []Result {
	var found []Result
	onto := 0
	for _, t := range x.mainCheckouts(ctx) {
		if !t.tracked() {
			continue
		}
		onto++
		install := "cd " + terminal.Quote(t.path) + " && foldwatch merge-driver install"
		file := t.foldDir() + "/0/0/0000000000000000.md"
		attr, err := x.git(ctx, t.path, "check-attr", "merge", "--", file)
		named := err == nil && strings.HasSuffix(attr, ": merge: foldwatch")
		program, err := x.git(ctx, t.path, "config", "--get", "merge.foldwatch.driver")
		if err != nil || program == "" {
			found = append(found, Warning(install, "%s: git merges memories line by line, and may leave conflicts in them", t.slug))
			continue
		}
		if name, _, _ := strings.Cut(program, " "); !local.Runnable(name) {
			found = append(found, Fault(install, "%s: git is to merge memories by %s, which is not there: merges of memories fail", t.slug, name))
			continue
		}
		if !named {
			found = append(found, Warning(install, "%s: no attribute names the merge driver for memories", t.slug))
		}
	}
	if onto == 0 {
		return []Result{Pass("git merges no memory of this machine")}
	}
	return OrPass(found, "git merges memories as foldwatch does")
}

// noGit reports whether there is no git program.
func noGit() bool {
	_, err := exec.LookPath("git")
	return err != nil
}
