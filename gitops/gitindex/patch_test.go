package gitindex_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/gitops/gitindex"
)

// git runs the program in dir, with in as its input.
func git(t testing.TB, dir, in string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(in)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_TEST_CHECK_CACHE_TREE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// repository makes one with n files of random names, some of them in fold/.
func repository(t testing.TB, rnd *rand.Rand, n int, format string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	dir := t.TempDir()
	git(t, dir, "", "init", "-q", "--object-format="+format)
	for i := range n {
		write(t, filepath.Join(dir, randomPath(rnd)), fmt.Sprint("text ", i))
	}
	write(t, filepath.Join(dir, "a.txt"), "a\n")
	git(t, dir, "", "add", "-A")
	git(t, dir, "", "commit", "-q", "-m", "base")
	return dir
}

func randomPath(rnd *rand.Rand) string {
	dirs := []string{"fold", "fold/a", "fold/a/b", "fold/a-b", "fold/c", "fold/c/d/e", "fol", "foldx", "fold.d", "src", "src/x"}
	return fmt.Sprintf("%s/%s%d.md", dirs[rnd.IntN(len(dirs))], strings.Repeat("n", rnd.IntN(9)), rnd.IntN(40))
}

func oidOf(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A listed is an entry as git prints it.
type listed struct{ path, oid, text string }

func list(t testing.TB, dir string, env ...string) (out []listed) {
	t.Helper()
	text := git(t, dir, "", append(env, "ls-files", "--stage", "--debug")...)
	for entry := range strings.SplitSeq(strings.TrimSpace(text), "\n1") {
		if !strings.HasPrefix(entry, "1") {
			entry = "1" + entry
		}
		first, _, _ := strings.Cut(entry, "\n")
		head, path, _ := strings.Cut(first, "\t")
		out = append(out, listed{path, strings.Fields(head)[1], entry})
	}
	return out
}

// randomEdits makes edits of entries in fold/, the input by which git makes the
// same, and what git is to list for them.
func randomEdits(t testing.TB, rnd *rand.Rand, dir string, entries []listed, size int) (edits []gitindex.Edit, info string, want map[string]string) {
	t.Helper()
	want = map[string]string{}
	taken := map[string]bool{}
	zero := strings.Repeat("0", 2*size)
	blob := oidOf(t, git(t, dir, fmt.Sprint("new ", rnd.Uint64()), "hash-object", "-w", "--stdin"))
	st := gitindex.Stat{CtimeSec: 1, CtimeNsec: 2, MtimeSec: 3, MtimeNsec: 4, Dev: 5, Ino: 6, UID: 7, GID: 8, Size: 9}
	debug := "\n  ctime: 1:2\n  mtime: 3:4\n  dev: 5\tino: 6\n  uid: 7\tgid: 8\n  size: 9\tflags: 0"
	for _, e := range entries {
		taken[e.path] = true
		if !strings.HasPrefix(e.path, "fold/") {
			continue
		}
		switch rnd.IntN(4) {
		case 0:
			edits = append(edits, gitindex.Edit{Path: e.path, Was: oidOf(t, e.oid), Now: blob, Mode: 0o100644, Stat: st})
			info += fmt.Sprintf("100644 %x\t%s\x00", blob, e.path)
			want[e.path] = fmt.Sprintf("100644 %x 0\t%s%s", blob, e.path, debug)
		case 1:
			edits = append(edits, gitindex.Edit{Path: e.path, Was: oidOf(t, e.oid)})
			info += fmt.Sprintf("0 %s\t%s\x00", zero, e.path)
			want[e.path] = ""
		}
	}
	for range rnd.IntN(12) {
		p := randomPath(rnd)
		if rnd.IntN(2) == 0 {
			p = fmt.Sprintf("fold/new%d/%d/n.md", rnd.IntN(3), rnd.IntN(3))
		}
		if taken[p] || !strings.HasPrefix(p, "fold/") {
			continue
		}
		taken[p] = true
		edits = append(edits, gitindex.Edit{Path: p, Now: blob, Mode: 0o100644, Stat: st})
		info += fmt.Sprintf("100644 %x\t%s\x00", blob, p)
		want[p] = fmt.Sprintf("100644 %x 0\t%s%s", blob, p, debug)
	}
	return edits, info, want
}

// treesOf returns every folder of a tree with its name.
func treesOf(t testing.TB, dir, tree string) map[string][]byte {
	out := map[string][]byte{"": oidOf(t, tree)}
	for line := range strings.Lines(git(t, dir, "", "ls-tree", "-r", "-d", strings.TrimSpace(tree))) {
		head, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		out[path] = oidOf(t, strings.Fields(head)[2])
	}
	return out
}

// TestPatchAgainstGit: git lists what an edited index is to hold, every entry
// that was not edited with the same stat data and flags, comes to the tree that
// its own update-index comes to, and finds the cache tree right.
func TestPatchAgainstGit(t *testing.T) {
	t.Parallel()
	for seed := range 24 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(uint64(seed), 1))
			format, size := "sha1", 20
			if seed%4 == 3 {
				format, size = "sha256", 32
			}
			dir := repository(t, rnd, 10+rnd.IntN(60), format)
			if seed%3 == 0 {
				git(t, dir, "", "config", "core.untrackedCache", "true")
			}
			// What a user has staged, outside fold/.
			write(t, filepath.Join(dir, "a.txt"), "staged\n")
			git(t, dir, "", "add", "a.txt")
			write(t, filepath.Join(dir, "later.txt"), "x")
			if seed%2 == 0 { // version 3
				git(t, dir, "", "add", "-N", "later.txt")
			}
			git(t, dir, "", "status")
			index := filepath.Join(dir, ".git", "index")
			before := list(t, dir)
			b, err := os.ReadFile(index)
			if err != nil {
				t.Fatal(err)
			}
			f, err := gitindex.Parse(b, size)
			if err != nil {
				t.Fatal(err)
			}
			if same, left := f.Patch(nil, nil); left != nil || !bytes.Equal(same, b) {
				t.Fatalf("Patch of nothing changed %d bytes to %d", len(b), len(same))
			}
			edits, info, want := randomEdits(t, rnd, dir, before, size)

			reference := filepath.Join(dir, ".git", "index.reference")
			if err := os.WriteFile(reference, b, 0o666); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d edits", len(edits))
			was := treesOf(t, dir, git(t, dir, "", "write-tree"))
			now := strings.TrimSpace(referenceTree(t, dir, reference, info))
			trees := map[string]gitindex.TreeChange{}
			is := treesOf(t, dir, now)
			for _, e := range edits {
				for d := filepath.Dir(e.Path); ; d = filepath.Dir(d) {
					d = strings.TrimPrefix(d, ".")
					trees[d] = gitindex.TreeChange{Was: was[d], Now: is[d]}
					if d == "" {
						break
					}
				}
			}
			if seed%5 == 4 {
				trees = nil
			}
			if err := os.WriteFile(index, b, 0o666); err != nil { // write-tree wrote its trees into it
				t.Fatal(err)
			}
			out, left := f.Patch(edits, trees)
			if left != nil {
				t.Fatalf("Patch left %q", left)
			}
			if err := os.WriteFile(index, out, 0o666); err != nil {
				t.Fatal(err)
			}
			compare(t, before, list(t, dir), want)
			// Has git check its cache tree, then use it.
			git(t, dir, "", "update-index", "--force-write-index")
			if got := strings.TrimSpace(git(t, dir, "", "write-tree")); got != now {
				t.Errorf("write-tree = %s, want %s", got, now)
			}
			git(t, dir, "", "fsck", "--strict", "--no-dangling")
			again, err := gitindex.Parse(out, size)
			if err != nil {
				t.Fatalf("Parse of the patched index = %v", err)
			}
			// What the index knew of fold/ before it knows after.
			if old, ok := f.TreeOf("fold"); trees != nil && ok && bytes.Equal(old, was["fold"]) && is["fold"] != nil {
				if got, ok := again.TreeOf("fold"); !ok || !bytes.Equal(got, is["fold"]) {
					t.Errorf("TreeOf(fold) = %x, %t; want %x", got, ok, is["fold"])
				}
			} else if trees != nil && is["fold"] != nil {
				t.Errorf("the index did not know fold/ before: %t", ok)
			}
			if len(again.Below("fold")) != len(f.Below("fold"))+countMoved(edits) {
				t.Errorf("%d entries below fold/, had %d", len(again.Below("fold")), len(f.Below("fold")))
			}
		})
	}
}

func countMoved(edits []gitindex.Edit) (n int) {
	for _, e := range edits {
		if e.Was == nil {
			n++
		} else if e.Now == nil {
			n--
		}
	}
	return n
}

func referenceTree(t testing.TB, dir, index, info string) string {
	t.Helper()
	var out string
	for _, c := range []struct {
		in   string
		args []string
	}{{info, []string{"update-index", "-z", "--index-info"}}, {"", []string{"write-tree"}}} {
		cmd := exec.Command("git", c.args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(c.in)
		cmd.Env = append(os.Environ(), "GIT_INDEX_FILE="+index)
		b, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", c.args, err, b)
		}
		out = string(b)
	}
	return out
}

func compare(t testing.TB, before, after []listed, want map[string]string) {
	t.Helper()
	for _, e := range before {
		if _, edited := want[e.path]; !edited {
			want[e.path] = e.text
		}
	}
	for _, e := range after {
		if got := e.text; got != want[e.path] {
			t.Errorf("entry %s is\n%s\nwant\n%s", e.path, got, want[e.path])
		}
		delete(want, e.path)
	}
	for p, w := range want {
		if w != "" {
			t.Errorf("entry %s is gone", p)
		}
	}
}

// TestPatchLeavesWhatTheUserStaged: an entry that is not what it was said to be
// stays, byte for byte.
func TestPatchLeavesWhatTheUserStaged(t *testing.T) {
	t.Parallel()
	dir := repository(t, rand.New(rand.NewPCG(1, 2)), 30, "sha1")
	write(t, filepath.Join(dir, "fold/m.md"), "one")
	git(t, dir, "", "add", "-A")
	git(t, dir, "", "commit", "-qm", "two")
	head := oidOf(t, git(t, dir, "", "rev-parse", "HEAD:fold/m.md"))
	write(t, filepath.Join(dir, "fold/m.md"), "staged")
	git(t, dir, "", "add", "-A")
	write(t, filepath.Join(dir, "fold/new.md"), "")
	git(t, dir, "", "add", "-N", "fold/new.md")
	b, err := os.ReadFile(filepath.Join(dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := gitindex.Parse(b, 20)
	if err != nil {
		t.Fatal(err)
	}
	empty := oidOf(t, git(t, dir, "", "hash-object", "-t", "blob", os.DevNull))
	edits := []gitindex.Edit{
		{Path: "fold/m.md", Was: head},                                 // staged as something else
		{Path: "fold/new.md", Was: empty},                              // intended
		{Path: "fold/new.md/x.md", Now: head, Mode: 0o100644},          // a file is in the way
		{Path: "fold", Now: head, Mode: 0o100644},                      // a folder is
		{Path: "fold/none.md", Was: head},                              // never was
		{Path: "fold/short.md", Now: []byte{1, 2, 3}, Mode: 0o100644},  // not a name
		{Path: "a.txt", Now: head, Mode: 0o100644},                     // there already
		{Path: "fold/ok.md", Now: head, Mode: 0o100644},                // applies
		{Path: "fold/m.md2", Now: head, Mode: 0o100644, Was: []byte{}}, // was cannot be empty
	}
	out, left := f.Patch(edits, map[string]gitindex.TreeChange{"": {}})
	want := []string{"a.txt", "fold", "fold/m.md", "fold/m.md2", "fold/new.md", "fold/new.md/x.md", "fold/none.md", "fold/short.md"}
	if !slices.Equal(left, want) {
		t.Errorf("left = %q, want %q", left, want)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git/index"), out, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := git(t, dir, "", "diff", "--cached", "--name-status"); got != "M\tfold/m.md\nA\tfold/ok.md\n" {
		t.Errorf("staged:\n%s", got)
	}
}

// TestOddIndexes: what Patch could not write back is refused, not mangled.
func TestOddIndexes(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"version 4": {"update-index", "--index-version", "4"},
		"split":     {"update-index", "--split-index"},
		"sparse":    {"sparse-checkout", "set", "--cone", "--sparse-index", "src"},
	} {
		dir := repository(t, rand.New(rand.NewPCG(7, 7)), 40, "sha1")
		git(t, dir, "", args...)
		b, err := os.ReadFile(filepath.Join(dir, ".git/index"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := gitindex.Parse(b, 20); !errors.Is(err, gitindex.ErrOdd) {
			t.Errorf("%s: Parse = %v, want ErrOdd", name, err)
		}
	}
	dir := repository(t, rand.New(rand.NewPCG(8, 8)), 40, "sha1")
	b, err := os.ReadFile(filepath.Join(dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		if i%7 != 0 {
			continue
		}
		flipped := bytes.Clone(b)
		flipped[i] ^= 0x40
		if _, err := gitindex.Parse(flipped, 20); !errors.Is(err, gitindex.ErrOdd) {
			t.Errorf("flipped byte %d: Parse = %v", i, err)
		}
	}
}

// TestUnmergedStays: conflict stages keep their order and bytes.
func TestUnmergedStays(t *testing.T) {
	t.Parallel()
	dir := repository(t, rand.New(rand.NewPCG(3, 3)), 20, "sha1")
	git(t, dir, "", "checkout", "-qb", "side")
	write(t, filepath.Join(dir, "a.txt"), "side\n")
	git(t, dir, "", "commit", "-qam", "side")
	git(t, dir, "", "checkout", "-q", "-")
	write(t, filepath.Join(dir, "a.txt"), "main\n")
	git(t, dir, "", "commit", "-qam", "main")
	cmd := exec.Command("git", "-c", "user.name=A", "-c", "user.email=a@b", "merge", "side")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("no conflict:\n%s", out)
	}
	b, err := os.ReadFile(filepath.Join(dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := gitindex.Parse(b, 20)
	if err != nil || !f.Unmerged() {
		t.Fatalf("Parse = %v, unmerged %t", err, f != nil && f.Unmerged())
	}
	blob := oidOf(t, git(t, dir, "x", "hash-object", "-w", "--stdin"))
	out, left := f.Patch([]gitindex.Edit{{Path: "fold/0/new.md", Now: blob, Mode: 0o100644}, {Path: "a.txt", Was: blob}}, nil)
	if !slices.Equal(left, []string{"a.txt"}) {
		t.Fatalf("Patch left %q", left)
	}
	unmerged := git(t, dir, "", "ls-files", "--unmerged", "--debug")
	if err := os.WriteFile(filepath.Join(dir, ".git/index"), out, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := git(t, dir, "", "ls-files", "--unmerged", "--debug"); got != unmerged {
		t.Errorf("unmerged entries:\n%s\nwere:\n%s", got, unmerged)
	}
}
