package vecindex

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// What the child of TestKilledWhileItWrites does at a step: it puts killPut
// vectors, and drops those of killLive steps before, so that it compacts now and
// then. What is there after a step follows from its number alone.
const (
	killDir  = "FOLDWATCH_VECINDEX_CHILD"
	killDim  = 16
	killPut  = 60
	killLive = 10
)

func killKey(step int64, i int) string { return fmt.Sprintf("c:%05d-%02d", step, i) }

func killStep(step int64) (put []Vec, drop []string) {
	r := rand.New(rand.NewPCG(91, uint64(step)))
	for i := range killPut {
		v, square := make([]float32, killDim), 0.0
		for d := range v {
			v[d] = float32(r.NormFloat64())
			square += float64(v[d]) * float64(v[d])
		}
		for d := range v {
			v[d] /= float32(math.Sqrt(square))
		}
		put = append(put, Vec{Key: killKey(step, i), Memory: fold.ID(fmt.Sprint(step)), V: v})
		if step > killLive {
			drop = append(drop, killKey(step-killLive, i))
		}
	}
	return put, drop
}

// TestKillChild is the other side of TestKilledWhileItWrites: it writes until it
// is killed.
func TestKillChild(t *testing.T) {
	dir := os.Getenv(killDir)
	if dir == "" {
		t.Skip("runs as a child process only")
	}
	x, err := Open(dir, "test", killDim)
	if err != nil || x.Rebuilt != "" {
		t.Fatal(x, err)
	}
	x.Serve(Graph, nil)
	for step := x.Seq() + 1; ; step++ {
		put, drop := killStep(step)
		if err := x.Apply(step, put, drop); err != nil {
			t.Fatal(err)
		}
		if step%3 == 0 {
			if err := x.Snapshot(); err != nil {
				t.Fatal(err)
			}
			fmt.Println("written", step)
		}
	}
}

// TestKilledWhileItWrites ends a writing process at once, some times over: what is
// opened then is whole, and no older than what was said to be written.
func TestKilledWhileItWrites(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "vectors")
	for _, lines := range []int{1, 2, 5, fulltest.Pick(8, 12), fulltest.Pick(3, 30)} {
		child := exec.CommandContext(t.Context(), exe, "-test.run", "^TestKillChild$")
		child.Env = append(os.Environ(), killDir+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		written, n := int64(0), 0
		for sc := bufio.NewScanner(out); n < lines && sc.Scan(); n++ {
			if _, err := fmt.Sscanf(sc.Text(), "written %d", &written); err != nil {
				t.Fatalf("child said %q", sc.Text())
			}
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait()
		x, err := Open(dir, "test", killDim)
		if err != nil {
			t.Fatal(err)
		}
		seq := x.Seq()
		if x.Rebuilt != "" || seq < written {
			t.Fatalf("killed after step %d: %q, seq %d", written, x.Rebuilt, seq)
		}
		x.Serve(Graph, nil)
		if err := x.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		live := 0
		for step := max(1, seq-killLive+1); step <= seq; step++ {
			put, _ := killStep(step)
			for _, v := range put {
				live++
				if hits := x.Search(v.V, 1, nil); len(hits) != 1 || hits[0].Key != v.Key || math.Abs(hits[0].Score-1) > 2e-3 {
					t.Fatalf("seq %d: nearest to %s is %v", seq, v.Key, hits)
				}
			}
		}
		r := x.Report()
		if x.Len() != live || r.Engine != Graph || r.Recall < minRecall || x.state.damaged.Load() {
			t.Errorf("seq %d: %d vectors, want %d; %+v", seq, x.Len(), live, r)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
