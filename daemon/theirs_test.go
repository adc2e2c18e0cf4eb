package daemon_test

import (
	"path/filepath"
	"strings"
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
	crane := write(dir, "Crane times", "The crane is fed at dawn.", "")
	gull := write(dir, "Gull times", "The gull is fed at one.", "")
	gone := write(dir, "Dodo times", "The dodo is fed at six.", "")
	writeFile(t, filepath.Join(dir, "fold", "project.toml"), string(conf.EncodeProject(conf.Project{ID: "proj_5f0c2b7d", Slug: "app", Name: "app"})))
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "fold")
	git(t, dir, "init", "-q", "--bare", remote)
	git(t, dir, "push", "-q", remote, "HEAD:main")
	git(t, dir, "clone", "-q", "-b", "main", remote, other)
	write(other, "Ibis times", "The ibis is fed at ten.", "")
	second := write(other, "Stork times", "The stork is fed at noon.", here)
	write(other, "Crane times", "The crane is fed at dusk, by Ann.", "")
	write(other, "Gull times", "The gull is fed at four.", "")
	buried, err := fold.Bury("app", gone.Path(), []byte(readFile(t, filepath.Join(other, "fold", gone.Path()))), time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(other, "fold", gone.Path()), string(buried))
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
	if got := origins(wire.ListQuery{Type: "decision"}); len(got) != 6 || got[string(there)] != wire.OriginRemote || got[string(here)] != "" {
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
	theirPlace(t, p, there)
	theirVersions(t, p, dir, crane, gull, gone)
}

// theirPlace: what only the remote has, and has all that is asked for, is found among
// what is here by how well it fits, in a page of no more than was asked for.
func theirPlace(t *testing.T, p *project, there fold.ID) {
	t.Helper()
	ask := func(query string, limit int, cursor string) wire.SearchReply {
		t.Helper()
		reply, err := p.d.Search(p.ctx(), local(), p.slug, wire.SearchRequest{Query: query, Limit: limit, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		if len(reply.Results) > limit {
			t.Errorf("%q has %d results, of at most %d", query, len(reply.Results), limit)
		}
		return reply
	}
	r := ask("ibis times", 2, "")
	if len(r.Results) != 2 || r.Results[0].ID != string(there) || r.Results[0].Score != 1 || r.Results[0].Origin != wire.OriginRemote {
		t.Errorf("what has the title asked for is told as %+v", r.Results)
	}
	seen := map[string]bool{}
	for range 20 {
		for _, hit := range r.Results {
			if seen[hit.ID] {
				t.Errorf("%s comes twice", hit.ID)
			}
			seen[hit.ID] = true
		}
		if r.NextCursor == "" {
			break
		}
		r = ask("ibis times", 2, r.NextCursor)
	}
	if all := ask("ibis times", 50, ""); len(seen) != len(all.Results) {
		t.Errorf("by pages there are %d results, in one %d", len(seen), len(all.Results))
	}
	if r := ask("ibis fed ten", 50, ""); len(r.Results) == 0 || r.Results[0].ID == string(there) && r.Results[0].Score == 0 {
		t.Errorf("by its text it is told as %+v", r.Results)
	}
	if r := ask("ibis times", 1, ""); !strings.Contains(r.Notice, string(there)) {
		t.Errorf("where there is no room, what is on the remote is not named: %+v", r)
	}
}

// theirVersions: of a memory that the remote has changed, the one that is here is told
// with the remote's beside it, and is what is written.
func theirVersions(t *testing.T, p *project, dir string, crane, gull, gone fold.ID) {
	t.Helper()
	get := func(id fold.ID) wire.Memory {
		t.Helper()
		m, err := p.d.GetMemory(p.ctx(), local(), p.slug, string(id))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	was := readFile(t, filepath.Join(dir, "fold", crane.Path()))
	m := get(crane)
	if !strings.Contains(m.Content, "dawn") || m.ContentHash != fold.ContentHash([]byte(was)) || m.Origin != "" ||
		m.Remote == nil || !strings.Contains(m.Remote.Content, "dusk") || m.Remote.Deleted {
		t.Errorf("the crane is %+v, the remote's %+v", m, m.Remote)
	}
	if r := get(gone).Remote; r == nil || !r.Deleted || r.Content != "" {
		t.Errorf("of the dodo, which was deleted there, the remote has %+v", r)
	}
	list, err := p.d.ListMemories(p.ctx(), local(), p.slug, wire.ListQuery{Type: "decision"})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list.Items {
		want := i.ID == string(crane) || i.ID == string(gull) || i.ID == string(gone)
		if i.ChangedOnRemote != want {
			t.Errorf("the list says of %s that it is changed on the remote: %v", i.Title, i.ChangedOnRemote)
		}
	}
	found := func(id fold.ID, query string, budget int) (hits []wire.SearchResult, notice string) {
		t.Helper()
		reply, err := p.d.Search(p.ctx(), local(), p.slug, wire.SearchRequest{Query: query, TokenBudget: budget, WaitForPending: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range reply.Results {
			if r.ID == string(id) {
				hits = append(hits, r)
			}
		}
		return hits, reply.Notice
	}
	if hits, _ := found(crane, "crane dawn", 0); len(hits) != 1 || hits[0].Origin != "" || !hits[0].ChangedOnRemote {
		t.Errorf("a search for what is here finds %+v", hits)
	}
	if hits, text := found(crane, "crane dawn", 2000); len(hits) != 1 || hits[0].ChangedOnRemote || !strings.Contains(text, string(crane)) {
		t.Errorf("a bounded search finds %+v, and says %q", hits, text)
	}
	if hits, _ := found(crane, "ann", 0); len(hits) != 1 || !hits[0].ChangedOnRemote || hits[0].Origin == "" && strings.Contains(hits[0].Snippet, "Ann") {
		t.Errorf("a search for what only the remote says finds %+v", hits)
	}
	reply, err := p.d.Context(p.ctx(), local(), p.slug, string(crane), wire.ContextRequest{})
	if err != nil || reply.Memory.Remote == nil {
		t.Errorf("with what surrounds it, the remote's crane is %+v, %v", reply.Memory.Remote, err)
	}

	// The remote's hash is none to write by, and who writes changes what is here.
	text := "The gull is fed at two."
	if _, err := p.d.UpdateMemory(p.ctx(), local(), p.slug, string(gull), wire.MemoryUpdate{Content: &text, ExpectedHash: get(gull).ContentHash}); err != nil {
		t.Fatal(err)
	}
	m = get(gull)
	if !strings.Contains(m.Content, "two") || m.Remote == nil || !strings.Contains(m.Remote.Content, "four") {
		t.Errorf("the gull, which both have changed, is %+v, the remote's %+v", m, m.Remote)
	}
	if got := readFile(t, filepath.Join(dir, "fold", crane.Path())); got != was {
		t.Errorf("the crane's file was written: %s", got)
	}
}
