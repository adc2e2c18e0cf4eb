//go:build accept

package rig

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/api/sock"
)

// trivialCall is a call of a tool that has nothing to do, in the current revision
// of MCP.
const trivialCall = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"project_list","arguments":{},` +
	`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"rig","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// echoSocket names, in the environment of this test when it is run again as the
// reference, where it listens.
const echoSocket = "RIG_ECHO_SOCKET"

// TestEcho is the reference: a bare net/http server that gives back what it gets,
// in a process of its own, as the daemon is.
func TestEcho(t *testing.T) {
	path := os.Getenv(echoSocket)
	if path == "" {
		t.Skip("SKIP: is run by TestLoadCalls")
	}
	ln, err := sock.Listen(path, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hs := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err == nil {
			_, _ = w.Write(b)
		}
	})}
	t.Log(hs.Serve(ln)) // until it is killed
}

// TestLoadCalls measures what foldwatch adds to a request: over the socket beside
// a bare echo, and through the shim beside the socket. The three take turns.
func TestLoadCalls(t *testing.T) {
	m := newMachine(t)
	c := m.withMemories("calls", 20)
	m.serve()
	m.run(c.dir, "add", ".")
	m.run(c.dir, "index", "--wait")
	echo := m.echo(t)
	table := &figures{}
	defer table.print(t, "overhead of a trivial tool call")
	look := watchOthers()

	var first spread
	for range 15 {
		s := m.shim(t, c.dir)
		first = append(first, s.first)
		s.close()
	}
	table.clock(t, "shim, first answer after its start, median", first.at(.5), 50*time.Millisecond, look.others())
	table.note("shim, first answer", first.String(), "-", "reported")

	shim := m.shim(t, c.dir)
	defer shim.close()
	ours, bare := caller(m.socket()), caller(echo)
	look = watchOthers()
	var direct, echoed, piped spread
	for i := range 3200 {
		body := fmt.Sprintf(trivialCall, i+10)
		d := timed(func() { post(t, ours, body) })
		e := timed(func() { post(t, bare, body) })
		p := timed(func() { shim.ask(t, body) })
		if i >= 200 { // what is done for the first time
			direct, echoed, piped = append(direct, d), append(echoed, e), append(piped, p)
		}
	}
	for _, one := range []struct {
		what  string
		times spread
	}{{"socket", direct}, {"bare echo", echoed}, {"shim", piped}} {
		table.note(one.what, fmt.Sprintf("p50 %.3f, p99 %.3f ms", ms(one.times.at(.5)), ms(one.times.at(.99))), "-", "reported")
	}
	times := float64(direct.at(.5)) / float64(echoed.at(.5))
	table.add(t, times <= 5, "socket, times a bare echo, p50", fmt.Sprintf("%.2f", times), "<= 5")
	table.clock(t, "socket, beyond a bare echo, p99", direct.at(.99)-echoed.at(.99), time.Millisecond, look.others())
	table.add(t, piped.at(.5)-direct.at(.5) <= 300*time.Microsecond, "shim, beyond the socket, p50", fmt.Sprintf("%.3f ms", ms(piped.at(.5)-direct.at(.5))), "<= 0.3 ms")
}

// echo starts the reference and returns its socket.
func (m *machine) echo(t *testing.T) string {
	t.Helper()
	path := sock.Path(filepath.Join(m.home, "echo", "s"))
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEcho$", "-test.timeout=10m")
	c.Env = append(os.Environ(), echoSocket+"="+path)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	if !eventually(10*time.Second, 5*time.Millisecond, func() bool {
		conn, err := sock.Dial(t.Context(), path)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}) {
		t.Fatal("no echo")
	}
	return path
}

// caller returns a client that keeps one connection to the socket.
func caller(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return sock.Dial(ctx, socket) },
		DisableCompression: true, MaxIdleConns: 1,
	}}
}

// toolRequest is a call of a tool, as a client of the current revision of MCP makes it.
func toolRequest(ctx context.Context, tool, body string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://foldwatch/mcp", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		req.Header.Set(name, value)
	}
	return req, nil
}

// post sends one message, as a client of the current revision of MCP does.
func post(t *testing.T, c *http.Client, body string) {
	t.Helper()
	req, err := toolRequest(t.Context(), "project_list", body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(b, []byte("jsonrpc")) || bytes.Contains(b, []byte(`"error"`)) {
		t.Fatalf("answer: %v, %d %s", err, res.StatusCode, b)
	}
}

// A shim is the program between an agent and the socket.
type shim struct {
	in    io.WriteCloser
	out   *bufio.Reader
	proc  *exec.Cmd
	first time.Duration // from its start to its first answer
}

func (m *machine) shim(t *testing.T, dir string) *shim {
	t.Helper()
	c := m.command(dir, "mcp")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s := &shim{in: in, out: bufio.NewReaderSize(out, 1<<20), proc: c}
	s.ask(t, fmt.Sprintf(trivialCall, 1))
	s.first = time.Since(began)
	return s
}

// ask sends one message and reads the answer.
func (s *shim) ask(t *testing.T, body string) {
	t.Helper()
	if _, err := io.WriteString(s.in, body+"\n"); err != nil {
		t.Fatal(err)
	}
	line, err := s.out.ReadString('\n')
	if err != nil || !strings.Contains(line, `"result"`) || strings.Contains(line, `"isError":true`) {
		t.Fatalf("the shim answered %q, %v", line, err)
	}
}

func (s *shim) close() {
	_ = s.in.Close()
	_ = s.proc.Wait()
}
