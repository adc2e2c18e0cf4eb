package daemon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// hear takes events until every wanted type was heard, and returns those in
// between, in order.
func (p *project) hear(events <-chan wire.Event, wanted ...string) (heard []wire.Event) {
	p.t.Helper()
	deadline := time.After(patience)
	for missing := len(wanted); missing > 0; {
		select {
		case e, ok := <-events:
			if !ok {
				p.t.Fatalf("the channel was closed; heard %v", heard)
			}
			heard = append(heard, e)
			for i, w := range wanted {
				if w != "" && e.Type == w {
					wanted[i], missing = "", missing-1
				}
			}
		case <-deadline:
			p.t.Fatalf("not heard: %q, only %v", strings.Join(wanted, " "), heard)
		}
	}
	return heard
}

// TestEveryKindOfEventIsHeard by the owner, and not by who may read another
// project only; what was missed comes after a break, and after a restart the
// listener is told that it cannot.
func TestEveryKindOfEventIsHeard(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	ctx, cancel := context.WithCancel(p.ctx())
	events := p.d.Subscribe(ctx, local(), 0)
	others := p.d.Subscribe(p.ctx(), fold.Scope{Projects: []string{"another"}}, 0)
	p.addMemory(wire.MemoryCreate{Content: "Events tell what happens."})
	if _, err := p.d.Reindex(p.ctx(), local(), p.slug, wire.Reindex{Full: true}); err != nil {
		t.Fatal(err)
	}
	heard := p.hear(events, "memory:changed", "memory:committed", "job:completed", "indexing:indexing", "indexing:ready")
	for i, e := range heard {
		if e.Project != p.slug || e.Time.IsZero() || i > 0 && e.ID <= heard[i-1].ID {
			t.Errorf("event %+v", e)
		}
	}
	cancel()

	remote := filepath.Join(realDir(t), "remote.git")
	git(t, p.dir, "init", "-q", "--bare", remote)
	added, err := p.d.AddRepository(p.ctx(), local(), p.slug, wire.RepositoryCreate{Remote: remote})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.d.Sync(p.ctx(), local(), p.slug, added.Repository.ID, wire.SyncRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := p.d.RemoveRepository(p.ctx(), local(), p.slug, added.Repository.ID); err != nil {
		t.Fatal(err)
	}
	again := p.hear(p.d.Subscribe(p.ctx(), local(), heard[len(heard)-1].ID), "sync:on", "sync:completed", "sync:off")
	if again[0].ID != heard[len(heard)-1].ID+1 {
		t.Errorf("after %d came %d %s", heard[len(heard)-1].ID, again[0].ID, again[0].Type)
	}
	select {
	case e := <-others:
		t.Errorf("who may not read the project heard %+v", e)
	default:
	}

	p.stop()
	if err := os.Rename(p.dir, p.dir+".away"); err != nil {
		t.Fatal(err)
	}
	p.start()
	events = p.d.Subscribe(p.ctx(), local(), again[len(again)-1].ID)
	if first := <-events; first.Type != "events:missed" || first.ID <= again[len(again)-1].ID {
		t.Errorf("after a restart: %+v", first)
	}
	p.eventually("it is missing", func() bool { return p.status().State == "missing" })
	if err := os.Rename(p.dir+".away", p.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := p.d.AddProject(p.ctx(), local(), wire.ProjectCreate{Path: p.dir}); err != nil {
		t.Fatal(err)
	}
	p.hear(events, "health:changed")
	if err := p.d.RemoveProject(p.ctx(), local(), p.slug, wire.ProjectRemove{}); err != nil {
		t.Fatal(err)
	}
	p.hear(events, "project:removed")
}

// TestEveryMemoryOfABatchIsTold: what many writers saved at once is indexed at once,
// and a listener hears of each.
func TestEveryMemoryOfABatchIsTold(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"main.go": mainGo})
	events := p.d.Subscribe(p.ctx(), local(), 0)
	missing := map[string]bool{}
	for i := range 130 { // more than one event names
		name := fmt.Sprintf("note %d.md", i)
		p.write("fold/"+name, fmt.Sprintf("Note %d of a batch.", i))
		missing[string(fold.NoteID(p.slug, name))] = true
	}
	for deadline := time.After(patience); len(missing) > 0; {
		select {
		case e := <-events:
			if e.Type != "memory:changed" {
				continue
			}
			ids, _ := e.Data["ids"].([]string)
			for _, id := range ids {
				delete(missing, id)
			}
		case <-deadline:
			t.Fatalf("%d memories were never told of", len(missing))
		}
	}
}
