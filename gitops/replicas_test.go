package gitops_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/testdata/fulltest"
)

// TestTenReplicas: ten replicas write, edit, delete, restart and sync at random, some
// of them without publishing for long. When they stop, all are the same to the byte
// in three rounds at most (I6), and every token that was ever acknowledged is in a
// file or in somebody's journal (I1).
func TestTenReplicas(t *testing.T) {
	t.Parallel()
	trials, steps := 1, 60
	if fulltest.Crash() {
		trials, steps = 6, 400
	}
	for trial := range trials {
		t.Run(fmt.Sprint(trial), func(t *testing.T) {
			t.Parallel()
			tenReplicas(t, rand.New(rand.NewPCG(11, uint64(trial))), steps)
		})
	}
}

func tenReplicas(t *testing.T, rng *rand.Rand, steps int) {
	remote := bareRemote(t)
	rs := make([]*replica, 10)
	for i := range rs {
		rs[i] = newReplica(t, remote, nil)
	}
	var tokens []string
	syncs := 0
	for step := range steps {
		r := rs[rng.IntN(len(rs))]
		// Few titles, so that several begin the same memory by themselves.
		id, text := memoryFile(fmt.Sprintf("Memory %d", rng.IntN(8)), fmt.Sprintf("first\n\ntoken%04d\n\nlast", step))
		token, have := fmt.Sprintf("token%04d", step), r.read(id.Path())
		switch k := rng.IntN(20); {
		case k < 3:
			must(t, r.s.Close())
			r.s = openStore(t, r.dir, nil)
		case k < 8:
			r.opt.Publish = rng.IntN(3) > 0
			r.sync()
			r.opt.Publish = true
			syncs++
		case have == "":
			r.put(id, text)
			tokens = append(tokens, token)
		case k < 10:
			r.put(id, nil)
		default:
			if at := []string{"first\n", "last\n"}[rng.IntN(2)]; strings.Contains(have, at) {
				r.put(id, edited(have, at, at+token+"\n"))
				tokens = append(tokens, token)
			}
		}
	}
	converge(t, rs...)
	linear(t, remote)
	for _, token := range tokens {
		if !anywhere(t, rs, token) {
			t.Errorf("%s is nowhere", token)
		}
	}
	if len(tokens) < steps/4 || syncs < steps/10 {
		t.Errorf("only %d writes and %d syncs", len(tokens), syncs)
	}
	t.Logf("10 replicas: steps=%d writes=%d syncs=%d files=%d", steps, len(tokens), syncs, len(rs[0].files()))
}
