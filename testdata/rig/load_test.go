//go:build accept

package rig

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/api/wire"
)

// Who asks at once, and how much there is to find.
const (
	loadMemories  = 10_000
	loadSearchers = 48
	loadWriters   = 12
	loadStreams   = 4
	loadIdle      = 1000
	loadSlow      = 200
)

// loadTime is how long each load lasts: LOAD_SECONDS, 30 by default.
func loadTime() time.Duration {
	if n, err := strconv.Atoi(os.Getenv("LOAD_SECONDS")); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	return 30 * time.Second
}

// TestLoadClients has 64 clients ask and write without a pause, alone and beside
// others that do nothing, or do it slowly, and alone again: beside them it may take
// twice as long as without, on average of before and after.
func TestLoadClients(t *testing.T) {
	m := newMachine(t)
	c := m.withMemories("load", loadMemories)
	cl, proc := m.serve()
	m.run(c.dir, "add", ".")
	m.run(c.dir, "index", "--wait")
	m.quiet(cl, "load")
	vectorsOf(t, cl, "load")
	if st := m.quiet(cl, "load"); st.Memories < loadMemories {
		t.Fatalf("%d memories", st.Memories)
	}
	table := &figures{}
	defer table.print(t, fmt.Sprintf("load, %d clients for %s at %d memories", loadSearchers+loadWriters+loadStreams, loadTime(), loadMemories))
	began := usageOf(proc.Process.Pid)
	alone := m.underLoad(t, "load")
	alone.judge(t, table, "")
	table.clock(t, "search, p99", alone.searches.at(.99), 100*time.Millisecond, alone.others)
	table.clock(t, "durable write, p99", alone.writes.at(.99), 250*time.Millisecond, alone.others)
	before := usageOf(proc.Process.Pid)
	table.note("processor time of the daemon for each search, writes included", fmt.Sprintf("%.1f ms", 1000*(before.cpu-began.cpu)/float64(max(len(alone.searches), 1))), "-", "reported")
	leave := m.bystanders(t)
	beside := m.underLoad(t, "load")
	after := usageOf(proc.Process.Pid)
	leave()
	// What was written meanwhile is searched too: with the bystanders there were more
	// memories than before, and less than now.
	again := m.underLoad(t, "load")
	again.judge(t, table, ", alone again")
	twice := func(times func(*crowd) spread) time.Duration { return times(alone).at(.99) + times(again).at(.99) }
	others := max(alone.others, beside.others, again.others)
	what := fmt.Sprintf(", beside %d idle and %d slow", loadIdle, loadSlow)
	beside.judge(t, table, what)
	table.clock(t, "search, p99"+what, beside.searches.at(.99), twice(func(c *crowd) spread { return c.searches }), others)
	table.clock(t, "durable write, p99"+what, beside.writes.at(.99), twice(func(c *crowd) spread { return c.writes }), others)
	table.note("memory of the daemon, before and with them", fmt.Sprintf("%.0f MB, %.0f MB", mb(before.rss), mb(after.rss)), "-", "reported")
}

// A crowd is what clients measured.
type crowd struct {
	mu               sync.Mutex // guards the fields up to events
	searches, writes spread
	failures         []error
	events           atomic.Int64
	written          atomic.Int64
	others           float64 // cores that other programs used
}

func (c *crowd) judge(t *testing.T, table *figures, what string) {
	t.Helper()
	for i, err := range c.failures {
		if i < 5 {
			t.Logf("failure: %v", err)
		}
	}
	table.add(t, len(c.failures) == 0, "failures"+what, fmt.Sprint(len(c.failures)), "0")
	table.note("searches"+what, c.searches.String(), "-", "reported")
	table.note("durable writes"+what, c.writes.String(), "-", "reported")
	told := c.events.Load()
	table.add(t, told >= loadStreams*c.written.Load(), "events heard"+what, fmt.Sprint(told), fmt.Sprintf(">= %d", loadStreams*c.written.Load()))
}

func (c *crowd) note(times *spread, took time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.failures = append(c.failures, err)
		return
	}
	*times = append(*times, took)
}

// underLoad runs all clients for loadTime.
func (m *machine) underLoad(t *testing.T, slug string) *crowd {
	t.Helper()
	c, look := &crowd{}, watchOthers()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var streams, work sync.WaitGroup
	var listening sync.WaitGroup
	listening.Add(loadStreams)
	for range loadStreams {
		streams.Go(func() {
			err := client.New(m.socket()).Events(ctx, 0, listening.Done, func(e wire.Event) error {
				if e.Type == "memory:changed" {
					ids, _ := e.Data["ids"].([]any)
					c.events.Add(int64(len(ids)))
				}
				return nil
			})
			if err != nil || ctx.Err() == nil {
				c.note(nil, 0, fmt.Errorf("a stream ended: %v", err)) //nolint:errorlint // nil is a failure too
			}
		})
	}
	listening.Wait()
	vocabulary := words(rand.New(rand.NewPCG(31, 0)), 20_000) // of generateFold
	asked := strings.Fields(strings.Join(queries(200), " "))
	end := time.Now().Add(loadTime())
	each := func(n int, one func(cl *client.Client, rnd *rand.Rand) (*spread, error)) {
		for i := range n {
			work.Go(func() {
				cl, rnd := client.New(m.socket()), rand.New(rand.NewPCG(41, uint64(i)))
				for time.Now().Before(end) {
					began := time.Now()
					times, err := one(cl, rnd)
					c.note(times, time.Since(began), err)
				}
			})
		}
	}
	each(loadSearchers, func(cl *client.Client, rnd *rand.Rand) (*spread, error) {
		// Hardly ever the same twice: what was answered before is no help.
		q := asked[rnd.IntN(len(asked))]
		for range 1 + rnd.IntN(3) {
			q += " " + asked[rnd.IntN(len(asked))]
		}
		if rnd.IntN(2) == 0 {
			q = vocabulary[rnd.IntN(len(vocabulary))] + " " + vocabulary[rnd.IntN(len(vocabulary))]
		}
		_, err := cl.Search(ctx, slug, wire.SearchRequest{Query: q})
		return &c.searches, err
	})
	each(loadWriters, func(cl *client.Client, rnd *rand.Rand) (*spread, error) {
		text := fmt.Sprintf("# What was decided at %d\n\n%s comes before %s.", time.Now().UnixNano(), vocabulary[rnd.IntN(len(vocabulary))], newWord(rnd))
		r, err := cl.AddMemory(ctx, slug, wire.MemoryCreate{Content: text, Type: "decision"})
		if err == nil && !r.Durable {
			err = fmt.Errorf("memory %s is not durable", r.ID)
		}
		if err == nil {
			c.written.Add(1)
		}
		return &c.writes, err
	})
	work.Wait()
	c.others = look.others()
	eventually(20*time.Second, 50*time.Millisecond, func() bool { return c.events.Load() >= loadStreams*c.written.Load() })
	cancel()
	streams.Wait()
	return c
}

// bystanders connect and do nothing, or send a byte at a time, a header or a body
// that never ends, again and again, until the returned function is called.
func (m *machine) bystanders(t *testing.T) (leave func()) {
	t.Helper()
	var idle []net.Conn
	for i := range loadIdle {
		conn, err := sock.Dial(t.Context(), m.socket())
		if err != nil {
			t.Fatalf("idle client %d: %v", i, err)
		}
		idle = append(idle, conn)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var slow sync.WaitGroup
	for i := range loadSlow {
		head := "GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: "
		if i%2 == 0 {
			head = "POST /api/search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
		}
		slow.Go(func() {
			for ctx.Err() == nil {
				drip(ctx, m.socket(), head)
			}
		})
	}
	return func() {
		cancel()
		slow.Wait()
		for _, conn := range idle {
			_ = conn.Close()
		}
	}
}

// drip sends head and then a byte every 100 ms, until the other side has enough.
func drip(ctx context.Context, socket, head string) {
	conn, err := sock.Dial(ctx, socket)
	if err != nil {
		return
	}
	defer conn.Close()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for _, err = io.WriteString(conn, head); err == nil; _, err = io.WriteString(conn, "x") {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// TestLoadRigs shows that the rig sees failures: a daemon that dies under load is
// not one of 0 failures.
func TestLoadRigs(t *testing.T) {
	t.Setenv("LOAD_SECONDS", "2")
	m := newMachine(t)
	c := m.withMemories("load", 50)
	_, proc := m.serve()
	m.run(c.dir, "add", ".")
	m.run(c.dir, "index", "--wait")
	killed := time.AfterFunc(time.Second, func() { _ = proc.Process.Kill() })
	defer killed.Stop()
	crowd := m.underLoad(t, "load")
	_ = proc.Wait()
	if len(crowd.failures) < loadStreams+loadSearchers {
		t.Errorf("the daemon was killed, and %d clients noticed", len(crowd.failures))
	}
	_ = os.Remove(filepath.Join(m.home, "fw", "state", "socket"))
}
