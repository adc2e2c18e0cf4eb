package worker

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// A process is one worker. It serves one request at a time.
type process struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	w        *bufio.Writer
	r        *bufio.Reader
	stderr   *output
	resident int64 // bytes, as of its last answer; 0 if not known
}

// startProcess starts a worker and waits for its hello.
func startProcess(opt Options) (*process, error) {
	cmd := exec.Command(opt.Command[0], opt.Command[1:]...)
	cmd.Env = workerEnv()
	cmd.WaitDelay = time.Second
	p := &process{cmd: cmd, stderr: &output{}}
	cmd.Stderr = p.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	p.in, p.w, p.r = in, bufio.NewWriterSize(in, 64<<10), bufio.NewReaderSize(out, 64<<10)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	// A cold start on a busy machine takes longer than any file.
	timer := time.AfterFunc(10*time.Second+opt.Deadline, p.signal)
	defer timer.Stop()
	err = writeHello(p.w, hello{Version: opt.Version, MemoryCap: opt.MemoryCap, Watchdog: 2 * opt.Deadline})
	if err == nil {
		_, err = readHello(p.r, opt.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("handshake: %w%s", err, p.kill())
	}
	return p, nil
}

// workerEnv is the environment of a worker: nothing of the user's, and one
// arena for the C allocator, since one thread parses.
func workerEnv() []string {
	env := []string{
		"MALLOC_ARENA_MAX=1", "GOTRACEBACK=single",
		// A large file's tree goes back to the system: left alone, glibc would
		// keep up to 64 MB of it for the next.
		"MALLOC_TRIM_THRESHOLD_=8388608", "MALLOC_MMAP_THRESHOLD_=1048576",
	}
	if runtime.GOOS == "windows" {
		env = append(env, "SYSTEMROOT="+os.Getenv("SYSTEMROOT")) // Go's random numbers need it
	}
	return env
}

// do sends a request and waits until its answer is accepted. After an error the
// worker is of no use: kill it. The error wraps ErrHung if the deadline had passed.
func (p *process) do(ctx context.Context, req Request, deadline time.Duration) error {
	hung := make(chan struct{})
	timer := time.AfterFunc(deadline, func() {
		close(hung)
		p.signal()
	})
	defer timer.Stop()
	defer context.AfterFunc(ctx, p.signal)()

	answer, err := p.ask(req.Body)
	if err == nil {
		return req.Accept(answer)
	}
	select {
	case <-hung:
		return fmt.Errorf("%w: %w", ErrHung, err)
	default:
		return err
	}
}

func (p *process) ask(body [][]byte) (answer []byte, err error) {
	if err := writeFrame(p.w, frameWork, body...); err != nil {
		return nil, err
	}
	b, err := readFrame(p.r, frameResult, maxAnswer, nil)
	if err != nil {
		return nil, err
	}
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return nil, errors.New("answer without a size of the worker")
	}
	p.resident = int64(n)
	return b[size:], nil
}

// signal kills the process without waiting for it. It is safe to call at any time.
func (p *process) signal() { _ = p.cmd.Process.Kill() }

// kill ends the process, waits for it, and returns how it ended and the last
// lines it wrote, to be appended to an error.
func (p *process) kill() string {
	p.signal()
	_ = p.in.Close()
	err := p.cmd.Wait()
	var b strings.Builder
	if err != nil {
		b.WriteString(" (" + err.Error() + ")")
	}
	if s := p.stderr.String(); s != "" {
		b.WriteString(": " + s)
	}
	return b.String()
}

// stop lets the process end by itself, which it does when its input ends.
func (p *process) stop() {
	_ = p.in.Close()
	timer := time.AfterFunc(time.Second, p.signal)
	defer timer.Stop()
	_ = p.cmd.Wait()
}

// An output keeps the first 1 KiB written to it: the beginning of a crash report,
// which names the cause. What follows is dropped.
type output struct {
	mu  sync.Mutex
	buf []byte
}

func (t *output) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[:min(len(b), 1<<10-len(t.buf))]...)
	return len(b), nil
}

func (t *output) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(t.buf), "�")), " ")
}
