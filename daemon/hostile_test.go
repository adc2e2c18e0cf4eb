//go:build unix

package daemon_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestBadInputIsSetAside shows that one bad thing stays one bad thing (F34,
// F41–F45, F52): set aside with a reason, neighbours indexed, nothing written
// outside fold/ and foldwatch's own folders.
func TestBadInputIsSetAside(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	outside := realDir(t)
	writeFile(t, filepath.Join(outside, "secret.md"), "The axolotl lives outside.\n")
	before := tree(t, outside)
	random := make([]byte, 300<<10)
	rand.Read(random)
	own := func(id, text string) string {
		p.write("fold/"+fold.ID(id).Path(), text)
		return "fold/" + fold.ID(id).Path()
	}
	symlink := func(target, name string) string {
		if err := os.MkdirAll(filepath.Dir(p.file(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, p.file(name)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	fifo := func(name string) string {
		if err := os.MkdirAll(filepath.Dir(p.file(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(p.file(name), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	text := func(name, s string) string {
		p.write(name, s)
		return name
	}
	bad := map[string]string{ // path → what the reason says
		text("fold/notes/broken.md", "---\ntitle: [unclosed\ntags: \"x\n---\ntext\n"):                 "line",
		text("fold/notes/twice.md", "---\ntitle: one\ntitle: two\n---\ntext\n"):                       "title",
		text("fold/notes/marker.md", "# Merged\n\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> theirs\n"): "line 3",
		text("fold/notes/bomb.md", aliasBomb()):                                                       "",
		text("fold/notes/deep.md", "---\na: "+strings.Repeat("[", 30000)+"\n---\ntext\n"):             "",
		text("fold/notes/long.md", strings.Repeat("x yz", 500_000)):                                   "KiB",
		text("fold/notes/random.md", string(random)):                                                  "",
		own("1f2e3d4c5b6a7988", "---\nid: \"../../x\"\ntitle: Escape\n---\ntext\n"):                   "id",
		own("2f2e3d4c5b6a7988", "---\nid: \"3f2e3d4c5b6a7988\"\ntitle: Other\n---\ntext\n"):           "id",
		own("4f2e3d4c5b6a7988", "---\nid: \"/etc/passwd\"\ntitle: Absolute\n---\ntext\n"):             "id",
		text("fold/notes/id.md", "---\nid: \"../../x\"\ntitle: Escape\n---\ntext\n"):                  "id",
		symlink(filepath.Join(outside, "secret.md"), "fold/notes/link.md"):                            "regular",
		symlink("loop.md", "fold/notes/loop.md"):                                                      "regular",
		fifo("fold/notes/pipe.md"):                                                                    "regular",
	}
	symlink(outside, "fold/e")
	symlink(filepath.Join(outside, "secret.md"), "linked.go")
	fifo("pipe.go")
	if err := os.MkdirAll(p.file("fold/notes/folder.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("long.txt", strings.Repeat("the platypus ", 4<<20)) // one line of 50 MB
	p.write("deep.go", "package main\n\nvar x = "+strings.Repeat("(", 200_000)+"\n")
	p.write("deep.json", strings.Repeat("[", 200_000))
	p.write("random.go", string(random))
	p.write("random.bin", string(random))
	p.write("neighbour.go", "package main\n\n// Quokka smiles.\nfunc Quokka() {}\n")
	p.write("fold/notes/good.md", "# Good neighbour\n\nThe quokka sanctuary opens at nine.\n")

	p.eventually("the neighbours are found", func() bool {
		return p.found("quokka sanctuary nine", "Good neighbour") && p.found("Quokka smiles", "neighbour.go")
	})
	p.sweep(wire.Reindex{})
	for path, says := range bad {
		if p.problem(path) == "" {
			t.Errorf("%s is not set aside", path)
			continue
		}
		if reason := p.problem(path); !strings.Contains(reason, says) {
			t.Errorf("%s: %q does not say %q", path, reason, says)
		}
	}
	if s := p.status(); s.State != "ready" || s.Files.Queued != 0 {
		t.Errorf("state %s, %d queued", s.State, s.Files.Queued)
	}
	if !p.found("platypus", "long.txt") {
		t.Error("the first megabyte of a long line is not found")
	}
	if p.found("axolotl outside", "secret") || strings.Contains(p.dump(), "axolotl") {
		t.Error("the target of a link was read")
	}
	if now := tree(t, outside); now != before {
		t.Errorf("something was written outside:\n%s", differ(before, now))
	}
	for _, id := range []string{"../../x", "/etc/passwd", "..", "x\x00", "12345678901234567"} {
		if _, err := p.get(id); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("get %q = %v, want ErrInvalid", id, err)
		}
		if _, err := p.d.DeleteMemory(p.ctx(), local(), p.slug, id, ""); !errors.Is(err, fold.ErrInvalid) {
			t.Errorf("delete %q = %v, want ErrInvalid", id, err)
		}
	}
	// none of it is in the journal, the neighbour is
	p.committed("notes/good.md")
	for path := range bad {
		if p.inLog(strings.TrimPrefix(path, "fold/")) {
			t.Errorf("%s was committed", path)
		}
	}
	// a write where a link stands is refused, and its target stays as it is
	m := p.addMemory(wire.MemoryCreate{Content: "Still writable."})
	p.mustGet(m.ID)
	// mended, it is back
	p.write("fold/notes/broken.md", "# Mended\n\nThe numbat burrow is closed.\n")
	p.eventually("the mended file is found", func() bool { return p.found("numbat burrow closed", "Mended") })
	if reason := p.problem("fold/notes/broken.md"); reason != "" {
		t.Errorf("still set aside: %s", reason)
	}
}

// aliasBomb is a note whose frontmatter unfolds to 9^9 words.
func aliasBomb() string {
	b := "---\na0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := range 8 {
		ref := fmt.Sprintf("*a%d", i)
		b += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(ref+",", 9), ","))
	}
	return b + "tags: *a8\n---\ntext\n"
}

// TestAFoldFolderThatIsALink is F41: not followed, and said.
func TestAFoldFolderThatIsALink(t *testing.T) {
	t.Parallel()
	outside := realDir(t)
	dir := New(t, map[string]string{"main.go": "package main\n"})
	if err := os.Symlink(outside, filepath.Join(dir, "fold")); err != nil {
		t.Fatal(err)
	}
	m := newMachine(t)
	_, err := m.d.AddProject(m.ctx(), local(), wire.ProjectCreate{Path: dir})
	if !errors.Is(err, fold.ErrInvalid) || !strings.Contains(fold.Hint(err), "--fold-dir") {
		t.Errorf("add = %v, hint %q", err, fold.Hint(err))
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Errorf("written through the link: %v, %v", entries, err)
	}
}

// TestAFolderFlippedToALink replaces fold/a by a link while the daemon runs.
func TestAFolderFlippedToALink(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	r := p.addMemory(wire.MemoryCreate{Content: "Before the flip."})
	p.committed(r.Path)
	outside := realDir(t)
	first := p.file("fold/" + r.Path[:1])
	if err := os.Rename(first, filepath.Join(outside, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "moved"), first); err != nil {
		t.Fatal(err)
	}
	before := tree(t, outside)
	if _, err := p.d.UpdateMemory(p.ctx(), local(), p.slug, r.ID, wire.MemoryUpdate{Append: "Through the link."}); err == nil {
		t.Error("a write through the link was acknowledged")
	}
	p.sweep(wire.Reindex{})
	if now := tree(t, outside); now != before {
		t.Errorf("written through the link:\n%s", differ(before, now))
	}
	other := p.addMemory(wire.MemoryCreate{Slug: "elsewhere", Content: "Elsewhere."})
	p.mustGet(other.ID)
}

// holds returns the files below dir with any of words in them, and the objects
// of the sidecar's repository likewise.
func (p *project) holds(words []string) (found []string) {
	p.t.Helper()
	has := func(b []byte) bool {
		for _, w := range words {
			if bytes.Contains(b, []byte(w)) {
				return true
			}
		}
		return false
	}
	for _, dir := range []string{p.dir, p.home} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // gone meanwhile
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			if b, err := os.ReadFile(path); err == nil && has(b) {
				found = append(found, path)
			}
			return nil
		})
		if err != nil {
			p.t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "--git-dir="+p.file(".git/foldwatch/repo.git"), "cat-file", "--batch-all-objects", "--batch")
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("read the sidecar: %v", err)
	}
	if has(out) {
		found = append(found, "an object of the journal")
	}
	if has([]byte(p.log.String())) {
		found = append(found, "the log")
	}
	if strings.Contains(p.dump(), words[0]) {
		found = append(found, "the index")
	}
	return found
}

func TestAPlantedKeyIsRefused(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	text, lines := plantedKey()
	_, err := p.d.AddMemory(p.ctx(), local(), p.slug, wire.MemoryCreate{Content: text})
	if !errors.Is(err, fold.ErrSecret) || !strings.Contains(err.Error(), "private-key") || !strings.Contains(err.Error(), "line ") {
		t.Fatalf("add = %v", err)
	}
	if strings.Contains(err.Error(), lines[0]) || strings.Contains(fold.Hint(err), lines[0]) {
		t.Error("the refusal repeats the key")
	}
	if !strings.Contains(fold.Hint(err), "--allow-secret private-key") {
		t.Errorf("no way out: %q", fold.Hint(err))
	}
	ok := p.addMemory(wire.MemoryCreate{Content: "Harmless.", Slug: "keys"})
	if _, err := p.d.UpdateMemory(p.ctx(), local(), p.slug, ok.ID, wire.MemoryUpdate{Append: text}); !errors.Is(err, fold.ErrSecret) {
		t.Errorf("update = %v", err)
	}
	if _, err := p.d.AddMemory(p.ctx(), local(), p.slug, wire.MemoryCreate{Content: text, Slug: "keys"}); !errors.Is(err, fold.ErrSecret) {
		t.Errorf("add under a slug = %v", err)
	}
	up, err := p.d.Upload(p.ctx(), local(), p.slug, wire.FilesUpload{Files: []wire.UploadFile{{Path: "key.md", Content: text}}})
	if err == nil && (len(up.Results) != 1 || !strings.Contains(up.Results[0].Error, "private-key")) {
		t.Errorf("upload = %+v", up)
	}
	p.committed(ok.Path)
	p.settle()
	if found := p.holds(lines); len(found) > 0 {
		t.Errorf("the key is in %v", found)
	}

	// a note with it stays on disk where the person put it, and goes nowhere else
	p.write("fold/leak.md", text)
	p.eventually("the note is set aside", func() bool { return strings.Contains(p.problem("fold/leak.md"), "private-key") })
	p.addMemory(wire.MemoryCreate{Content: "Another, so that something is committed."})
	p.settle()
	p.sweep(wire.Reindex{})
	if found := p.holds(lines); len(found) != 1 || found[0] != p.file("fold/leak.md") {
		t.Errorf("the key is in %v", found)
	}
	if err := os.Remove(p.file("fold/leak.md")); err != nil {
		t.Fatal(err)
	}

	// in source it is found by name, never quoted
	p.write("key.go", "package main\n\n// DeployKey unlocks the pelican.\nconst DeployKey = `"+strings.TrimPrefix(text, "How the deploy key looks:\n\n")+"`\n")
	p.eventually("the source is found", func() bool { return p.found("DeployKey", "key.go") })
	p.settle()
	for _, r := range p.search(wire.SearchRequest{Query: "DeployKey pelican"}) {
		for _, c := range r.MatchedChunks {
			if strings.Contains(c.Snippet, lines[0][:20]) {
				t.Errorf("quoted: %s", c.Snippet)
			}
		}
	}
	if err := os.Remove(p.file("key.go")); err != nil {
		t.Fatal(err)
	}
	p.eventually("the source is gone", func() bool { return !p.found("DeployKey", "key.go") })
	if found := p.holds(lines); len(found) > 0 {
		t.Errorf("the key is in %v", found)
	}

	// the way out holds up to the commit, and over a restart
	in := wire.MemoryCreate{Content: text, AllowSecret: "private-key"}
	r, err := p.d.AddMemory(p.ctx(), local(), p.slug, in)
	if err != nil {
		t.Fatalf("the way out: %v", err)
	}
	p.committed(r.Path)
	p.settle()
	if reason := p.problem("fold/" + r.Path); reason != "" {
		t.Errorf("allowed, and set aside: %s", reason)
	}
	p.restart()
	p.settle()
	p.sweep(wire.Reindex{Rebuild: true})
	if reason := p.problem("fold/" + r.Path); reason != "" || !p.found("how the deploy key looks", p.mustGet(r.ID).Title) {
		t.Errorf("forgotten after a restart: %s", reason)
	}
}
