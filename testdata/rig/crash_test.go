//go:build accept

package rig

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/wire"
)

// crashes is how many times each of the tests below kills the daemon.
const crashes = 30

// outcome is what an index answers, as far as two runs must agree.
type outcome struct {
	status [4]int // memories, chunks, links, files
	top    map[string][]string
	fold   []string // files below fold/
}

func outcomeOf(t *testing.T, m *machine, cl *client.Client, c corpus, slug string) outcome {
	t.Helper()
	st := m.quiet(cl, slug)
	o := outcome{status: [4]int{st.Memories, st.Chunks, st.Links, st.Files.Indexed}, top: topTen(t, cl, queries(40))}
	for p := range treeOf(t, filepath.Join(c.dir, "fold")) {
		o.fold = append(o.fold, p)
	}
	slices.Sort(o.fold)
	return o
}

// compare returns what differs between an outcome and the undisturbed one.
func (o outcome) compare(want outcome) string {
	switch {
	case o.status != want.status:
		return fmt.Sprintf("memories, chunks, links, files = %v, undisturbed %v", o.status, want.status)
	case !slices.Equal(o.fold, want.fold):
		return fmt.Sprintf("fold/ holds %d files, undisturbed %d", len(o.fold), len(want.fold))
	}
	for _, q := range slices.Sorted(maps.Keys(want.top)) {
		if !slices.Equal(o.top[q], want.top[q]) {
			return fmt.Sprintf("%q finds %v, undisturbed %v", q, o.top[q], want.top[q])
		}
	}
	return ""
}

// TestCrashFirstIndex: kill -9 at random moments of the first index; the next
// start ends where an undisturbed one does (F02).
func TestCrashFirstIndex(t *testing.T) {
	m := newMachine(t)
	c := m.someSource("encoding", 250)
	began := time.Now()
	cl, _ := m.serve()
	m.run(c.dir, "add", ".", "--slug", "gosrc", "--file-memories", "fold")
	want := outcomeOf(t, m, cl, c, "gosrc")
	whole := time.Since(began)
	m.stop()

	rnd := rand.New(rand.NewPCG(3, 4))
	bad := 0
	for i := range crashes {
		for _, dir := range []string{filepath.Join(m.home, "fw"), filepath.Join(c.dir, "fold"), filepath.Join(c.dir, ".git", "foldwatch")} {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		cl, proc := m.serve()
		var add sync.WaitGroup
		add.Go(func() {
			// It fails where the crash comes first.
			_, _ = cl.AddProject(context.Background(), wire.ProjectCreate{Path: c.dir, Slug: "gosrc", FileMemories: "fold"})
		})
		after := time.Duration(rnd.Int64N(int64(whole)))
		<-time.After(after)
		if err := proc.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = proc.Wait() // killed, as we asked
		add.Wait()
		cl, _ = m.serve()
		m.run(c.dir, "add", ".", "--slug", "gosrc", "--file-memories", "fold")
		if diff := outcomeOf(t, m, cl, c, "gosrc").compare(want); diff != "" {
			bad++
			t.Errorf("crash %d after %.0f ms: %s", i, ms(after), diff)
		}
		m.stop()
	}
	t.Logf("crash of the first index: n=%d bad=%d secs=%.0f", crashes, bad, time.Since(began).Seconds())
}

// TestCrashWriters: kill -9 under 8 concurrent writers; every acknowledged
// memory is there afterwards, with its bytes, and is found (F01, F03).
func TestCrashWriters(t *testing.T) {
	m := newMachine(t)
	c := m.someSource("container", 20)
	began := time.Now()
	cl, proc := m.serve()
	m.run(c.dir, "add", ".", "--slug", "gosrc")
	m.quiet(cl, "gosrc")

	type told struct{ id, text string }
	var mu sync.Mutex
	acknowledged := map[string]told{}
	rnd := rand.New(rand.NewPCG(5, 6))
	bad := 0
	for i := range crashes {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					token := fmt.Sprintf("kx%dw%dn%d", i, w, n)
					text := "Token " + token + " was written before the crash.\n"
					r, err := cl.AddMemory(ctx, "gosrc", wire.MemoryCreate{Content: text, Title: token})
					if err != nil {
						return
					}
					if !r.Durable {
						t.Errorf("%s is acknowledged but not durable", token)
					}
					mu.Lock()
					acknowledged[token] = told{r.ID, text}
					mu.Unlock()
				}
			})
		}
		<-time.After(time.Duration(50+rnd.IntN(700)) * time.Millisecond)
		if err := proc.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = proc.Wait()
		cancel()
		wg.Wait()
		cl, proc = m.serve()
		m.quiet(cl, "gosrc")
		for token, want := range acknowledged {
			got, err := cl.GetMemory(t.Context(), "gosrc", want.id)
			if err != nil || got.Title != token {
				bad++
				t.Errorf("crash %d: %s (%s) is lost: %v", i, token, want.id, err)
				delete(acknowledged, token) // told once
			}
		}
		out := m.git(c.dir, "--git-dir="+filepath.Join(c.dir, ".git", "foldwatch", "repo.git"), "fsck", "--no-dangling", "--no-progress")
		if out != "" {
			bad++
			t.Errorf("crash %d: git fsck of the sidecar says %s", i, out)
		}
	}
	// Search finds them too: a sample, since each costs a round trip.
	tokens := slices.Sorted(maps.Keys(acknowledged))
	for n := range min(100, len(tokens)) {
		token := tokens[n*len(tokens)/min(100, len(tokens))]
		r, err := cl.Search(t.Context(), "gosrc", wire.SearchRequest{Query: token, Limit: 1, WaitForPending: true})
		if err != nil || len(r.Results) == 0 || r.Results[0].ID != acknowledged[token].id {
			bad++
			t.Errorf("search %s does not find it: %v %v", token, pathsOf(r), err)
		}
	}
	t.Logf("crash under 8 writers: n=%d acknowledged=%d bad=%d secs=%.0f", crashes, len(acknowledged), bad, time.Since(began).Seconds())
}
