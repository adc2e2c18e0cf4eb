package daemon_test

import (
	"os/exec"
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
