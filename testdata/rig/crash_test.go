//go:build accept

package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
	began := time.Now()
	faults := crashFirstIndex(t, newMachine(t), crashes, 0)
	for _, f := range faults {
		t.Error(f)
	}
	t.Logf("crash of the first index: n=%d bad=%d secs=%.0f", crashes, len(faults), time.Since(began).Seconds())
}

// crashFirstIndex kills n first indexes, or, if until is not 0, as many as it
// takes to find that many faults. It returns what then differs from an
// undisturbed one.
func crashFirstIndex(t *testing.T, m *machine, n, until int) (faults []string) {
	t.Helper()
	c := m.someSource("encoding", 250)
	began := time.Now()
	cl, _ := m.serve()
	m.run(c.dir, "add", ".", "--slug", "gosrc", "--file-memories", "fold")
	want := outcomeOf(t, m, cl, c, "gosrc")
	whole := time.Since(began)
	m.stop()

	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range n {
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
			faults = append(faults, fmt.Sprintf("crash %d after %.0f ms: %s", i, ms(after), diff))
		}
		m.stop()
		if until > 0 && len(faults) >= until {
			break
		}
	}
	return faults
}

// TestCrashWriters: kill -9 under 8 concurrent writers; every acknowledged
// memory is there afterwards, with its bytes, and is found (F01, F03).
func TestCrashWriters(t *testing.T) {
	began := time.Now()
	acknowledged, faults := crashWriters(t, newMachine(t), crashes)
	for _, f := range faults {
		t.Error(f)
	}
	t.Logf("crash under 8 writers: n=%d acknowledged=%d bad=%d secs=%.0f", crashes, acknowledged, len(faults), time.Since(began).Seconds())
}

// told is a memory that was acknowledged.
type told struct{ id, text string }

// crashWriters kills the daemon n times under 8 writers. It returns how many
// memories were acknowledged, and what became of them that should not have.
func crashWriters(t *testing.T, m *machine, n int) (count int, faults []string) {
	t.Helper()
	c := m.someSource("container", 20)
	cl, proc := m.serve()
	m.run(c.dir, "add", ".", "--slug", "gosrc")
	m.quiet(cl, "gosrc")
	bad := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }

	acknowledged := map[string]told{}
	rnd := rand.New(rand.NewPCG(5, 6))
	for i := range n {
		ctx, cancel := context.WithCancel(t.Context())
		written := writers(ctx, t, cl, i)
		<-time.After(time.Duration(50+rnd.IntN(700)) * time.Millisecond)
		if err := proc.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = proc.Wait()
		cancel()
		maps.Copy(acknowledged, written())
		cl, proc = m.serve()
		m.quiet(cl, "gosrc")
		for token, want := range acknowledged {
			got, err := cl.GetMemory(t.Context(), "gosrc", want.id)
			if err != nil || got.Title != token || !strings.Contains(got.Content, strings.TrimSpace(want.text)) {
				bad("crash %d: %s (%s) is lost or differs: %v", i, token, want.id, err)
				delete(acknowledged, token) // told once
			}
		}
		out := m.git(c.dir, "--git-dir="+filepath.Join(c.dir, ".git", "foldwatch", "repo.git"), "fsck", "--no-dangling", "--no-progress")
		// The branch for publishing is made by the first daily commit.
		if out = strings.ReplaceAll(out, "notice: HEAD points to an unborn branch (foldwatch)\n", ""); out != "" {
			bad("crash %d: git fsck of the sidecar says %s", i, out)
		}
	}
	// Search finds them too: a sample, since each costs a round trip.
	tokens := slices.Sorted(maps.Keys(acknowledged))
	for n := range min(100, len(tokens)) {
		token := tokens[n*len(tokens)/min(100, len(tokens))]
		r, err := cl.Search(t.Context(), "gosrc", wire.SearchRequest{Query: token, Limit: 1, WaitForPending: true})
		if err != nil || len(r.Results) == 0 || r.Results[0].ID != acknowledged[token].id {
			bad("search %s does not find it: %v %v", token, pathsOf(r), err)
		}
	}
	return len(acknowledged), faults
}

// writers has 8 clients add memories until the daemon is gone; the function it
// returns waits for them and tells what was acknowledged.
func writers(ctx context.Context, t *testing.T, cl *client.Client, round int) func() map[string]told {
	t.Helper()
	var mu sync.Mutex
	acknowledged := map[string]told{}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				token := fmt.Sprintf("kx%dw%dn%d", round, w, n)
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
	return func() map[string]told { wg.Wait(); return acknowledged }
}

// TestCrashRigs: a rig that finds nothing must be able to find something. Each
// is run against a program with one fault in it.
func TestCrashRigs(t *testing.T) {
	t.Run("writers", func(t *testing.T) {
		// Acknowledged before it is in the log or in its file.
		m := newMachine(t)
		m.bin = m.seeded("acknowledged too early")
		if _, faults := crashWriters(t, m, 3); len(faults) == 0 {
			t.Error("memories that were acknowledged too early are not missed")
		} else {
			t.Logf("found %d faults, such as: %s", len(faults), faults[0])
		}
	})
	t.Run("sync", func(t *testing.T) {
		// Our branch moves before the working files, and what it takes is made longer: what
		// is not there yet is then deleted for all.
		bin := newMachine(t).seeded("branch ahead of the files")
		if _, faults := crashSync(t, bin, crashes, 1); len(faults) == 0 {
			t.Error("a branch that a crash leaves ahead of the files is not missed")
		} else {
			t.Logf("found %d faults, such as: %s", len(faults), faults[0])
		}
	})
	t.Run("first index", func(t *testing.T) {
		// What the text index missed is not fed to it again.
		m := newMachine(t)
		m.bin = m.seeded("words that are not fed again")
		if faults := crashFirstIndex(t, m, crashes, 1); len(faults) == 0 {
			t.Error("words that a crash lost are not missed")
		} else {
			t.Logf("found %d faults, such as: %s", len(faults), faults[0])
		}
	})
}

// seeded builds the program with the seed of that name.
func (m *machine) seeded(name string) string {
	m.t.Helper()
	s, ok := seeds()[name]
	if !ok {
		m.t.Fatalf("there is no seed %q", name)
	}
	return m.altered(map[string][]string{s.file: s.changes})
}

// altered is seeded for several files.
func (m *machine) altered(changes map[string][]string) string {
	m.t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		m.t.Fatal(err)
	}
	dir := m.t.TempDir()
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for file, pairs := range changes {
		b, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			m.t.Fatal(err)
		}
		text, err := alter(string(b), pairs)
		if err != nil {
			m.t.Fatalf("%s %v", file, err)
		}
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		m.write(to, text)
		overlay.Replace[filepath.Join(root, file)] = to
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		m.t.Fatal(err)
	}
	m.write(filepath.Join(dir, "overlay.json"), string(list))
	bin := filepath.Join(dir, "foldwatch")
	build := exec.CommandContext(m.t.Context(), "go", "build", "-mod=readonly", "-overlay", filepath.Join(dir, "overlay.json"), "-o", bin, "./cmd/foldwatch")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		m.t.Fatalf("build an altered program: %v\n%s", err, out)
	}
	return bin
}
