//go:build accept

package rig

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A user works in one checkout: git commands of the kinds that collide with
// programs that commit by themselves. What a user does follows from the seed
// alone, so that a run without any daemon can be compared step by step.
type user struct {
	m      *machine
	dir    string
	name   string
	editor string // a script that takes its time
	rnd    *rand.Rand
	steps  int
	lines  int
	topics int
	done   []did
	events func(what string) // told before and after fold/ is taken away
}

// did is one git command and how it ended.
type did struct {
	step int
	what string
	code int
	says string
	at   time.Time
}

// began is the time of the first commit; each step is a minute later, so that
// two runs make the same commits.
const began = 1_770_000_000

func (u *user) env() []string {
	env := append(u.m.env(), "GIT_EDITOR="+u.editor, "GIT_MERGE_AUTOEDIT=no")
	at := fmt.Sprintf("%d +0000", began+60*u.steps)
	return append(env, "GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
}

// git runs one command of the user and notes how it ended.
func (u *user) git(args ...string) bool {
	out, code := u.quietly(args...)
	d := did{step: u.steps, what: "git " + strings.Join(args, " "), at: time.Now()}
	d.code, d.says = code, out
	u.done = append(u.done, d)
	return code == 0
}

// quietly is git that is not counted.
func (u *user) quietly(args ...string) (out string, code int) {
	c := exec.CommandContext(u.m.t.Context(), "git", args...)
	c.Dir, c.Env = u.dir, u.env()
	b, err := c.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(b), exit.ExitCode()
	}
	if err != nil {
		u.m.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(b), 0
}

func (u *user) number(args ...string) int {
	out, code := u.quietly(args...)
	var n int
	if _, err := fmt.Sscan(out, &n); err != nil || code != 0 {
		return 0
	}
	return n
}

// edit adds a line of source nobody else has to one of the user's files, or to
// one that all share.
func (u *user) edit() string {
	name := fmt.Sprintf("src/%s%d.go", u.name, u.rnd.IntN(4))
	if u.rnd.IntN(8) == 0 {
		name = "src/shared.go"
	}
	path := filepath.Join(u.dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		b = []byte("package src\n")
	}
	u.lines++
	line := fmt.Sprintf("// line%s%d says something about %d.\n", u.name, u.lines, u.rnd.IntN(1000))
	list := strings.SplitAfter(string(b), "\n")
	at := 1 + u.rnd.IntN(len(list)-1)
	u.m.write(path, strings.Join(slices.Insert(list, at, line), ""))
	return name
}

// step does one thing; remote says that it may meet what others pushed, vanish
// that it takes fold/ away.
func (u *user) step(remote, vanish bool) {
	u.steps++
	kinds := []func(){u.commitAll, u.commitAll, u.commitPart, u.amend, u.stash, u.topic, u.rebaseExec, u.bisect, u.older, u.saveOnly}
	if remote {
		kinds = []func(){u.pullMerge, u.pullForward, u.pullRebase, u.push, u.push}
	}
	if vanish {
		kinds = []func(){u.removeFold, u.clean}
	}
	kinds[u.rnd.IntN(len(kinds))]()
	u.tidy()
}

// own counts the commits of the user in a range.
func (u *user) own(of ...string) int {
	return u.number(append([]string{"rev-list", "--count", "--invert-grep", "--grep=^Foldwatch-Commit: v1"}, of...)...)
}

// open are what an operation of git leaves that was not finished, and how to
// give it up.
var open = []struct {
	name string
	args []string
}{
	{"MERGE_HEAD", []string{"merge", "--abort"}},
	{"rebase-merge", []string{"rebase", "--abort"}},
	{"rebase-apply", []string{"rebase", "--abort"}},
	{"BISECT_LOG", []string{"bisect", "reset"}},
}

// tidy gives up what a conflict left half done, as users do.
func (u *user) tidy() {
	for _, o := range open {
		if u.has(o.name) {
			u.git(o.args...)
		}
	}
	if out, _ := u.quietly("ls-files", "-u"); out != "" { // a stash that did not fit
		u.git("checkout", "-q", "-f", "HEAD", "--", ".")
		u.git("reset", "-q")
		u.events("git checkout -f ended")
	}
}

func (u *user) has(name string) bool {
	_, err := os.Lstat(filepath.Join(u.dir, ".git", name))
	return err == nil
}

// finish gives up what is still open, and what is not committed where that keeps
// it open: what waits for the user to finish must come to an end.
func (u *user) finish() {
	u.tidy()
	for _, o := range open {
		if u.has(o.name) {
			u.git("checkout", "-q", "-f", "HEAD", "--", ".")
			u.git(o.args...)
		}
	}
}

func (u *user) saveOnly() { u.edit() }

func (u *user) commitAll() {
	u.edit()
	u.edit()
	u.git("add", "src")
	u.git("commit", "-q", "-a", "-m", fmt.Sprintf("Change %d of %s", u.steps, u.name))
}

// commitPart stages one of two files and writes its message in an editor, while
// everything else goes on.
func (u *user) commitPart() {
	one := u.edit()
	u.git("add", one)
	u.edit()
	u.git("commit", "-q")
}

func (u *user) amend() {
	if u.own("@{upstream}..HEAD") == 0 {
		u.commitAll()
		return
	}
	u.edit()
	u.git("commit", "-q", "-a", "--amend")
}

// putAway stashes what the user is at.
func (u *user) putAway() {
	u.edit()
	u.git("add", "src")
	u.git("stash", "push", "-q")
}

func (u *user) stash() {
	u.putAway()
	if u.rnd.IntN(2) == 0 {
		u.commitAll()
	}
	u.git("stash", "pop", "-q")
}

func (u *user) topic() {
	u.topics++
	name := fmt.Sprintf("topic-%s%d", u.name, u.topics)
	u.git("checkout", "-q", "-b", name)
	u.commitAll()
	u.git("checkout", "-q", "main")
	u.git("merge", "-q", "--no-ff", "--no-edit", name)
	u.git("branch", "-q", "-D", name)
}

func (u *user) rebaseExec() {
	if u.own("@{upstream}..HEAD") < 1 {
		u.commitAll()
	}
	u.git("rebase", "-q", "--autostash", "--force-rebase", "--exec", "git status -s >/dev/null", "@{upstream}")
}

func (u *user) bisect() {
	// What merges brought does not count: where HEAD~3 is no commit, git takes it
	// for a path, and what a bisect does then depends on commits of memories.
	if u.own("--first-parent", "HEAD") < 4 {
		u.commitAll()
		return
	}
	u.putAway()
	u.git("bisect", "start", "HEAD", "HEAD~3")
	u.git("bisect", "run", "sh", "-c", "test $(ls src | wc -l) -lt 3")
	u.git("bisect", "reset")
	u.git("stash", "pop", "-q")
}

// older looks at an older commit and comes back.
func (u *user) older() {
	u.putAway()
	u.git("checkout", "-q", "HEAD~1")
	u.git("checkout", "-q", "main")
	u.git("stash", "pop", "-q")
}

func (u *user) pullMerge()   { u.git("pull", "-q", "--no-rebase", "--no-edit") }
func (u *user) pullForward() { u.git("pull", "-q", "--ff-only") }
func (u *user) pullRebase()  { u.git("pull", "-q", "--rebase", "--autostash") }

func (u *user) push() {
	if !u.git("push", "-q") {
		u.pullRebase()
		u.tidy()
		u.git("push", "-q")
	}
}

// removeFold and clean take all memories away, as no one should.
func (u *user) removeFold() {
	u.events("rm -rf fold")
	_ = os.RemoveAll(filepath.Join(u.dir, "fold")) // in which somebody may just write
	u.events("rm -rf fold ended")
}

func (u *user) clean() {
	u.events("git clean")
	u.git("clean", "-fdxq")
	u.events("git clean ended")
}

// state is what of a checkout is the user's: refs, index, work tree, stash,
// history of HEAD, configuration.
func (u *user) state() map[string]string {
	s := map[string]string{}
	for _, args := range [][]string{
		{"for-each-ref"},
		{"ls-files", "-s"},
		{"status", "--porcelain"},
		{"stash", "list", "--format=%gd %T %gs"},
		{"reflog", "--format=%H %gs"},
		{"config", "--local", "--list"},
		{"rev-parse", "--abbrev-ref", "HEAD"},
	} {
		out, _ := u.quietly(args...)
		var mine []string
		for line := range strings.Lines(strings.ReplaceAll(out, filepath.Dir(u.dir), "")) {
			// The branch that others publish on is fetched like any other.
			if !strings.HasSuffix(strings.TrimSpace(line), "refs/remotes/origin/foldwatch") {
				mine = append(mine, line)
			}
		}
		s["git "+strings.Join(args, " ")] = strings.Join(mine, "")
	}
	list, err := os.ReadDir(filepath.Join(u.dir, "src"))
	if err != nil {
		u.m.t.Fatal(err)
	}
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(u.dir, "src", e.Name()))
		if err != nil {
			u.m.t.Fatal(err)
		}
		s["src/"+e.Name()] = string(b)
	}
	return s
}

// locks returns the lock files that lie in the user's repository.
func (u *user) locks() []string {
	var found []string
	for _, pattern := range []string{"*.lock", "refs/heads/*.lock", "refs/remotes/*/*.lock"} {
		list, _ := filepath.Glob(filepath.Join(u.dir, ".git", pattern))
		found = append(found, list...)
	}
	return found
}

// slowEditor makes a script that takes its time before it writes a message.
func slowEditor(m *machine, took time.Duration) string {
	path := filepath.Join(m.home, "editor.sh")
	m.write(path, fmt.Sprintf("#!/bin/sh\nsleep %.2f\ncase \"$1\" in *COMMIT_EDITMSG) echo 'Written slowly' > \"$1\";; esac\n", took.Seconds()))
	if err := os.Chmod(path, 0o700); err != nil {
		m.t.Fatal(err)
	}
	return path
}
