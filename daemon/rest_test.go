package daemon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/wire"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// openFiles counts the indexes of which this process has a file open.
func (m *machine) openFiles() int {
	m.t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		m.t.Fatal(err)
	}
	below := filepath.Join(m.dirs().State, "index") + "/"
	seen := map[string]bool{}
	for _, e := range entries {
		if path, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			if rest, ok := strings.CutPrefix(path, below); ok {
				key, _, _ := strings.Cut(rest, "/")
				seen[key] = true
			}
		}
	}
	return len(seen)
}

// resting waits until the stores of the project are closed.
func (p *project) resting() {
	p.t.Helper()
	p.eventually("the stores rest", func() bool {
		st := p.status()
		return st.Resting && st.Queued == 0 && p.openFiles() == 0
	})
}

// beast is source that is found by the name of its function alone.
func beast(name string) string {
	return fmt.Sprintf("package main\n\n// %[1]s runs.\nfunc %[1]s() {}\n", name)
}

// TestStoresRest shows that stores which nobody asks are closed, and are opened
// again by whatever needs them: with the same answers, and nothing lost.
func TestStoresRest(t *testing.T) {
	t.Parallel()
	m := newMachineWith(t, t.TempDir(), func(m *machine) { m.rest = 50 * time.Millisecond })
	p := m.add(New(t, map[string]string{"main.go": mainGo, "emu.go": beast("Emu")}), wire.ProjectCreate{Slug: "app"})
	note := p.addMemory(wire.MemoryCreate{Title: "Kept", Content: "Kept while the stores rest."})
	p.committed(note.Path)
	p.settle()
	dump, answers := p.dump(), fmt.Sprint(p.search(wire.SearchRequest{Query: "emu runs"})[0].ID)
	p.settle()
	before := p.status()
	p.resting()
	_, _, opened := p.d.StoresOpen()
	for range 3 {
		st := p.status()
		if !st.Resting || st.State != "ready" || st.Files != before.Files || st.Memories != before.Memories || st.Chunks != before.Chunks || st.Vectors != before.Vectors ||
			st.Links != before.Links || st.Watch != "events" || st.LastCommit == nil || st.Embedder == nil || st.FileMemories != before.FileMemories || st.Engine != before.Engine {
			t.Fatalf("at rest status says\n%+v, before\n%+v", st, before)
		}
		if all, err := p.d.Status(p.ctx(), local()); err != nil || !all.Ready {
			t.Fatalf("not ready: %v", err)
		}
	}
	if h := p.d.Health(p.ctx()); h.Status != "ok" {
		t.Errorf("health %+v", h)
	}
	if _, _, now := p.d.StoresOpen(); now != opened {
		t.Error("status opened the stores")
	}

	if now := fmt.Sprint(p.search(wire.SearchRequest{Query: "emu runs"})[0].ID); now != answers {
		t.Errorf("after a rest %s is found, before %s", now, answers)
	}
	p.resting()
	if now := p.dump(); now != dump {
		t.Errorf("after a rest the index differs:\n%s", differ(dump, now))
	}
	p.resting()
	if _, err := p.get(note.ID); err != nil {
		t.Error(err)
	}
	p.resting()
	r := p.addMemory(wire.MemoryCreate{Title: "Woken", Content: "Written to a checkout at rest."})
	p.committed(r.Path)
	p.resting()
	p.write("late.go", beast("Bilby"))
	p.eventually("a save wakes the stores", func() bool { return namesChunk(p, "Bilby") })
	p.resting()
	p.write("fold/hand.md", "# By hand\n\nWritten while they rest.\n")
	p.committed("hand.md")
	p.eventually("a note is found", func() bool { return p.found("written while they rest", "By hand") })
	p.resting()
	p.commit("Late") // wakes them for what describes it
	p.eventually("it is described", func() bool { return p.exists(p.described("late.go")) })
	p.resting()
	if list, err := p.d.Jobs(p.ctx(), local(), "", 10); err != nil || len(list.Items) == 0 {
		t.Errorf("jobs: %v, %v", list, err)
	} else if j, err := p.d.Job(p.ctx(), local(), list.Items[0].ID); err != nil || j.ID != list.Items[0].ID {
		t.Errorf("job: %v, %v", j, err)
	}
	p.sameAfterRebuild()
}

// TestFewStoresAreOpen has more checkouts than may be open: at a start, which has
// to look through all of them, in a search of all, and in each of them.
func TestFewStoresAreOpen(t *testing.T) {
	t.Parallel()
	const most, many = 5, 12
	m := newMachineWith(t, t.TempDir(), func(m *machine) { m.most = most })
	names := []string{"Numbat", "Quoll", "Bettong", "Potoroo", "Wombat", "Dunnart", "Planigale", "Bandicoot", "Wallaroo", "Cuscus", "Glider", "Tuan"}
	var all []*project
	for i, name := range names {
		dir := New(t, map[string]string{"beast.go": beast(name), "shared.go": beast("Marsupial" + name)})
		all = append(all, m.add(dir, wire.ProjectCreate{Slug: fmt.Sprintf("app%02d", i)}))
	}
	bounded := func(when string) {
		t.Helper()
		if _, peak, _ := m.d.StoresOpen(); peak > most {
			t.Errorf("%s: stores of %d checkouts were open at once, want at most %d", when, peak, most)
		}
		if n := m.openFiles(); n > most {
			t.Errorf("%s: files of %d indexes are open, want at most %d", when, n, most)
		}
	}
	found := func(when string) {
		t.Helper()
		reply, err := m.d.SearchAll(m.ctx(), local(), wire.SearchRequest{Query: "runs", Limit: 100, WaitForPending: true})
		if err != nil {
			t.Fatal(err)
		}
		in := map[string]bool{}
		for _, r := range reply.Results {
			in[r.Project] = true
		}
		if len(in) != many {
			t.Errorf("%s: a search of all finds %d of %d projects", when, len(in), many)
		}
		bounded(when)
	}
	found("after adding")
	reply, err := m.d.SearchAll(m.ctx(), local(), wire.SearchRequest{Query: "Wallaroo runs", Explain: true})
	if err != nil || len(reply.Results) == 0 || reply.Results[0].Project != "app08" {
		t.Errorf("the best of all: %+v, %v", reply.Results, err)
	}

	whole, err := m.d.SearchAll(m.ctx(), local(), wire.SearchRequest{Query: "runs", Limit: 24})
	if err != nil {
		t.Fatal(err)
	}
	var paged []wire.SearchResult
	for page := (wire.SearchRequest{Query: "runs", Limit: 7}); ; { // which stores are open changes between two pages
		reply, err := m.d.SearchAll(m.ctx(), local(), page)
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, reply.Results...)
		if page.Cursor = reply.NextCursor; page.Cursor == "" || len(paged) >= len(whole.Results) {
			break
		}
	}
	paged = paged[:min(len(paged), len(whole.Results))]
	same := func(a, b wire.SearchResult) bool { return a.ID == b.ID && a.Project == b.Project && a.Title == b.Title }
	if len(paged) < many || !slices.EqualFunc(paged, whole.Results, same) {
		t.Errorf("page by page a search of all finds %d results, at once %d, or in another order", len(paged), len(whole.Results))
	}

	m.stop()
	for i, p := range all {
		p.write("down.go", beast(names[i]+"WhileDown"))
	}
	m.start()
	status, err := m.d.Status(m.ctx(), local())
	if err != nil || len(status.Projects) != many {
		t.Fatalf("status of %d projects, %v", len(status.Projects), err)
	}
	for _, p := range all {
		p.eventually("what changed while the daemon was down is indexed, without being asked for", func() bool {
			st := p.status()
			return st.State == "ready" && st.Queued == 0 && st.Files.Indexed == 3
		})
	}
	bounded("after a start")
	found("after a start")
	for i, p := range all {
		if !namesChunk(p, names[i]+"WhileDown") {
			t.Errorf("%s: what changed while the daemon was down is not found", p.slug)
		}
	}
	bounded("after each was asked")
}

// TestNothingIsLostWhileStoresAreOpenedAndClosed has searches, writes and saves in
// more checkouts than may be open, whose stores rest as soon as nobody uses them.
func TestNothingIsLostWhileStoresAreOpenedAndClosed(t *testing.T) {
	t.Parallel()
	const most, many, rounds = 2, 4, 12
	m := newMachineWith(t, t.TempDir(), func(m *machine) { m.most, m.rest = most, time.Millisecond })
	var all []*project
	for i := range many {
		dir := New(t, map[string]string{"main.go": mainGo, "lib.go": beast(fmt.Sprintf("Beast%d", i))})
		all = append(all, m.add(dir, wire.ProjectCreate{Slug: fmt.Sprintf("app%d", i)}))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	var mu sync.Mutex
	acked := map[*project][]string{}
	var writers, readers sync.WaitGroup
	over := make(chan struct{})
	for i, p := range all {
		writers.Go(func() {
			for n := range rounds {
				r, err := m.d.AddMemory(ctx, local(), p.slug, wire.MemoryCreate{Title: fmt.Sprintf("Note %d", n), Content: fmt.Sprintf("Number %d of %s.", n, p.slug)})
				if err != nil {
					t.Errorf("add: %v", err)
					return
				}
				mu.Lock()
				acked[p] = append(acked[p], r.ID)
				mu.Unlock()
				if _, err := m.d.GetMemory(ctx, local(), p.slug, r.ID); err != nil {
					t.Errorf("acknowledged, and not there: %v", err)
				}
			}
		})
		writers.Go(func() {
			for n := range rounds {
				if err := os.WriteFile(p.file(fmt.Sprintf("save%d.go", n)), []byte(beast(fmt.Sprintf("Save%dOf%d", n, i))), 0o644); err != nil {
					t.Error(err)
				}
				m.eventually("a save is found", func() bool {
					reply, err := m.d.Search(ctx, local(), p.slug, wire.SearchRequest{Query: fmt.Sprintf("Save%dOf%d", n, i)})
					if err != nil {
						t.Errorf("search: %v", err)
						return true
					}
					return len(reply.Results) > 0 && reply.Results[0].Metadata.FilePath == fmt.Sprintf("save%d.go", n)
				})
			}
		})
		readers.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				// What does not change is found the same by every search.
				reply, err := m.d.Search(ctx, local(), p.slug, wire.SearchRequest{Query: fmt.Sprintf("Beast%d", i)})
				if err != nil || len(reply.Results) == 0 || reply.Results[0].Metadata.FilePath != "lib.go" {
					t.Errorf("%s: found %v, %v", p.slug, reply.Results, err)
					return
				}
			}
		})
	}
	readers.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			reply, err := m.d.SearchAll(ctx, local(), wire.SearchRequest{Query: "quokka smiles", Limit: 20})
			if err != nil {
				t.Errorf("search of all: %v", err)
				return
			}
			in := map[string]bool{}
			for _, r := range reply.Results {
				in[r.Project] = true
			}
			if len(in) != many {
				t.Errorf("a search of all finds %d of %d projects", len(in), many)
				return
			}
		}
	})
	writers.Wait()
	close(over)
	readers.Wait()
	if _, peak, opened := m.d.StoresOpen(); peak > most || opened <= many {
		t.Errorf("stores of %d checkouts were open at once, want at most %d; opened %d times", peak, most, opened)
	}
	for _, p := range all {
		p.settle()
		if len(acked[p]) != rounds {
			t.Errorf("%d of %d memories were written", len(acked[p]), rounds)
		}
		for _, id := range acked[p] {
			p.committed(fold.ID(id).Path())
		}
		p.sameAfterRebuild()
	}
}

// TestWhoIsAskedAllTheTimeGivesWay: one checkout is searched by several clients at
// once, without a pause, and only one may be open: another one has its turn too.
func TestWhoIsAskedAllTheTimeGivesWay(t *testing.T) {
	t.Parallel()
	m := newMachineWith(t, t.TempDir(), func(m *machine) { m.most = 1 })
	p := m.add(New(t, map[string]string{"emu.go": beast("Emu")}), wire.ProjectCreate{Slug: "busy"})
	q := m.add(New(t, map[string]string{"quoll.go": beast("Quoll")}), wire.ProjectCreate{Slug: "calm"})
	ctx, over := m.ctx(), make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if reply, err := m.d.Search(ctx, local(), p.slug, wire.SearchRequest{Query: "emu runs"}); err != nil || len(reply.Results) == 0 {
					t.Errorf("search of the busy one: %v, %v", reply.Results, err)
					return
				}
			}
		})
	}
	for range 2 {
		if !q.found("quoll runs", "quoll.go") {
			t.Error("the calm one is not searched")
		}
	}
	close(over)
	wg.Wait()
	if _, most, _ := m.d.StoresOpen(); most > 1 {
		t.Errorf("stores of %d checkouts were open at once, want 1", most)
	}
}

// TestAnIndexDeletedAtRestIsBuiltAgain: deleting what is derived is always a valid
// recovery, also while the daemon runs.
func TestAnIndexDeletedAtRestIsBuiltAgain(t *testing.T) {
	t.Parallel()
	for _, what := range []string{".", "index.db", "text.bleve", "vectors"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := newMachineWith(t, t.TempDir(), func(m *machine) { m.rest = 50 * time.Millisecond })
			p := m.add(New(t, map[string]string{"main.go": mainGo, "emu.go": beast("Emu")}), wire.ProjectCreate{Slug: "app"})
			before := p.status()
			p.resting()
			if err := os.RemoveAll(filepath.Join(p.d.IndexDir(p.dir), what)); err != nil {
				t.Fatal(err)
			}
			p.eventually("it is found again", func() bool { return namesChunk(p, "Emu") && p.found("emu runs", "emu.go") })
			p.eventually("all is there again", func() bool {
				now := p.status()
				return now.Files == before.Files && now.Chunks == before.Chunks && now.Vectors == before.Vectors && now.Queued == 0
			})
		})
	}
}
