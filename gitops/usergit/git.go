package usergit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// MinGit is the oldest git program that answers all that is asked here: the first
// with rev-parse --path-format.
const MinGit = "2.31"

// callLimit ends a git program that hangs (a FIFO as ignore file, a dead
// network mount) where the caller set no deadline of its own.
const callLimit = 10 * time.Minute

// SafeConfig overrides every setting of a repository through which one of the
// read-only commands used here could run a program (F39). Filters, textconv
// and external diffs are avoided by the choice of commands: none of them looks
// at the content of a work tree file or prints a patch.
var SafeConfig = []string{
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.pager=cat",
	"-c", "core.quotePath=false",
	"-c", "protocol.allow=never",
	"-c", "log.showSignature=false",
	"-c", "log.showRoot=true",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "submodule.recurse=false",
}

// keepEnv are the GIT_ variables that describe the machine and not a caller's
// repository; all others are dropped.
var keepEnv = map[string]bool{
	"GIT_CONFIG_GLOBAL": true, "GIT_CONFIG_SYSTEM": true, "GIT_CONFIG_NOSYSTEM": true,
	"GIT_CEILING_DIRECTORIES": true, "GIT_EXEC_PATH": true,
	"GIT_SSL_CAINFO": true, "GIT_SSL_CAPATH": true,
}

// CleanEnv returns env without what a caller's shell or hook says about a
// repository, with the switches that keep git quiet, offline and read-only.
func CleanEnv(env []string) []string {
	out := make([]string, 0, len(env)+8)
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "GIT_") && !keepEnv[name] {
			continue
		}
		switch name {
		case "LC_ALL", "LANG", "LANGUAGE", "PAGER", "SSH_ASKPASS":
			continue
		}
		out = append(out, kv)
	}
	return append(out,
		"LC_ALL=C",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		// A partial clone fetches what is missing by itself, with the
		// repository's own ssh command: not here.
		"GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none",
	)
}

// A gitError is a git program that ended with a code other than zero.
type gitError struct {
	Op     string
	Code   int
	Stderr string // first line
}

func (e *gitError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("git %s: exit code %d", e.Op, e.Code)
	}
	return fmt.Sprintf("git %s: %s", e.Op, e.Stderr)
}

// ExitCode returns the exit code in err's chain, or -1.
func ExitCode(err error) int {
	if g, ok := errors.AsType[*gitError](err); ok {
		return g.Code
	}
	return -1
}

// A call is one run of the git program: an argument list, never a shell.
type Call struct {
	Dir    string    // where it runs; "" for the root of the file system
	GitDir string    // --git-dir, where the repository is not found from dir
	stdin  io.Reader // nil for none
	env    []string  // added to the clean environment
	Args   []string
}

func (c Call) op() string {
	if len(c.Args) == 0 {
		return ""
	}
	return c.Args[0]
}

// command returns the program ready to start. Cancel ends it when ctx does.
func (c Call) command(ctx context.Context) (*exec.Cmd, error) {
	exe, err := exec.LookPath("git")
	if err != nil {
		return nil, fold.WithHint(fmt.Errorf("find the git program: %w: %w", err, fold.ErrUnavailable),
			"install git "+MinGit+" or newer and see that it is on the PATH")
	}
	args := append([]string{"--no-pager"}, SafeConfig...)
	if c.GitDir != "" {
		args = append(args, "--git-dir="+c.GitDir)
	}
	CountStart(ctx)
	cmd := exec.CommandContext(ctx, exe, append(args, c.Args...)...)
	cmd.Dir = c.Dir
	cmd.Env = append(CleanEnv(os.Environ()), c.env...)
	cmd.Stdin = c.stdin
	// A grandchild that keeps the pipe open must not keep us waiting.
	cmd.WaitDelay = 5 * time.Second
	return cmd, nil
}

// errEnough is returned by a reader of [call.stream] that has seen all it needs.
var errEnough = errors.New("enough")

// stream runs the program and hands its output to read as it comes. If read
// returns an error the program is stopped; errEnough counts as success.
func (c Call) stream(ctx context.Context, read func(*bufio.Reader) error) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callLimit)
		defer cancel()
	}
	runCtx, stop := context.WithCancel(ctx)
	defer stop()
	cmd, err := c.command(runCtx)
	if err != nil {
		return err
	}
	errText := &headBuffer{max: 4 << 10}
	cmd.Stderr = errText
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("git %s: %w", c.op(), err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git %s: %w", c.op(), err)
	}
	r := bufio.NewReaderSize(out, 64<<10)
	readErr := read(r)
	if readErr != nil && !errors.Is(readErr, io.ErrUnexpectedEOF) {
		stop()
	}
	_, _ = io.Copy(io.Discard, r)
	waitErr := cmd.Wait()
	switch {
	case errors.Is(readErr, errEnough):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("git %s: %w", c.op(), ctx.Err())
	case waitErr != nil && (readErr == nil || errors.Is(readErr, io.ErrUnexpectedEOF)):
		// The program's own word explains a short read.
		return exitError(c.op(), waitErr, errText.String())
	case readErr != nil:
		return fmt.Errorf("git %s: %w", c.op(), readErr)
	}
	return nil
}

// Output runs the program and returns all it prints.
func (c Call) Output(ctx context.Context) ([]byte, error) {
	var b bytes.Buffer
	err := c.stream(ctx, func(r *bufio.Reader) error {
		_, err := b.ReadFrom(r)
		return err
	})
	return b.Bytes(), err
}

// Line runs the program and returns what it prints without the last line end.
func (c Call) Line(ctx context.Context) (string, error) {
	b, err := c.Output(ctx)
	return strings.TrimRight(string(b), "\r\n"), err
}

func exitError(op string, err error, stderr string) error {
	first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		return &gitError{Op: op, Code: ee.ExitCode(), Stderr: Redact(first)}
	}
	return fmt.Errorf("git %s: %w", op, err)
}

// A headBuffer keeps the first max bytes written to it and drops the rest.
type headBuffer struct {
	b   bytes.Buffer
	max int
}

func (h *headBuffer) Write(p []byte) (int, error) {
	if room := h.max - h.b.Len(); room > 0 {
		h.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (h *headBuffer) String() string { return h.b.String() }

// zReader reads NUL-terminated fields.
type zReader struct{ r *bufio.Reader }

// next returns the next field, or io.EOF after the last.
func (z zReader) next() (string, error) {
	s, err := z.r.ReadString(0)
	if err != nil {
		if err == io.EOF && s != "" {
			return "", io.ErrUnexpectedEOF
		}
		return "", err
	}
	return s[:len(s)-1], nil
}

// each calls fn with every field up to the end.
func (z zReader) each(fn func(string) error) error {
	for {
		s, err := z.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := fn(s); err != nil {
			return err
		}
	}
}

// counterKey finds the counter in a context.
type counterKey struct{}

// WithCounter returns a context under which each start of the git program adds
// one to n.
func WithCounter(ctx context.Context, n *atomic.Int64) context.Context {
	return context.WithValue(ctx, counterKey{}, n)
}

func CountStart(ctx context.Context) {
	if n, ok := ctx.Value(counterKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
}

// configFiles are the user's own configuration of git, as far as it is known
// without asking git.
func configFiles() (files []string) {
	if p := os.Getenv("GIT_CONFIG_GLOBAL"); filepath.IsAbs(p) {
		files = append(files, p)
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if home, err := os.UserHomeDir(); err == nil {
		files = append(files, filepath.Join(home, ".gitconfig"))
		if config == "" {
			config = filepath.Join(home, ".config")
		}
	}
	if filepath.IsAbs(config) {
		files = append(files, filepath.Join(config, "git", "config"))
	}
	return files
}

func readTime(sec string) (time.Time, error) {
	n, err := strconv.ParseInt(sec, 10, 64)
	return time.Unix(n, 0).UTC(), err
}

// Redact removes the credentials of URLs that git repeats in its messages.
func Redact(s string) string { return userinfo().ReplaceAllString(s, "$1") }

// userinfo matches the credentials of a URL inside a longer text.
var userinfo = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s'"]*@`) })
