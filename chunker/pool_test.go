package chunker_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/google/go-cmp/cmp"
)

// TestMain runs the test binary as a worker if asked to.
func TestMain(m *testing.M) {
	switch os.Args[len(os.Args)-1] {
	case "chunk-worker":
		if err := chunker.Serve(os.Stdin, os.Stdout, misbehave); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "no-worker":
		fmt.Fprintln(os.Stderr, "I am something else")
		os.Exit(1)
	case "other-version":
		// A frame of the right form from another release.
		body := `{"Version":"0"}`
		os.Stdout.Write(append([]byte{'h', byte(len(body)), 0, 0, 0}, body...))
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	code := m.Run()
	removePlain()
	os.Exit(code)
}

// misbehave does what the content of a file asks for.
func misbehave(_ string, src []byte) {
	switch {
	case bytes.Contains(src, []byte("please crash")):
		fmt.Fprintln(os.Stderr, "assertion failed: please")
		os.Exit(134)
	case bytes.Contains(src, []byte("please panic")):
		panic("please")
	case bytes.Contains(src, []byte("please hang")):
		select {}
	case bytes.Contains(src, []byte("please lie")):
		os.Stdout.WriteString("r\xff\xff\xff\xff")
	case bytes.Contains(src, []byte("please skip")), bytes.Contains(src, []byte("please repeat")), bytes.Contains(src, []byte("please pretend")):
		answerWrongly(src)
	case bytes.Contains(src, []byte("please write")):
		os.Stdout.WriteString("r\x02\x00\x00\x00\x00\x00")
	case bytes.Contains(src, []byte("please eat")):
		var all [][]byte
		for range 64 << 10 {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4 << 10 {
				b[i] = 1
			}
			all = append(all, b)
		}
		fmt.Fprintln(os.Stderr, len(all))
	}
}

// answerWrongly sends the chunks of src with a gap, with an overlap, or with both.
func answerWrongly(src []byte) {
	r := chunker.Cut("a.go", src, chunker.Options{})
	if !bytes.Contains(src, []byte("please repeat")) {
		r.Chunks[0].EndByte -= 3
	}
	if !bytes.Contains(src, []byte("please skip")) {
		r.Chunks[len(r.Chunks)-1].EndByte += 3
	}
	answer := append([]byte{0}, r.Encode()...) // bytes resident, which are not known
	head := binary.LittleEndian.AppendUint32([]byte{'r'}, uint32(len(answer)))
	os.Stdout.Write(append(head, answer...))
}

func newPool(t *testing.T, opt chunker.PoolOptions) *chunker.Pool {
	t.Helper()
	if chunker.Engine() == "text" {
		t.Skip("built without parsers: nothing needs a worker")
	}
	if opt.Command == nil {
		opt.Command = []string{os.Args[0], "chunk-worker"}
	}
	if opt.Deadline == 0 {
		opt.Deadline = 20 * time.Second // for a busy machine; tests of the deadline set their own
	}
	p := chunker.NewPool(opt)
	t.Cleanup(p.Close)
	return p
}

func cut(t *testing.T, p *chunker.Pool, path, src string) chunker.Result {
	t.Helper()
	r, err := p.Cut(t.Context(), path, []byte(src))
	if err != nil {
		t.Fatalf("Cut(%s): %v", path, err)
	}
	checkPartition(t, path, []byte(src), r)
	return r
}

const sample = "package a\n\n// F does.\nfunc F() {\n}\n"

func TestPoolCutsAsCutDoes(t *testing.T) {
	t.Parallel() // each waits for processes
	p := newPool(t, chunker.PoolOptions{})
	for _, path := range []string{
		"testdata/go/sample.go", "testdata/rust/sample.rs", "testdata/typescript/sample.ts", "testdata/tsx/sample.tsx",
		"testdata/python/sample.py", "testdata/java/Sample.java", "testdata/c/sample.c", "testdata/cpp/sample.cpp", "testdata/markdown/sample.md",
	} {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got := cut(t, p, path, string(src))
		if diff := cmp.Diff(chunker.Cut(path, src, chunker.Options{}), got); diff != "" {
			t.Errorf("Pool.Cut(%s): -Cut +got\n%s", path, diff)
		}
	}
	if s := p.Stats(); s.Parses != 8 || s.Crashes+s.Timeouts+s.Restarts != 0 || s.Workers != 1 {
		t.Errorf("Stats() = %+v, want 8 parses by one worker", s)
	}
}

func TestPoolSurvivesCrashes(t *testing.T) {
	t.Parallel() // each waits for processes
	for _, how := range []string{"please crash", "please panic", "please lie", "please write"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			p := newPool(t, chunker.PoolOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
			bad := sample + "// " + how + "\n"
			for range 3 {
				if r := cut(t, p, "bad.go", bad); r.Strategy != "text (parser crashed)" {
					t.Errorf("Strategy = %q", r.Strategy)
				}
			}
			if r := cut(t, p, "good.go", sample); r.Strategy != "syntax" {
				t.Errorf("after a crash, Strategy of another file = %q, want syntax", r.Strategy)
			}
			s := p.Stats()
			if s.Crashes != 2 || s.Restarts != 2 || s.Parses != 3 {
				t.Errorf("Stats() = %+v, want 2 crashes, 2 restarts, 3 parses: two tries on one content", s)
			}
			if how == "please crash" && !strings.Contains(log.String(), "assertion failed") {
				t.Errorf("the log lacks what the worker wrote: %s", log.String())
			}
		})
	}
}

func TestPoolKillsHungWorker(t *testing.T) {
	t.Parallel() // each waits for processes
	p := newPool(t, chunker.PoolOptions{Deadline: time.Second})
	bad := sample + "// please hang\n"
	for i, want := range []string{"text (parser timed out)", "text (parser timed out)", "text (parser crashed)"} {
		if r := cut(t, p, "bad.go", bad); r.Strategy != want {
			t.Errorf("try %d: Strategy = %q, want %q", i, r.Strategy, want)
		}
	}
	if s := p.Stats(); s.Timeouts != 2 || s.Crashes != 0 {
		t.Errorf("Stats() = %+v, want 2 timeouts", s)
	}
}

func TestPoolCapsMemory(t *testing.T) {
	if !limited {
		t.Skip("this system has no such cap")
	}
	p := newPool(t, chunker.PoolOptions{MemoryCap: 768 << 20})
	if r := cut(t, p, "bad.go", sample+"// please eat\n"); r.Strategy != "text (parser crashed)" {
		t.Errorf("Strategy = %q", r.Strategy)
	}
}

func TestPoolReplacesGrownWorker(t *testing.T) {
	t.Parallel() // each waits for processes
	if !limited {
		t.Skip("the size of a worker is not known on this system")
	}
	p := newPool(t, chunker.PoolOptions{MaxResident: 1})
	for range 3 {
		cut(t, p, "a.go", sample)
	}
	if s := p.Stats(); s.Restarts != 3 || s.Crashes != 0 || s.Workers != 0 {
		t.Errorf("Stats() = %+v, want a new worker for each file", s)
	}
}

func TestPoolStopsWhenIdle(t *testing.T) {
	t.Parallel() // each waits for processes
	p := newPool(t, chunker.PoolOptions{Idle: time.Millisecond})
	cut(t, p, "a.go", sample)
	for deadline := time.Now().Add(10 * time.Second); p.Stats().Workers > 0; {
		if time.Now().After(deadline) {
			t.Fatal("an idle worker lives on")
		}
		runtime.Gosched()
	}
}

func TestPoolIsConcurrent(t *testing.T) {
	t.Parallel() // each waits for processes
	p := newPool(t, chunker.PoolOptions{Workers: 3})
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			src := fmt.Sprintf("%s\nvar x%d = 1\n", sample, i)
			if i%10 == 0 {
				src += "// please crash\n"
			}
			r, err := p.Cut(t.Context(), "a.go", []byte(src))
			if err != nil || len(r.Chunks) == 0 {
				t.Errorf("Cut: %v, %d chunks", err, len(r.Chunks))
			}
		})
	}
	wg.Wait()
	if s := p.Stats(); s.Crashes != 12 || s.Workers > 3 {
		t.Errorf("Stats() = %+v, want 12 crashes and at most 3 workers", s)
	}
}

func TestPoolErrors(t *testing.T) {
	t.Parallel() // each waits for processes
	for _, command := range [][]string{{"/does/not/exist"}, {os.Args[0], "no-worker"}, {os.Args[0], "other-version"}} {
		p := newPool(t, chunker.PoolOptions{Command: command})
		if _, err := p.Cut(t.Context(), "a.go", []byte(sample)); !errors.Is(err, fold.ErrUnavailable) {
			t.Errorf("Cut with %q: %v, want ErrUnavailable", command, err)
		}
		if s := p.Stats(); s.Workers != 0 {
			t.Errorf("Stats() = %+v, want no worker", s)
		}
	}
	p := newPool(t, chunker.PoolOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Cut(ctx, "a.go", []byte(sample)); !errors.Is(err, context.Canceled) {
		t.Errorf("Cut with a cancelled context: %v", err)
	}
	p.Close()
	if _, err := p.Cut(t.Context(), "a.go", []byte(sample)); !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("Cut after Close: %v, want ErrUnavailable", err)
	}
}

func TestPoolCancelWhileBusy(t *testing.T) {
	t.Parallel() // each waits for processes
	p := newPool(t, chunker.PoolOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := p.Cut(ctx, "a.go", []byte(sample+"// please hang\n")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Cut: %v, want the error of the context", err)
	}
	if s := p.Stats(); s.Crashes+s.Timeouts != 0 || s.Workers != 0 {
		t.Errorf("Stats() = %+v: the file is not to blame", s)
	}
}

func TestServeWorkerRefusesNonsense(t *testing.T) {
	for _, in := range []string{"GET / HTTP/1.1\r\n\r\n", "h\xff\xff\xff\x7f", "h\x02\x00\x00\x00{}", "h\x05\x00"} {
		if err := chunker.ServeWorker(strings.NewReader(in), io.Discard); err == nil {
			t.Errorf("ServeWorker(%q) = nil, want an error", in)
		}
	}
}
