package daemon_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
)

// bisected is a machine on which nothing is committed, with a memory that the user's
// bisection has taken a version of away.
func bisected(t *testing.T) (*project, string, string) {
	t.Helper()
	m := newMachine(t)
	m.cfg = conf.Default()
	m.cfg.AutoCommit = false
	m.restart()
	p := m.add(newCheckout(t, map[string]string{"main.go": mainGo}), wire.ProjectCreate{Slug: "app", CommitTo: "branch"})
	r := p.addMemory(wire.MemoryCreate{Title: "Feeding times", Content: "The emu is fed at nine."})
	p.commit("one")
	file := "fold/" + strings.TrimPrefix(r.Path, "fold/")
	p.write(file, strings.Replace(p.read(file), "at nine", "at nine sharp", 1))
	p.commit("two")
	p.write("main.go", mainGo+"\n// three\n")
	p.commit("three")
	p.git("bisect", "start", "HEAD", "HEAD~2")
	return p, r.ID, file
}

// TestPutOff: what an agent changes during a bisection is answered, read and found, and
// its file follows, also where nothing is committed (git.md B7).
func TestPutOff(t *testing.T) {
	t.Parallel()
	p, id, file := bisected(t)
	before := p.read(file)
	reply, err := p.d.UpdateMemory(p.ctx(), local(), p.slug, id, wire.MemoryUpdate{Append: "\nThe ibis follows.\n"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(reply.BlockedReason, "when git rests") {
		t.Errorf("the answer says %q of what it waits for", reply.BlockedReason)
	}
	if got := p.mustGet(id).Content; !strings.Contains(got, "ibis follows") {
		t.Errorf("one reads %q", got)
	}
	p.eventually("it is found", func() bool { return p.found("ibis follows", "Feeding times") })
	if p.read(file) != before {
		t.Error("the file was written in the middle of a bisection")
	}
	c := exec.Command("git", "bisect", "reset")
	c.Dir = p.dir
	c.Env = append(c.Environ(), "GIT_COMMITTER_DATE="+time.Now().Add(-time.Hour).Format(time.RFC3339))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git bisect reset: %v\n%s", err, out)
	}
	p.eventually("the file follows", func() bool {
		text := p.read(file)
		return strings.Contains(text, "ibis follows") && strings.Contains(text, "nine sharp")
	})
}

// TestReplayWaits: a daemon that starts while the user looks at a commit from before
// fold/ writes no memory there, also where nothing was ever committed, and finds it; the
// way back is free (git.md B7).
func TestReplayWaits(t *testing.T) {
	t.Parallel()
	m := newMachineWith(t, t.TempDir(), func(m *machine) { m.cfg.AutoCommit = false })
	dir := newCheckout(t, map[string]string{"main.go": mainGo})
	writeFile(t, filepath.Join(dir, "fold", "project.toml"), string(conf.EncodeProject(conf.Project{ID: "proj_5f0c2b7d", Slug: "app", Name: "app"})))
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "fold")
	p := m.add(dir, wire.ProjectCreate{})
	r := p.addMemory(wire.MemoryCreate{Title: "Feeding times", Content: "The emu is fed at nine."})
	file := "fold/" + strings.TrimPrefix(r.Path, "fold/")
	p.commit("memories")
	m.stop()
	p.git("checkout", "-q", "HEAD~2")
	m.start()
	p.eventually("it is found", func() bool { return p.found("emu fed", "Feeding times") })
	if got := p.mustGet(r.ID).Content; !strings.Contains(got, "emu") {
		t.Errorf("one reads %q", got)
	}
	if p.exists(file) {
		t.Error("the file was written over a commit that has none")
	}
	p.git("checkout", "-q", "-")
	if !p.exists(file) {
		t.Error("the file is not back")
	}
}

// TestPutOffRemoved: a checkout that is removed in the middle of a bisection, history
// and all, keeps what was acknowledged.
func TestPutOffRemoved(t *testing.T) {
	t.Parallel()
	p, id, file := bisected(t)
	if _, err := p.d.UpdateMemory(p.ctx(), local(), p.slug, id, wire.MemoryUpdate{Append: "\nThe ibis follows.\n"}); err != nil {
		t.Fatal(err)
	}
	if err := p.d.RemoveProject(p.ctx(), local(), p.slug, wire.ProjectRemove{Purge: true}); err != nil {
		t.Fatal(err)
	}
	if text := p.read(file); !strings.Contains(text, "ibis follows") {
		t.Errorf("the file holds %q", text)
	}
}
