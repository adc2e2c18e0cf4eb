package daemon_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/conf"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// TestTheirs: a memory that only the remote's branch has, which the user has still to
// pull, is in lists, in what surrounds another, and in searches of all projects, as it
// is in those of one (git.md B7).
func TestTheirs(t *testing.T) {
	t.Parallel()
	remote, other := filepath.Join(realDir(t), "remote.git"), filepath.Join(realDir(t), "other")
	dir := newCheckout(t, map[string]string{"main.go": mainGo})
	write := func(in, title, body string, link fold.ID) fold.ID {
		id := fold.SlugID("app", title)
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		mem := &fold.Memory{ID: id, Path: id.Path(), Title: title, Type: "decision", Source: fold.SourceAgent, CreatedAt: at, UpdatedAt: at, Body: "# " + title + "\n\n" + body + "\n"}
		if link != "" {
			mem.Links = []fold.Link{{From: id, To: link, Type: "related"}}
		}
		writeFile(t, filepath.Join(in, "fold", filepath.FromSlash(id.Path())), string(fold.Encode(mem, nil)))
		return id
	}
	there := fold.SlugID("app", "Ibis times")
	here := write(dir, "Emu times", "The emu is fed at nine.", there)
	writeFile(t, filepath.Join(dir, "fold", "project.toml"), string(conf.EncodeProject(conf.Project{ID: "proj_5f0c2b7d", Slug: "app", Name: "app"})))
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "fold")
	git(t, dir, "init", "-q", "--bare", remote)
	git(t, dir, "push", "-q", remote, "HEAD:main")
	git(t, dir, "clone", "-q", "-b", "main", remote, other)
	write(other, "Ibis times", "The ibis is fed at ten.", "")
	second := write(other, "Stork times", "The stork is fed at noon.", here)
	writeFile(t, filepath.Join(other, "main.go"), mainGo+"\n// more\n") // so that only the user can pull
	git(t, other, "add", "-A")
	git(t, other, "commit", "-qm", "more")
	git(t, other, "push", "-q", "origin", "HEAD:main")
	m := newMachine(t)
	p := m.add(dir, wire.ProjectCreate{})
	if _, err := p.d.AddRepository(p.ctx(), local(), p.slug, wire.RepositoryCreate{Remote: remote}); err != nil {
		t.Fatal(err)
	}

	origins := func(q wire.ListQuery) map[string]string {
		t.Helper()
		list, err := p.d.ListMemories(p.ctx(), local(), p.slug, q)
		if err != nil {
			t.Fatal(err)
		}
		if list.Total != len(list.Items) {
			t.Errorf("list of %+v: total %d of %d", q, list.Total, len(list.Items))
		}
		out := map[string]string{}
		for _, i := range list.Items {
			out[i.ID] = i.Origin
		}
		return out
	}
	if got := origins(wire.ListQuery{Type: "decision"}); len(got) != 3 || got[string(there)] != wire.OriginRemote || got[string(here)] != "" {
		t.Errorf("the list has %v", got)
	}
	if got := origins(wire.ListQuery{Type: "decision", Q: "ibis"}); len(got) != 1 || got[string(there)] == "" {
		t.Errorf("the list of the ibis has %v", got)
	}
	if got := origins(wire.ListQuery{Type: "fact"}); len(got) != 0 {
		t.Errorf("the list of facts has %v", got)
	}

	around := func(id fold.ID, q wire.ContextRequest) (wire.ContextReply, map[string]string) {
		t.Helper()
		reply, err := p.d.Context(p.ctx(), local(), p.slug, string(id), q)
		if err != nil {
			t.Fatalf("what surrounds %s: %v", id, err)
		}
		out := map[string]string{}
		for _, r := range reply.RelatedMemories {
			out[r.ID] = r.Direction + " " + r.Origin
		}
		return reply, out
	}
	if _, got := around(here, wire.ContextRequest{}); got[string(there)] != "out remote" || got[string(second)] != "in remote" {
		t.Errorf("the memory that is here is surrounded by %v", got)
	}
	if reply, got := around(here, wire.ContextRequest{Limit: 1}); len(got) != 1 || !reply.Truncated {
		t.Errorf("with a limit of one it is surrounded by %v, truncated %v", got, reply.Truncated)
	}
	if reply, got := around(there, wire.ContextRequest{}); reply.Memory.Origin != wire.OriginRemote || got[string(here)] != "in " {
		t.Errorf("the remote's memory is %+v, surrounded by %v", reply.Memory, got)
	}
	if _, got := around(second, wire.ContextRequest{}); got[string(here)] != "out " {
		t.Errorf("the remote's other memory is surrounded by %v", got)
	}

	reply, err := p.d.SearchAll(p.ctx(), local(), wire.SearchRequest{Query: "ibis fed"})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, r := range reply.Results {
		found = found || r.ID == string(there) && r.Origin == wire.OriginRemote && r.Project == "app"
	}
	if !found {
		t.Errorf("a search of all projects finds %+v", reply.Results)
	}
}
