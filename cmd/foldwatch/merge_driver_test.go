package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/gitops/usergit"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/google/go-cmp/cmp"
)

// A driven is a repository in which git merges memories by the driver.
type driven struct {
	t   *testing.T
	dir string
}

func newDriven(t *testing.T) *driven {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIP: git is missing")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "foldwatch") // by this name the test is the program
	if err := os.Symlink(exe, bin); err != nil {
		t.Skip("SKIP: no symbolic links here: ", err)
	}
	d := &driven{t, t.TempDir()}
	d.git("init", "-q", "-b", "main")
	d.git("config", "merge.foldwatch.driver", "'"+bin+"' merge-driver %O %A %B %P")
	d.write(".gitattributes", "fold/**/*.md merge=foldwatch\nfold/project.toml merge=foldwatch\n")
	return d
}

// try runs git and returns what it says.
func (d *driven) try(args ...string) (string, error) {
	c := exec.CommandContext(d.t.Context(), "git", args...)
	c.Dir = d.dir
	c.Env = append(os.Environ(), goRace, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.invalid", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.invalid")
	out, err := c.CombinedOutput()
	return string(out), err
}

func (d *driven) git(args ...string) {
	d.t.Helper()
	if out, err := d.try(args...); err != nil {
		d.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (d *driven) write(path, text string) {
	d.t.Helper()
	path = filepath.Join(d.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		d.t.Fatal(err)
	}
}

func (d *driven) read(path string) string {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(d.dir, filepath.FromSlash(path)))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

func (d *driven) commit(message string, files map[string]string) {
	d.t.Helper()
	for path, text := range files {
		d.write(path, text)
	}
	d.git("add", "-A")
	d.git("commit", "-q", "-m", message)
}

func driverMemory(id, keys, body string) string {
	return fmt.Sprintf("---\nid: %q\ntitle: T\nsource: agent\n%s---\n%s", id, keys, body)
}

// versions returns memories as base, ours and theirs have them, by path.
func versions() (base, ours, theirs map[string]string) {
	path := func(id string) string { return "fold/" + fold.ID(id).Path() }
	const sets, lines, strange = "1f2e3d4c5b6a7988", "2f2e3d4c5b6a7988", "3f2e3d4c5b6a7988"
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	base = map[string]string{
		path(sets):         driverMemory(sets, "tags: [a, b]\nupdated_at: 2026-01-01T00:00:00Z\n", "text\n\n- one\n"),
		path(lines):        driverMemory(lines, "updated_at: 2026-01-01T00:00:00Z\n", "first\nsecond\nthird\n"),
		path(strange):      crlf(driverMemory(strange, "mood: {a: 1}\n", "x\ny\nz\n")),
		"fold/Ideas/An.md": "one\ntwo\nthree\n",
	}
	ours = map[string]string{
		path(sets):         driverMemory(sets, "tags: [a, c]\nupdated_at: 2026-01-02T00:00:00Z\n", "text\n\n- one\n- two\n"),
		path(lines):        driverMemory(lines, "updated_at: 2026-01-02T00:00:00Z\n", "first\nours\nthird\n"),
		path(strange):      crlf(driverMemory(strange, "mood: {a: 1}\ncolour: red\n", "X\ny\nz\n")),
		"fold/Ideas/An.md": "ONE\ntwo\nthree\n",
	}
	theirs = map[string]string{
		path(sets):         driverMemory(sets, "tags: [a, b, z]\nupdated_at: 2026-01-03T00:00:00Z\n", "text\n\n- one\n- half\n"),
		path(lines):        driverMemory(lines, "updated_at: 2026-01-03T00:00:00Z\n", "first\ntheirs\nthird\n"),
		path(strange):      crlf(driverMemory(strange, "mood: {a: 1}\nshade: dark\n", "x\ny\nZ\n")),
		"fold/Ideas/An.md": "one\ntwo\nTHREE\n",
	}
	return base, ours, theirs
}

// TestDriverIsMerge3: whatever has git merge, it makes of a memory what the
// daemon would (git.md I10).
func TestDriverIsMerge3(t *testing.T) {
	base, ours, theirs := versions()
	for name, merge := range map[string]func(d *driven){
		"merge": func(d *driven) {
			d.commit("Ours", ours)
			d.git("merge", "-q", "--no-edit", "topic")
		},
		"rebase": func(d *driven) {
			d.commit("Ours", ours)
			d.git("rebase", "-q", "topic")
		},
		"cherry-pick": func(d *driven) {
			d.commit("Ours", ours)
			d.git("cherry-pick", "topic")
		},
		"stash pop": func(d *driven) {
			for path, text := range ours {
				d.write(path, text)
			}
			d.git("stash", "-q")
			d.git("merge", "-q", "--ff-only", "topic")
			d.git("stash", "pop", "-q")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDriven(t)
			d.commit("Base", base)
			d.git("checkout", "-q", "-b", "topic")
			d.commit("Theirs", theirs)
			d.git("checkout", "-q", "main")
			merge(d)
			for path := range base {
				want, err := fold.Merge3([]byte(base[path]), []byte(ours[path]), []byte(theirs[path]), fold.MergeOptions{Path: strings.TrimPrefix(path, "fold/")})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want.Bytes), d.read(path)); diff != "" || want.Deleted {
					t.Errorf("%s: -Merge3 +git\n%s", path, diff)
				}
			}
		})
	}
}

// TestDriverKeepsBothMemories: where one side deleted a memory that the other edited, and
// has a new one of like text, git takes that for the first renamed and has the two merged.
// Whoever renamed, and whatever has git merge: it is a conflict, and git has both.
func TestDriverKeepsBothMemories(t *testing.T) {
	const was, is, note = "1f2e3d4c5b6a7988", "4f2e3d4c5b6a7988", "fold/Ideas/New.md"
	at := func(id string) string { return "fold/" + fold.ID(id).Path() }
	body := strings.Repeat("a line that both have\n", 30)
	edited, fresh := driverMemory(was, "", body+"edited\n"), driverMemory(is, "", body)
	for merge, do := range map[string]func(d *driven, ours func()) (string, error){
		"merge": func(d *driven, ours func()) (string, error) {
			ours()
			d.git("commit", "-q", "-m", "Ours")
			return d.try("merge", "--no-edit", "topic")
		},
		"rebase": func(d *driven, ours func()) (string, error) {
			ours()
			d.git("commit", "-q", "-m", "Ours")
			return d.try("rebase", "topic")
		},
		"cherry-pick": func(d *driven, ours func()) (string, error) {
			ours()
			d.git("commit", "-q", "-m", "Ours")
			return d.try("cherry-pick", "topic")
		},
		"stash pop": func(d *driven, ours func()) (string, error) {
			ours()
			d.git("stash", "-q")
			d.git("merge", "-q", "--ff-only", "topic")
			return d.try("stash", "pop")
		},
	} {
		for name, path := range map[string]string{"its own place": at(is), "a place that a person chose": note} {
			for _, ours := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/renamed by us %v", merge, name, ours), func(t *testing.T) {
					t.Parallel()
					d := newDriven(t)
					d.write(".gitattributes", "*.md merge=foldwatch\n")
					d.commit("Base", map[string]string{at(was): driverMemory(was, "", body)})
					edit := func() { d.write(at(was), edited); d.git("add", "-A") }
					rename := func() { d.git("rm", "-q", at(was)); d.write(path, fresh); d.git("add", "-A") }
					our, their := edit, rename
					if ours {
						our, their = rename, edit
					}
					d.git("checkout", "-q", "-b", "topic")
					their()
					d.git("commit", "-q", "-m", "Theirs")
					d.git("checkout", "-q", "main")
					out, err := do(d, our)
					if err == nil || !strings.Contains(out, "CONFLICT") || !strings.Contains(out, "git took") {
						t.Errorf("it is no conflict: %v\n%s", err, out)
					}
					if got := d.read(path); got != edited && got != fresh {
						t.Errorf("%s holds neither memory:\n%s", path, got)
					}
					versions, err := d.try("ls-files", "--unmerged")
					for _, want := range []string{edited, fresh} {
						if blob := usergit.BlobName([]byte(want), false); err != nil || !strings.Contains(versions, blob) {
							t.Errorf("the index has lost %s, %v:\n%s\n%s", want[:30], err, versions, out)
						}
					}
					if stashes, _ := d.try("stash", "list"); merge == "stash pop" && stashes == "" {
						t.Error("the stash is gone")
					}
				})
			}
		}
	}
}

// TestDriverJoinsProjects: two clones that began side by side have a project file each,
// and who pulls has no conflict to resolve (git.md G19).
func TestDriverJoinsProjects(t *testing.T) {
	t.Parallel()
	project := func(id string, day int, exclude string) string {
		return string(conf.EncodeProject(conf.Project{ID: id, Slug: "app", CreatedAt: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC), Exclude: []string{exclude}}))
	}
	const file = "fold/project.toml"
	d := newDriven(t)
	d.commit("Base", map[string]string{"a.txt": "a\n"})
	d.git("checkout", "-q", "-b", "topic")
	d.commit("Theirs", map[string]string{file: project("proj_aaaa", 1, "dist/**")})
	d.git("checkout", "-q", "main")
	d.commit("Ours", map[string]string{file: project("proj_bbbb", 2, "build/**")})
	d.git("rebase", "-q", "topic")
	p, _, err := conf.ParseProject([]byte(d.read(file)))
	if err != nil || p.ID != "proj_aaaa" || strings.Join(p.Exclude, " ") != "build/** dist/**" {
		t.Errorf("git rebase joined the projects to %+v, %v:\n%s", p, err, d.read(file))
	}
}

// TestDriverRefuses what it cannot merge, and leaves the file as it is: git then
// asks the user.
func TestDriverRefuses(t *testing.T) {
	t.Parallel()
	d := newDriven(t)
	const id = "1f2e3d4c5b6a7988"
	path := "fold/" + fold.ID(id).Path()
	other := func(text string) string { return driverMemory("9a8b7c6d5e4f3021", "", text) }
	d.commit("Base", map[string]string{path: other("a\n"), "fold/project.toml": "slug = \"a\"\n"})
	d.git("checkout", "-q", "-b", "topic")
	d.commit("Theirs", map[string]string{path: other("b\n")})
	d.git("checkout", "-q", "main")
	d.commit("Ours", map[string]string{path: other("c\n")})
	out, err := d.try("merge", "--no-edit", "topic")
	if err == nil || !strings.Contains(out, "CONFLICT") || !strings.Contains(out, "neither side can be read") {
		t.Errorf("git merge: %v\n%s", err, out)
	}
	if got := d.read(path); got != other("c\n") {
		t.Errorf("the file was changed:\n%s", got)
	}
}
