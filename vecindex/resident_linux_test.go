package vecindex

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// TestOriginalsAreNotKeptInMemory: what the queries of a check read of the file of
// originals is given back.
func TestOriginalsAreNotKeptInMemory(t *testing.T) {
	const dim = 128
	n := fulltest.Pick(10_000, 40_000)
	x := open(t, dim)
	put(t, x, 0, clusters(rand.New(rand.NewPCG(71, 71)), n, dim))
	name := originalsName(x.state.table.generation)
	if _, err := check(t.Context(), x.state, nil, 0); err != nil {
		t.Fatal(err)
	}
	if kb := residentKB(t, name); kb > 1024 {
		t.Errorf("%d KB of %d KB of originals are resident after measuring", kb, n*(2*dim+sumBytes)/1024)
	}
	for _, v := range x.state.sample(2000) { // the test sees what is resident
		x.Search(v, 10, nil)
	}
	if kb := residentKB(t, name); kb < 1024 {
		t.Errorf("after 2,000 searches %d KB are resident: nothing is mapped", kb)
	}
}

// residentKB is how much of a mapped file this process holds.
func residentKB(t *testing.T, name string) (sum int) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	ours := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if first, _, _ := strings.Cut(line, " "); strings.Contains(first, "-") {
			ours = strings.HasSuffix(line, name)
		}
		var kb int
		if _, err := fmt.Sscanf(line, "Rss: %d kB", &kb); err == nil && ours {
			sum += kb
		}
	}
	return sum
}
