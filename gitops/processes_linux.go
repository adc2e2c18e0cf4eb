package gitops

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A processScan knows which processes it has looked at. On Linux it reads /proc:
// of other users' processes only the name can be read, and they do not count.
type processScan struct {
	dirs []string // of the repository
	seen map[int]bool
	buf  [64]byte // of comm
}

func newProcessScan(l *Layout) *processScan {
	p := &processScan{seen: map[int]bool{}}
	for _, d := range []string{l.WorkTree, l.GitDir, l.CommonDir} {
		if d != "" {
			p.dirs = append(p.dirs, d)
		}
	}
	return p
}

// git returns a git program that works in the repository, as a word for status, or
// "" (git.md B2). Each call looks only at what has started since the one before.
func (p *processScan) git() string {
	names, err := procNames()
	if err != nil {
		return ""
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || p.seen[pid] {
			continue
		}
		dir := "/proc/" + name
		c, ok := p.comm(dir)
		if !ok {
			continue // ended
		}
		if c != "git" && !strings.HasPrefix(c, "git-") {
			p.seen[pid] = !mayBecomeGit(c)
			continue
		}
		if !child(dir) && p.works(dir) {
			return "process " + name + " (" + command(dir) + ")"
		}
		p.seen[pid] = true
	}
	return ""
}

// comm returns the name of a process. There are hundreds of them, and what a file
// of package os asks the system for beside the bytes would cost more than these.
func (p *processScan) comm(dir string) (string, bool) {
	fd, err := syscall.Open(dir+"/comm", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer syscall.Close(fd)
	n, err := syscall.Read(fd, p.buf[:])
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(string(p.buf[:n])), true
}

func procNames() ([]string, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// mayBecomeGit reports whether a program is one that starts others in its place: a
// shell that was forked a moment ago is git a moment later.
func mayBecomeGit(name string) bool {
	return strings.HasSuffix(name, "sh") || name == "env" || name == "sudo" || name == "nice" || name == "time"
}

// child reports whether the process was started by us.
func child(dir string) bool {
	b, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return true // ended
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return len(f) > 1 && f[1] == strconv.Itoa(os.Getpid())
}

// works reports whether the process was started in the repository, or names it.
func (p *processScan) works(dir string) bool {
	cwd, err := os.Readlink(dir + "/cwd")
	if err != nil {
		return false
	}
	args, err := os.ReadFile(dir + "/cmdline")
	if err != nil {
		return false
	}
	for _, d := range p.dirs {
		if within(d, cwd) {
			return true
		}
		for a := range strings.SplitSeq(string(args), "\x00") {
			if _, value, ok := strings.Cut(a, "="); ok {
				a = value // --git-dir=…
			}
			if a == "" {
				continue
			}
			if !filepath.IsAbs(a) {
				if a[0] == '-' {
					continue
				}
				a = filepath.Join(cwd, a)
			}
			if within(d, filepath.Clean(a)) {
				return true
			}
		}
	}
	return false
}

// command is the beginning of the command line, for status.
func command(dir string) string {
	b, err := os.ReadFile(dir + "/cmdline")
	if err != nil {
		return "git"
	}
	f := strings.FieldsFunc(string(b), func(r rune) bool { return r == 0 })
	if len(f) > 2 {
		f = f[:2]
	}
	return oneLine(redact(strings.Join(f, " ")))
}
