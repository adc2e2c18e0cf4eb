package worker_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/chunker/worker"
	"github.com/foldwatch/foldwatch/meta/fold"
)

const version = "test"

// TestMain runs the test binary as a worker if asked to.
func TestMain(m *testing.M) {
	switch os.Args[len(os.Args)-1] {
	case "worker":
		if err := worker.Serve(os.Stdin, os.Stdout, version, answer); err != nil {
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
	os.Exit(m.Run())
}

// answer returns the request in capitals, or does what it asks for.
func answer(request []byte) ([]byte, error) {
	switch how := string(request); {
	case strings.HasPrefix(how, "please crash"):
		fmt.Fprintln(os.Stderr, "assertion failed: please")
		os.Exit(134)
	case how == "please panic":
		panic("please")
	case how == "please fail":
		return nil, errors.New("as you like")
	case how == "please hang":
		select {}
	case how == "please lie":
		os.Stdout.WriteString("r\xff\xff\xff\xff")
	case how == "please write":
		os.Stdout.WriteString("r\x02\x00\x00\x00\x00\x00")
	case how == "please eat":
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
	return bytes.ToUpper(request), nil
}

func newPool(t *testing.T, opt worker.Options) *worker.Pool {
	t.Helper()
	if opt.Command == nil {
		opt.Command = []string{os.Args[0], "worker"}
	}
	if opt.Deadline == 0 {
		opt.Deadline = 20 * time.Second // for a busy machine; tests of the deadline set their own
	}
	opt.Version = version
	p := worker.NewPool(opt)
	t.Cleanup(p.Close)
	return p
}

// ask has p answer a request, and refuses any answer but the right one.
func ask(ctx context.Context, p *worker.Pool, text string) error {
	return p.Do(ctx, worker.Request{
		Name: "name of it", Key: sha256.Sum256([]byte(text)), Body: [][]byte{[]byte(text[:len(text)/2]), []byte(text[len(text)/2:])},
		Accept: func(answer []byte) error {
			if want := strings.ToUpper(text); string(answer) != want {
				return fmt.Errorf("the answer is %q, want %q", answer, want)
			}
			return nil
		},
	})
}

func TestPoolSurvivesCrashes(t *testing.T) {
	t.Parallel() // each waits for processes
	for _, how := range []string{"please crash", "please panic", "please fail", "please lie", "please write"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			p := newPool(t, worker.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			for range 3 {
				if err := ask(t.Context(), p, how); !errors.Is(err, worker.ErrCrashed) {
					t.Errorf("Do = %v, want ErrCrashed", err)
				}
			}
			if err := ask(t.Context(), p, "good"); err != nil {
				t.Errorf("after a crash, Do of another request = %v", err)
			}
			s := p.Stats()
			if s.Crashes != 2 || s.Restarts != 2 || s.Parses != 3 {
				t.Errorf("Stats() = %+v, want 2 crashes, 2 restarts, 3 parses: two tries at one request", s)
			}
			if how == "please crash" && (!strings.Contains(log.String(), "assertion failed") || !strings.Contains(log.String(), "name of it")) {
				t.Errorf("the log lacks what the worker wrote, or of what: %s", log.String())
			}
		})
	}
}

func TestPoolKillsHungWorker(t *testing.T) {
	t.Parallel() // each waits for processes
	p := newPool(t, worker.Options{Deadline: time.Second})
	for i, want := range []error{worker.ErrHung, worker.ErrHung, worker.ErrCrashed} {
		if err := ask(t.Context(), p, "please hang"); !errors.Is(err, want) {
			t.Errorf("try %d: Do = %v, want %v", i, err, want)
		}
	}
	if s := p.Stats(); s.Timeouts != 2 || s.Crashes != 0 {
		t.Errorf("Stats() = %+v, want 2 timeouts", s)
	}
}

// A worker whose daemon was killed with a request under way ends by itself.
func TestServeEndsItselfWhenHung(t *testing.T) {
	t.Parallel() // each waits for processes
	cmd := exec.CommandContext(t.Context(), os.Args[0], "worker")
	hello := fmt.Sprintf(`{"Version":"2/%s","Watchdog":%d}`, version, 50*time.Millisecond)
	cmd.Stdin = strings.NewReader(string([]byte{'h', byte(len(hello)), 0, 0, 0}) + hello + "w\x0b\x00\x00\x00please hang")
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("a worker that hangs ended with %v, want exit status 3", err)
	}
}

// limited says that the memory of a worker is capped and known here.
const limited = runtime.GOOS == "linux"

func askWell(t *testing.T, p *worker.Pool) {
	t.Helper()
	if err := ask(t.Context(), p, "good"); err != nil {
		t.Fatal(err)
	}
}

func TestPoolCapsMemory(t *testing.T) {
	if !limited {
		t.Skip("this system has no such cap")
	}
	p := newPool(t, worker.Options{MemoryCap: 768 << 20})
	if err := ask(t.Context(), p, "please eat"); !errors.Is(err, worker.ErrCrashed) {
		t.Errorf("Do = %v, want ErrCrashed", err)
	}
}

func TestPoolReplacesGrownWorker(t *testing.T) {
	t.Parallel() // each waits for processes
	if !limited {
		t.Skip("the size of a worker is not known on this system")
	}
	p := newPool(t, worker.Options{MaxResident: 1})
	for range 3 {
		askWell(t, p)
	}
	if s := p.Stats(); s.Restarts != 3 || s.Crashes != 0 || s.Workers != 0 {
		t.Errorf("Stats() = %+v, want a new worker for each file", s)
	}
}

func TestPoolStopsWhenIdle(t *testing.T) {
	t.Parallel() // each waits for processes
	p := newPool(t, worker.Options{Idle: time.Millisecond})
	askWell(t, p)
	for deadline := time.Now().Add(10 * time.Second); p.Stats().Workers > 0; {
		if time.Now().After(deadline) {
			t.Fatal("an idle worker lives on")
		}
		runtime.Gosched()
	}
}

func TestPoolIsConcurrent(t *testing.T) {
	t.Parallel() // each waits for processes
	p := newPool(t, worker.Options{Workers: 3})
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			text, want := fmt.Sprint("good ", i), error(nil)
			if i%10 == 0 {
				text, want = fmt.Sprint("please crash ", i), worker.ErrCrashed
			}
			if err := ask(t.Context(), p, text); !errors.Is(err, want) {
				t.Errorf("Do(%s) = %v, want %v", text, err, want)
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
		p := newPool(t, worker.Options{Command: command})
		if err := ask(t.Context(), p, "good"); !errors.Is(err, fold.ErrUnavailable) {
			t.Errorf("Do with %q: %v, want ErrUnavailable", command, err)
		}
		if s := p.Stats(); s.Workers != 0 {
			t.Errorf("Stats() = %+v, want no worker", s)
		}
	}
	p := newPool(t, worker.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask(ctx, p, "good"); !errors.Is(err, context.Canceled) {
		t.Errorf("Do with a cancelled context: %v", err)
	}
	p.Close()
	if err := ask(t.Context(), p, "good"); !errors.Is(err, fold.ErrUnavailable) {
		t.Errorf("Do after Close: %v, want ErrUnavailable", err)
	}
}

func TestPoolCancelWhileBusy(t *testing.T) {
	t.Parallel() // each waits for processes
	p := newPool(t, worker.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := ask(ctx, p, "please hang"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Do: %v, want the error of the context", err)
	}
	if s := p.Stats(); s.Crashes+s.Timeouts != 0 || s.Workers != 0 {
		t.Errorf("Stats() = %+v: the request is not to blame", s)
	}
}

func TestServeRefusesNonsense(t *testing.T) {
	for _, in := range []string{"GET / HTTP/1.1\r\n\r\n", "h\xff\xff\xff\x7f", "h\x02\x00\x00\x00{}", "h\x05\x00"} {
		if err := worker.Serve(strings.NewReader(in), io.Discard, version, answer); err == nil {
			t.Errorf("Serve(%q) = nil, want an error", in)
		}
	}
}
