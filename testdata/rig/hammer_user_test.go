//go:build accept

package rig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A user works in one checkout: git commands of the kinds that collide with
// programs that write into it. What a user does follows from the seed and from what
// git answers, so that a run without any daemon can be compared step by step.
type user struct {
	m       *machine
	dir     string
	name    string
	editor  string // a script that takes its time
	rnd     *rand.Rand
	tracked bool // fold/ is in the user's history
	steps   int
	lines   int
	topics  int
	done    []did
	before  func()            // called before each command
	after   func(what string) // called after each command, and after fold/ was removed
	saved   func(path string) // called after a file of source was written
	commits []programCommit   // made by foldwatch commit, or still to be made by a control
	control bool              // makes by plain git what foldwatch commit made in the other run
}

// did is one git command and how it ended.
type did struct {
	step int
	what string
	code int
	says string
}

// began is the time of the first commit; each step is a minute later, so that
// two runs make the same commits.
const began = 1_770_000_000

func (u *user) env() []string {
	at := fmt.Sprintf("%d +0000", began+60*u.steps)
	return append(u.m.env(), "GIT_EDITOR="+u.editor, "GIT_MERGE_AUTOEDIT=no", "GIT_AUTHOR_DATE="+at, "GIT_COMMITTER_DATE="+at)
}

// refused is what git says where uncommitted memories keep a command from its end.
var refused = regexp.MustCompile(`commit your changes or stash them|commit or stash them|or remove them before you|You have unstaged changes|index contains uncommitted changes|contains modified or untracked files`)

// git runs one command of the user and notes how it ended. If a memory is in its way
// the user commits or stashes it, as a person does who reads what git says, and
// tries again.
func (u *user) git(args ...string) bool {
	d := u.once(args...)
	if u.tracked && d.code != 0 && refused.MatchString(d.says) {
		if u.rnd.IntN(2) == 0 {
			u.once("add", "-A", "fold")
			u.once("commit", "-q", "-m", fmt.Sprintf("Keep memories, %d of %s", u.steps, u.name))
		} else {
			u.once("stash", "push", "-q", "-u")
		}
		d = u.once(args...)
	}
	return d.code == 0
}

func (u *user) once(args ...string) did {
	u.before()
	out, code := u.exec(u.env(), args...)
	d := did{step: u.steps, what: "git " + strings.Join(args, " "), code: code, says: out}
	u.done = append(u.done, d)
	u.after(d.what)
	return d
}

// quietly is git that only looks, and is not counted: it leaves the index as it is.
func (u *user) quietly(args ...string) (out string, code int) {
	return u.exec(append(u.env(), "GIT_OPTIONAL_LOCKS=0"), args...)
}

func (u *user) exec(env []string, args ...string) (out string, code int) {
	c := exec.CommandContext(u.m.t.Context(), "git", args...)
	c.Dir, c.Env = u.dir, env
	b, err := c.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(b), exit.ExitCode()
	}
	if err != nil {
		u.m.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(b), 0
}

// count counts the commits in a range.
func (u *user) count(of ...string) int {
	out, code := u.quietly(append([]string{"rev-list", "--count"}, of...)...)
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
	u.saved(path)
	return name
}

// step does one thing; remote says that it may meet what others pushed, vanish
// that it takes fold/ away.
func (u *user) step(remote, vanish bool) {
	u.steps++
	kinds := []func(){u.commitAll, u.commitAll, u.commitPart, u.amend, u.stash, u.topic, u.rebaseExec, u.bisect, u.older, u.saveOnly, u.linkedTree}
	if u.tracked {
		kinds = append(kinds, u.commitFold, u.commitByProgram, u.commitByProgram, u.branchWithoutFold, u.mergeMemories, u.mergeMemories, u.rebaseMemories, u.cherryPick,
			u.stashUntracked, u.resetHard, u.checkoutFold, u.cleanUntracked, u.removeFoldByMistake)
	}
	if remote {
		kinds = []func(){u.pullMerge, u.pullForward, u.pullRebase, u.push, u.push}
	}
	if vanish {
		kinds = []func(){u.removeFold, u.clean}
	}
	kinds[u.rnd.IntN(len(kinds))]()
	u.tidy()
}

// open are what an operation of git leaves that was not finished, and how to
// give it up.
var open = []struct {
	name string
	args []string
}{
	{"MERGE_HEAD", []string{"merge", "--abort"}},
	{"CHERRY_PICK_HEAD", []string{"cherry-pick", "--abort"}},
	{"rebase-merge", []string{"rebase", "--abort"}},
	{"rebase-apply", []string{"rebase", "--abort"}},
	{"BISECT_LOG", []string{"bisect", "reset"}},
}

// tidy gives up what a conflict left half done, as users do, and goes back to main.
func (u *user) tidy() {
	for _, o := range open {
		if u.has(o.name) {
			u.git(o.args...)
		}
	}
	if u.has("rebase-merge") {
		u.mendRebase()
	}
	if out, _ := u.quietly("ls-files", "-u"); out != "" { // a stash that did not fit
		u.git("checkout", "-q", "-f", "HEAD", "--", ".")
		u.git("reset", "-q")
	}
	if on, _ := u.quietly("rev-parse", "--abbrev-ref", "HEAD"); u.tracked && strings.TrimSpace(on) != "main" && !u.git("checkout", "-q", "main") {
		u.git("checkout", "-q", "-f", "main")
	}
}

// mendRebase takes away what git leaves of a rebase that found a file changed after it
// had stashed: as git then says itself, no command of its own ends that.
func (u *user) mendRebase() {
	dir := filepath.Join(u.dir, ".git", "rebase-merge")
	stashed, err := os.ReadFile(filepath.Join(dir, "autostash"))
	_ = os.RemoveAll(dir)
	u.after("rm -rf .git/rebase-merge")
	if err == nil {
		u.git("stash", "store", strings.TrimSpace(string(stashed)))
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
	if u.count("@{upstream}..HEAD") == 0 {
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

// newTopic names a branch.
func (u *user) newTopic() string {
	u.topics++
	return fmt.Sprintf("topic-%s%d", u.name, u.topics)
}

func (u *user) topic() {
	name := u.newTopic()
	u.git("checkout", "-q", "-b", name)
	u.commitAll()
	u.git("checkout", "-q", "main")
	u.git("merge", "-q", "--no-ff", "--no-edit", name)
	u.git("branch", "-q", "-D", name)
}

func (u *user) rebaseExec() {
	if u.count("@{upstream}..HEAD") < 1 {
		u.commitAll()
	}
	u.git("rebase", "-q", "--autostash", "--force-rebase", "--exec", "git status -s >/dev/null", "@{upstream}")
}

func (u *user) bisect() {
	// What merges brought does not count: where HEAD~3 is no commit, git takes it
	// for a path.
	if u.count("--first-parent", "HEAD") < 4 {
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

func (u *user) linkedDir() string { return u.dir + "-linked" }

// linkedTree works for a moment in a linked work tree, and takes it away.
func (u *user) linkedTree() {
	name, dir := u.newTopic(), filepath.Join("..", filepath.Base(u.linkedDir()))
	u.git("worktree", "add", "-q", "-b", name, dir)
	u.git("-C", dir, "status", "--short")
	if u.tracked {
		u.git("-C", dir, "add", "-A")
		u.git("-C", dir, "commit", "-q", "--allow-empty", "-m", "In the linked tree, "+name)
	}
	if !u.git("worktree", "remove", dir) {
		u.git("worktree", "remove", "--force", dir)
	}
	if u.rnd.IntN(2) == 0 {
		u.git("merge", "-q", "--no-edit", name)
		u.takeOneSide()
	}
	u.git("branch", "-q", "-D", name)
}

func (u *user) pullMerge() {
	u.git("pull", "-q", "--no-rebase", "--no-edit")
	if u.tracked {
		u.takeOneSide()
	}
}

func (u *user) pullForward() { u.git("pull", "-q", "--ff-only") }
func (u *user) pullRebase()  { u.git("pull", "-q", "--rebase", "--autostash") }

func (u *user) push() {
	if !u.git("push", "-q") {
		u.pullRebase()
		u.tidy()
		u.git("push", "-q")
	}
}

// commitFold commits memories, and nothing else that is not staged yet.
func (u *user) commitFold() {
	u.git("add", "fold")
	u.git("commit", "-q", "-m", fmt.Sprintf("Remember, %d of %s", u.steps, u.name))
}

// A programCommit is what foldwatch commit committed; without paths that is nothing.
type programCommit struct {
	paths   []string
	message string
	refused string // why there is none
}

// commitByProgram has foldwatch commit what has changed in fold/. A control stages and
// commits the same paths with the same message.
func (u *user) commitByProgram() {
	u.before()
	d := did{step: u.steps, what: "foldwatch commit"}
	if u.control && len(u.commits) > 0 {
		var c programCommit
		c, u.commits = u.commits[0], u.commits[1:]
		if len(c.paths) > 0 {
			u.exec(u.env(), append([]string{"add", "--"}, c.paths...)...)
			d.says, d.code = u.exec(u.env(), append([]string{"commit", "-q", "--only", "-m", c.message, "--"}, c.paths...)...)
		}
	} else if !u.control {
		d.code = u.runCommit()
	}
	u.done = append(u.done, d)
	u.after(d.what)
}

// runCommit runs foldwatch commit, and returns 1 if it did not commit what it should.
func (u *user) runCommit() (code int) {
	c := u.m.command(u.dir, "commit", "--json", "--no-input")
	c.Env = u.env()
	var says bytes.Buffer
	c.Stderr = &says
	out, _ := c.Output() // it fails, too, where it leaves something out
	var reply struct {
		Commit string
		Files  []struct{ Path string }
	}
	if err := json.Unmarshal(out, &reply); err != nil {
		u.commits = append(u.commits, programCommit{refused: firstLine(says.String())})
		return 0
	}
	var made programCommit
	for _, f := range reply.Files {
		made.paths = append(made.paths, f.Path)
	}
	if reply.Commit != "" {
		made.message, _ = u.quietly("log", "-1", "--format=%B", reply.Commit)
	} else if len(made.paths) > 0 {
		code = 1
	}
	u.commits = append(u.commits, made)
	return code
}

// branchWithoutFold works on a branch that has no memories.
func (u *user) branchWithoutFold() {
	u.git("checkout", "-q", "code")
	u.commitAll()
	u.git("checkout", "-q", "main")
}

// diverge leaves the user on main, with memories committed there and on the topic.
func (u *user) diverge() (topic string) {
	topic = u.newTopic()
	u.git("checkout", "-q", "-b", topic)
	u.commitFold()
	u.git("checkout", "-q", "main")
	u.commitFold()
	return topic
}

func (u *user) mergeMemories() {
	topic := u.diverge()
	u.git("merge", "-q", "--no-edit", topic)
	u.takeOneSide()
	u.git("branch", "-q", "-D", topic)
}

// takeOneSide ends a merge that met a conflict; tidy gives up those where one side
// has nothing to take.
func (u *user) takeOneSide() {
	if u.has("MERGE_HEAD") && u.git("checkout", "-q", []string{"--ours", "--theirs"}[u.rnd.IntN(2)], "--", ".") {
		u.git("add", "-u")
		u.git("commit", "-q", "--no-edit")
	}
}

func (u *user) rebaseMemories() {
	topic := u.diverge()
	u.git("checkout", "-q", topic)
	if !u.git("rebase", "-q", "main") && u.has("rebase-merge") {
		u.git("rebase", "--skip")
	}
	u.tidy()
	u.git("merge", "-q", "--ff-only", topic)
	u.git("branch", "-q", "-D", topic)
}

func (u *user) cherryPick() {
	topic := u.diverge()
	u.git("cherry-pick", topic)
	u.tidy()
	u.git("branch", "-q", "-D", topic)
}

func (u *user) stashUntracked() {
	u.edit()
	u.git("stash", "push", "-q", "-u")
	if u.rnd.IntN(2) == 0 {
		u.commitFold()
	}
	u.git("stash", "pop", "-q")
}

func (u *user) resetHard() {
	u.git("reset", "-q", "--hard", []string{"HEAD", "HEAD~1"}[u.rnd.IntN(2)])
}

func (u *user) checkoutFold()   { u.git("checkout", "-q", "--", "fold") }
func (u *user) cleanUntracked() { u.git("clean", "-fdq") }

func (u *user) removeFoldByMistake() {
	u.removeFold()
	u.checkoutFold()
}

// removeFold and clean take all memories away, as no one should.
func (u *user) removeFold() {
	_ = os.RemoveAll(filepath.Join(u.dir, "fold")) // in which somebody may just write
	u.after("rm -rf fold")
}

func (u *user) clean() { u.git("clean", "-fdxq") }

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
