package gitops_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A webRemote serves a folder of repositories over https as a forge does: by
// git's own http-backend, behind a login.
type webRemote struct {
	*httptest.Server
	dir string
	// front may answer in the backend's place; it then returns true.
	front atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]
	asked atomic.Int64 // requests
}

const (
	webUser = "ann"
	webPass = "correct-horse"
)

// newWebRemote starts one and lets git trust its certificate.
func newWebRemote(t testing.TB) *webRemote {
	t.Helper()
	exe := filepath.Join(git(t, ".", "--exec-path"), "git-http-backend")
	if _, err := os.Stat(exe); err != nil {
		t.Skipf("git has no http-backend here: %v", err)
	}
	w := &webRemote{dir: filepath.Dir(bareRemote(t))}
	git(t, filepath.Join(w.dir, "remote.git"), "config", "http.receivepack", "true")
	backend := &cgi.Handler{
		Path:       exe,
		Env:        []string{"GIT_PROJECT_ROOT=" + w.dir, "GIT_HTTP_EXPORT_ALL=1"},
		InheritEnv: []string{"HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"},
		Stderr:     io.Discard,
	}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.asked.Add(1)
		if front := w.front.Load(); front != nil && (*front)(rw, r) {
			return
		}
		if name, pass, ok := r.BasicAuth(); !ok || name != webUser || pass != webPass {
			rw.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(rw, "who are you?", http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(rw, r)
	}))
	w.StartTLS()
	t.Cleanup(w.Close)
	trust(t, w.Server)
	return w
}

// trust makes git know a server's certificate.
func trust(t testing.TB, s *httptest.Server) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	write(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	t.Setenv("GIT_SSL_CAINFO", file)
}

// answer puts a handler in front of the backend; nil takes it away.
func (w *webRemote) answer(front func(w http.ResponseWriter, r *http.Request) bool) {
	if front == nil {
		w.front.Store(nil)
		return
	}
	w.front.Store(&front)
}

func (w *webRemote) url() string { return w.URL + "/remote.git" }

// login lets the user's credential helper know the password, as `git
// credential approve` would.
func login(t testing.TB, server, pass string) {
	t.Helper()
	u, err := url.Parse(server)
	must(t, err)
	file := filepath.Join(t.TempDir(), "credentials")
	write(t, file, fmt.Sprintf("%s://%s:%s@%s\n", u.Scheme, webUser, pass, u.Host))
	git(t, ".", "config", "--global", "credential.helper", "store --file="+file)
}

// An sshRemote is an sshd of the test's own.
type sshRemote struct {
	port   string
	dir    string // of the repositories
	home   string // keys and configuration
	config string // of the client
	user   string // who may log in
}

// newSSHRemote starts one, with the user's key in an agent of its own.
func newSSHRemote(t testing.TB) *sshRemote {
	t.Helper()
	const sshd = "/usr/sbin/sshd"
	for _, exe := range []string{sshd, "ssh", "ssh-agent", "ssh-add", "ssh-keygen"} {
		if _, err := exec.LookPath(exe); err != nil {
			t.Skipf("no %s here", exe)
		}
	}
	me, err := user.Current()
	must(t, err)
	if me.Uid == "0" {
		// Where it separates privileges; made by the init script elsewhere.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skipf("sshd cannot run here: %v", err)
		}
	}
	r := &sshRemote{dir: filepath.Dir(bareRemote(t)), home: realDir(t), user: me.Username}
	in := func(name string) string { return filepath.Join(r.home, name) }
	for _, key := range []string{"host", "user"} {
		run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", in(key))
	}
	public, err := os.ReadFile(in("user.pub"))
	must(t, err)
	write(t, in("authorized"), string(public))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	_, r.port, _ = net.SplitHostPort(l.Addr().String())
	must(t, l.Close())
	write(t, in("sshd.conf"), strings.Join([]string{
		"Port " + r.port, "ListenAddress 127.0.0.1", "HostKey " + in("host"), "AuthorizedKeysFile " + in("authorized"),
		"PasswordAuthentication no", "KbdInteractiveAuthentication no", "StrictModes no", "UsePAM no", "UseDNS no",
		"PidFile none", "PermitRootLogin yes", "AcceptEnv NOTHING", "",
	}, "\n"))
	cmd := exec.Command(sshd, "-D", "-e", "-f", in("sshd.conf"))
	log, err := os.Create(in("log"))
	must(t, err)
	defer log.Close()
	cmd.Stderr = log
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waitFor(t, "sshd to listen", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+r.port)
		if err != nil {
			return false
		}
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		line, _ := bufio.NewReader(c).ReadString('\n')
		return strings.HasPrefix(line, "SSH-")
	})
	hostKey, err := os.ReadFile(in("host.pub"))
	must(t, err)
	write(t, in("known"), fmt.Sprintf("[127.0.0.1]:%s %s", r.port, hostKey))
	r.config = in("ssh.conf")
	write(t, r.config, strings.Join([]string{
		"UserKnownHostsFile " + in("known"), "GlobalKnownHostsFile none", "IdentityFile none", "StrictHostKeyChecking yes", "User " + me.Username, "",
	}, "\n"))
	git(t, ".", "config", "--global", "core.sshCommand", "ssh -F "+r.config)

	sock := in("agent")
	agent := exec.Command("ssh-agent", "-D", "-a", sock)
	must(t, agent.Start())
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		_ = agent.Wait()
	})
	waitFor(t, "the agent", func() bool {
		_, err := os.Stat(sock)
		return err == nil
	})
	t.Setenv("SSH_AUTH_SOCK", sock)
	run(t, "ssh-add", "-q", in("user"))
	return r
}

func (r *sshRemote) url() string { return r.urlOf("") }

func (r *sshRemote) urlOf(name string) string {
	if name != "" {
		name += "@"
	}
	return "ssh://" + name + "127.0.0.1:" + r.port + filepath.Join(r.dir, "remote.git")
}

func run(t testing.TB, exe string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), exe, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", exe, err, out)
	}
}

// endlessPack answers a fetch with a pack that claims one blob of five
// gigabytes, for as long as it is read. It returns how much was taken.
func endlessPack(w http.ResponseWriter, r *http.Request, sent *atomic.Int64) bool {
	const tip = "1234567890123456789012345678901234567890"
	switch {
	case strings.HasSuffix(r.URL.Path, "/info/refs"):
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		pkt(w, "# service=git-upload-pack\n")
		_, _ = io.WriteString(w, "0000")
		pkt(w, tip+" refs/heads/foldwatch\x00side-band-64k ofs-delta no-progress\n")
		_, _ = io.WriteString(w, "0000")
	case strings.HasSuffix(r.URL.Path, "/git-upload-pack"):
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		pkt(w, "NAK\n")
		head := []byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01")
		size := uint64(5 << 30)
		c := byte(3<<4) | byte(size&15) // a blob
		for size >>= 4; size > 0; size >>= 7 {
			head = append(head, c|0x80)
			c = byte(size & 0x7f)
		}
		head = append(head, c, 0x78, 0x01) // zlib, stored blocks
		_ = band(w, head)
		block := make([]byte, 5+60000)
		binary.LittleEndian.PutUint16(block[1:], 60000)
		binary.LittleEndian.PutUint16(block[3:], ^uint16(60000))
		sum := sha256.Sum256(nil)
		copy(block[5:], sum[:])
		for range 80000 {
			if err := band(w, block); err != nil {
				return true
			}
			sent.Add(int64(len(block)))
		}
	default:
		return false
	}
	return true
}

func pkt(w io.Writer, s string) { fmt.Fprintf(w, "%04x%s", len(s)+4, s) }

func band(w io.Writer, b []byte) error {
	if _, err := fmt.Fprintf(w, "%04x\x01", len(b)+5); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}
