package chunker_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/chunker"
	"github.com/foldwatch/foldwatch/meta/fold"
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
	case bytes.Contains(src, []byte("please hang")):
		select {}
	case bytes.Contains(src, []byte("please skip")), bytes.Contains(src, []byte("please repeat")), bytes.Contains(src, []byte("please pretend")):
		answerWrongly(src)
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

func newPool(t *testing.T, opt chunker.PoolOptions, cut chunker.Options) *chunker.Pool {
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
	p := chunker.NewPool(opt, cut)
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
	p := newPool(t, chunker.PoolOptions{}, chunker.Options{})
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

// What becomes of the process, the tests of package worker show.
func TestPoolCutsAsTextWhatCrashes(t *testing.T) {
	t.Parallel() // each waits for processes
	p := newPool(t, chunker.PoolOptions{}, chunker.Options{})
	bad := sample + "// please crash\n"
	for range 3 {
		if r := cut(t, p, "bad.go", bad); r.Strategy != "text (parser crashed)" || r.Provisional() {
			t.Errorf("Strategy = %q, Provisional %v", r.Strategy, r.Provisional())
		}
	}
	if r := cut(t, p, "good.go", sample); r.Strategy != "syntax" {
		t.Errorf("after a crash, Strategy of another file = %q, want syntax", r.Strategy)
	}
	if r := cut(t, p, "bad.js", bad); r.Strategy != "text (parser crashed)" || p.Stats().Crashes != 4 {
		t.Errorf("the same bytes in another language: %q, %+v, want two tries more", r.Strategy, p.Stats())
	}
	p.ForgetFailures()
	if cut(t, p, "bad.go", bad); p.Stats().Crashes != 6 {
		t.Errorf("Stats() after Forgive = %+v, want two tries more", p.Stats())
	}
}

func TestPoolCutsAsTextWhatHangs(t *testing.T) {
	t.Parallel() // each waits for processes
	p := newPool(t, chunker.PoolOptions{Deadline: time.Second}, chunker.Options{})
	bad := sample + "// please hang\n"
	for i, want := range []string{"text (parser timed out)", "text (parser timed out)", "text (parser crashed)"} {
		if r := cut(t, p, "bad.go", bad); r.Strategy != want || r.Provisional() != (i < 2) {
			t.Errorf("try %d: Strategy = %q, Provisional %v, want %q", i, r.Strategy, r.Provisional(), want)
		}
	}
	if s := p.Stats(); s.Timeouts != 2 || s.Crashes != 0 {
		t.Errorf("Stats() = %+v, want 2 timeouts", s)
	}
}

func TestPoolErrors(t *testing.T) {
	t.Parallel() // each waits for processes
	p := newPool(t, chunker.PoolOptions{Command: []string{"/does/not/exist"}}, chunker.Options{})
	if _, err := p.Cut(t.Context(), "a.go", []byte(sample)); !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("Cut without an executable: %v, want ErrUnavailable", err)
	}
	p = newPool(t, chunker.PoolOptions{}, chunker.Options{})
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

// A request that is none ends the worker, and nothing else.
func TestServeWorkerRefusesNonsense(t *testing.T) {
	hello := fmt.Sprintf(`{"Version":"2/%s"}`, chunker.Version)
	hello = string([]byte{'h', byte(len(hello)), 0, 0, 0}) + hello
	for _, work := range []string{"", "\xff\xff\xff\xff\x7f", "\x09a.go", "\x04a.go\x05\x05"} {
		in := hello + string([]byte{'w', byte(len(work)), 0, 0, 0}) + work
		if err := chunker.ServeWorker(strings.NewReader(in), io.Discard); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("ServeWorker of the request %q = %v, want an error that says it is damaged", work, err)
		}
	}
}
