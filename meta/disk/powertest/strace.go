package powertest

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ErrNoTracer says that calls cannot be recorded here.
var ErrNoTracer = errors.New("calls cannot be recorded here")

// traced are the calls that change files, and those that say where the next write
// goes. A question mark is for systems that lack one.
const traced = "read,?open,?creat,openat,write,pwrite64,writev,pwritev,ftruncate,?truncate,lseek," +
	"?rename,?renameat,renameat2,?link,linkat,?symlink,symlinkat,?unlink,unlinkat,?mkdir,mkdirat,?rmdir," +
	"fsync,fdatasync,syncfs,sync,fallocate,copy_file_range,sendfile,chdir,fchdir"

// Record runs a program and records what it and the programs it runs do below
// dir, which holds no symbolic link. It returns an error that is ErrNoTracer where
// there is no strace or it may not trace, and one of the program itself otherwise.
func Record(cmd *exec.Cmd, dir string) (*Log, error) {
	exe, err := exec.LookPath("strace")
	if err != nil {
		return nil, fmt.Errorf("%w: strace is missing", ErrNoTracer)
	}
	probe := exec.Command(exe, "-f", "-qq", "-o", os.DevNull, "-e", "trace=fsync", "true")
	if out, err := probe.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: strace: %w: %s", ErrNoTracer, err, out)
	}
	out, err := os.CreateTemp("", "powertest-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	var last inode
	next := func() inode { last++; return last }
	start, err := readTree(dir, next)
	if err != nil {
		return nil, err
	}
	cmd.Args = slices.Concat([]string{
		exe, "-f", "--seccomp-bpf", "-qq", "-y", "-xx", "-s", strconv.Itoa(64 << 20),
		"-e", "trace=" + traced, "-e", "signal=none", "-o", out.Name(), "--", cmd.Path,
	}, cmd.Args[1:])
	cmd.Path = exe
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	calls, err := readCalls(out)
	if err != nil {
		return nil, err
	}
	l := &Log{start: start, fresh: tree{}}
	now, err := l.take(calls, dir, next)
	if err != nil {
		return nil, err
	}
	var other inode
	have, err := readTree(dir, func() inode { other++; return other })
	if err != nil {
		return nil, err
	}
	// What was missed would make every answer worthless.
	if p := now.differs(have); p != "" {
		return nil, fmt.Errorf("the record is not what happened: %s differs", p)
	}
	return l, nil
}

// A call is one finished system call.
type call struct {
	thread     string
	name       string
	args       []arg
	ret        int64
	start, end int // lines of the trace
}

// An arg is one argument.
type arg struct {
	text string // as it stands, without what a descriptor is of
	path string // of a descriptor
	b    []byte // of a string
	gone bool   // a descriptor of a file without a name
	many [][]byte
}

// readCalls reads a trace, in the order the calls ended.
func readCalls(r io.Reader) ([]call, error) {
	in := bufio.NewReaderSize(r, 1<<20)
	type begun struct {
		text  string
		start int
	}
	waiting := map[string]begun{} // by thread
	var out []call
	for n := 0; ; n++ {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return out, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		pid, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		text = strings.TrimLeft(text, " ")
		if !ok || strings.HasPrefix(text, "+++") || strings.HasPrefix(text, "---") {
			continue
		}
		start := n
		if head, ok := strings.CutSuffix(text, " <unfinished ...>"); ok {
			waiting[pid] = begun{head, n}
			continue
		}
		if strings.HasSuffix(text, " <detached ...>") { // its thread was ended in the middle of it
			delete(waiting, pid)
			continue
		}
		if strings.HasPrefix(text, "<... ") {
			_, rest, _ := strings.Cut(text, " resumed>")
			b := waiting[pid]
			text, start = b.text+rest, b.start
			delete(waiting, pid)
		}
		c, done, err := parseCall(text)
		if err != nil {
			return nil, fmt.Errorf("line %d of the trace: %w", n+1, err)
		}
		if done {
			c.thread, c.start, c.end = pid, start, n
			out = append(out, c)
		}
	}
}

// parseCall reads one call; done is false if it failed or never ended.
func parseCall(text string) (c call, done bool, err error) {
	name, rest, ok := strings.Cut(text, "(")
	if !ok {
		return c, false, fmt.Errorf("no call: %.80q", text)
	}
	c.name = name
	for first := true; ; first = false {
		rest = strings.TrimLeft(rest, " ")
		if strings.HasPrefix(rest, ")") {
			rest = rest[1:]
			break
		}
		if !first {
			if !strings.HasPrefix(rest, ",") {
				return c, false, fmt.Errorf("unexpected %.80q in %s", rest, name)
			}
			rest = strings.TrimLeft(rest[1:], " ")
		}
		var a arg
		if a, rest, err = parseArg(rest); err != nil {
			return c, false, fmt.Errorf("%s: %w", name, err)
		}
		c.args = append(c.args, a)
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " "), "= ")
	end := strings.IndexFunc(rest, func(r rune) bool { return r != '-' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(rest)
	}
	c.ret, err = strconv.ParseInt(rest[:end], 10, 64)
	if !ok || err != nil { // "?": the process ended meanwhile
		return c, false, nil //nolint:nilerr // such a call did nothing we know of
	}
	return c, c.ret >= 0, nil
}

// parseArg reads one argument at the start of s.
func parseArg(s string) (a arg, rest string, err error) {
	depth := 0
	var text strings.Builder
	for len(s) > 0 {
		switch ch := s[0]; {
		case ch == '"':
			i := strings.IndexByte(s[1:], '"')
			if i < 0 {
				return a, "", fmt.Errorf("open string %.80q", s)
			}
			b, err := unhex(s[1 : 1+i])
			if err != nil {
				return a, "", err
			}
			if s = s[2+i:]; strings.HasPrefix(s, "...") {
				return a, "", errors.New("a string is cut off")
			}
			a.b = b
			a.many = append(a.many, b)
			continue
		case ch == '<' && strings.HasPrefix(s, `<\x`):
			i := strings.IndexByte(s, '>')
			if i < 0 {
				return a, "", fmt.Errorf("open descriptor %.80q", s)
			}
			b, err := unhex(s[1:i])
			if err != nil {
				return a, "", err
			}
			s = s[i+1:]
			a.path = string(b)
			if t, ok := strings.CutPrefix(s, "(deleted)"); ok {
				s, a.gone = t, true
			}
			continue
		case ch == '[' || ch == '{' || ch == '(':
			depth++
		case (ch == ']' || ch == '}') && depth > 0, ch == ')' && depth > 0:
			depth--
		case (ch == ',' || ch == ')') && depth == 0:
			a.text = text.String()
			return a, s, nil
		}
		text.WriteByte(s[0])
		s = s[1:]
	}
	return a, "", fmt.Errorf("open argument %q", text.String())
}

func unhex(s string) ([]byte, error) {
	b, err := hex.DecodeString(strings.ReplaceAll(s, `\x`, ""))
	if err != nil {
		return nil, fmt.Errorf("string %.80q: %w", s, err)
	}
	return b, nil
}

// take makes ops of calls. It returns the disk after them.
func (l *Log) take(calls []call, dir string, next func() inode) (tree, error) {
	// A folder may be used before its making is seen to have ended.
	at := func(c *call) int {
		if strings.HasPrefix(c.name, "mkdir") {
			return c.start
		}
		return c.end
	}
	slices.SortStableFunc(calls, func(a, b call) int { return at(&a) - at(&b) })
	r := &recorder{l: l, dir: dir, next: next, now: l.state(nil), pos: map[handle]int64{}, app: map[handle]bool{}, cwd: map[string]string{}}
	for ino, n := range r.now { // its own nodes, which it changes in place
		c := *n
		if n.isDir() {
			c.names = maps.Clone(n.names)
		}
		r.now[ino] = &c
	}
	for i := range calls {
		c := &calls[i]
		n := len(l.ops)
		if err := r.take(c); err != nil {
			return nil, fmt.Errorf("line %d of the trace: %s: %w", c.end+1, c.name, err)
		}
		for len(r.ends) < len(l.ops) {
			r.ends = append(r.ends, at(c))
		}
		for j := n; j < len(l.ops); j++ {
			if o := &l.ops[j]; o.kind == syncs {
				o.since = 0
				for o.since < n && r.ends[o.since] < c.start {
					o.since++
				}
			}
		}
	}
	return r.now, nil
}

// A handle is an open file. That two programs have one file open under one number
// does not happen here: the last check would tell.
type handle struct {
	ino inode
	fd  string
}

// A recorder follows what calls do.
type recorder struct {
	l    *Log
	dir  string
	next func() inode
	now  tree
	pos  map[handle]int64 // where the next write goes
	app  map[handle]bool  // opened to append
	ends []int            // line at which each op ended

	cwd map[string]string // by thread, as far as a call has shown it
}

// below returns a path relative to the recorded folder.
func (r *recorder) below(p string) (string, bool) {
	rel, err := filepath.Rel(r.dir, p)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// at returns the path that a folder's descriptor and a name make.
func (r *recorder) at(d, name *arg) (string, bool) {
	p := string(name.b)
	if !filepath.IsAbs(p) {
		if d.gone {
			return "", false
		}
		p = filepath.Join(d.path, p)
	}
	return r.below(p)
}

// plain returns the path of a call that takes no descriptor. Every program opens
// something before it changes anything, which shows where it stands.
func (r *recorder) plain(c *call, name *arg) (string, bool) {
	p := string(name.b)
	if !filepath.IsAbs(p) {
		p = filepath.Join(r.cwd[c.thread], p)
	}
	return r.below(p)
}

// file returns the inode of a descriptor.
func (r *recorder) file(a *arg) (ino inode, p string, ok bool) {
	if a.gone || a.path == "" {
		return 0, "", false
	}
	if p, ok = r.below(a.path); !ok {
		return 0, "", false
	}
	ino, ok = r.now.find(p)
	return ino, p, ok
}

func (r *recorder) take(c *call) error {
	for i := range c.args {
		if c.args[i].text == "AT_FDCWD" {
			r.cwd[c.thread] = c.args[i].path
		}
	}
	switch c.name {
	case "chdir":
		p := string(c.args[0].b)
		if !filepath.IsAbs(p) {
			p = filepath.Join(r.cwd[c.thread], p)
		}
		r.cwd[c.thread] = p
		return nil
	case "fchdir":
		r.cwd[c.thread] = c.args[0].path
		return nil
	case "openat", "open", "creat":
		return r.open(c)
	case "read", "write", "writev", "pwrite64", "pwritev", "ftruncate", "lseek", "fallocate", "copy_file_range", "sendfile":
		return r.bytes(c)
	case "fsync", "fdatasync":
		if ino, p, ok := r.file(&c.args[0]); ok {
			r.l.add(r.now, op{kind: syncs, what: "fsync " + p, path: p, ino: ino})
		}
		return nil
	case "syncfs", "sync":
		r.l.add(r.now, op{kind: syncs, what: "syncfs", path: ".", all: true})
		return nil
	}
	return r.names(c)
}

func (r *recorder) open(c *call) error {
	var p, flags string
	ok, mode := false, "0666"
	last := func(n int) {
		if len(c.args) > n {
			mode = c.args[n].text
		}
	}
	switch c.name {
	case "openat":
		p, ok = r.at(&c.args[0], &c.args[1])
		flags = c.args[2].text
		last(3)
	case "open":
		p, ok = r.plain(c, &c.args[0])
		flags = c.args[1].text
		last(2)
	case "creat":
		p, ok = r.plain(c, &c.args[0])
		flags = "O_CREAT|O_TRUNC|O_WRONLY"
		last(1)
	}
	makes := strings.Contains(flags, "O_CREAT")
	if !ok {
		return nil
	}
	ino, there := r.now.find(p)
	if there && r.now[ino].isDir() {
		return nil
	}
	switch {
	case !there && makes:
		perm, err := strconv.ParseUint(mode, 8, 32)
		if err != nil {
			return fmt.Errorf("mode %q: %w", mode, err)
		}
		ino = r.next()
		if err := r.l.create(r.now, ino, node{mode: fs.FileMode(perm).Perm() &^ 0o022}, p, "create "+p); err != nil {
			return err
		}
	case !there:
		return fmt.Errorf("%s is not known", p)
	case strings.Contains(flags, "O_TRUNC") && len(r.now[ino].data) > 0:
		r.l.add(r.now, op{kind: bytes, what: "truncate " + p, path: p, ino: ino, cut: true})
	}
	h := handle{ino, strconv.FormatInt(c.ret, 10)}
	r.pos[h], r.app[h] = 0, strings.Contains(flags, "O_APPEND")
	return nil
}

func (r *recorder) bytes(c *call) error {
	ino, p, ok := r.file(&c.args[0])
	if !ok || r.now[ino].isDir() {
		return nil
	}
	h := handle{ino, c.args[0].text}
	number := func(i int) (int64, error) { return strconv.ParseInt(c.args[i].text, 10, 64) }
	o := op{kind: bytes, what: "write " + p, path: p, ino: ino}
	switch c.name {
	case "lseek":
		r.pos[h] = c.ret
		return nil
	case "read":
		r.pos[h] += c.ret
		return nil
	case "write", "writev":
		if o.off = r.pos[h]; r.app[h] {
			o.off = int64(len(r.now[ino].data))
		}
		o.data = slices.Concat(c.args[1].many...)
		o.data = o.data[:min(int64(len(o.data)), c.ret)]
		r.pos[h] = o.off + int64(len(o.data))
	case "pwrite64", "pwritev":
		off, err := number(len(c.args) - 1)
		if err != nil {
			return err
		}
		o.off, o.data = off, slices.Concat(c.args[1].many...)
		o.data = o.data[:min(int64(len(o.data)), c.ret)]
	case "ftruncate":
		size, err := number(1)
		if err != nil {
			return err
		}
		o.what, o.off, o.cut = "truncate "+p, size, true
	default:
		return fmt.Errorf("%s of %s is not understood", c.name, p)
	}
	r.l.add(r.now, o)
	return nil
}

func (r *recorder) names(c *call) error {
	var from, to string
	var inside, other bool
	switch c.name {
	case "rename", "link":
		from, inside = r.plain(c, &c.args[0])
		to, other = r.plain(c, &c.args[1])
	case "renameat", "renameat2", "linkat":
		from, inside = r.at(&c.args[0], &c.args[1])
		to, other = r.at(&c.args[2], &c.args[3])
	case "unlink", "rmdir", "mkdir":
		from, inside = r.plain(c, &c.args[0])
		other = inside
	case "unlinkat", "mkdirat":
		from, inside = r.at(&c.args[0], &c.args[1])
		other = inside
	case "symlink":
		from, inside = r.plain(c, &c.args[1])
		other = inside
	case "symlinkat":
		from, inside = r.at(&c.args[1], &c.args[2])
		other = inside
	}
	if !inside && !other {
		return nil
	}
	if inside != other {
		return fmt.Errorf("%s and %s: one of them is not recorded", from, to)
	}
	from, to = clean(from), clean(to)
	switch c.name {
	case "rename", "renameat", "renameat2":
		exchange := len(c.args) > 4 && strings.Contains(c.args[4].text, "EXCHANGE")
		return r.l.move(r.now, from, to, exchange)
	case "link", "linkat":
		ino, ok := r.now.find(from)
		dir, name, err := r.now.parent(to)
		if !ok || err != nil {
			return fmt.Errorf("link %s: %w", from, errors.Join(err, fs.ErrNotExist))
		}
		r.l.add(r.now, op{kind: names, what: "link " + to, path: to, binds: []bind{{dir, name, ino}}})
		return nil
	case "mkdir", "mkdirat":
		return r.l.create(r.now, r.next(), node{mode: fs.ModeDir | 0o755}, from, "mkdir "+from)
	case "symlink":
		return r.l.create(r.now, r.next(), node{mode: fs.ModeSymlink | 0o777, link: string(c.args[0].b)}, from, "symlink "+from)
	case "symlinkat":
		return r.l.create(r.now, r.next(), node{mode: fs.ModeSymlink | 0o777, link: string(c.args[0].b)}, from, "symlink "+from)
	}
	dir, name, err := r.now.parent(from)
	if err != nil {
		return err
	}
	r.l.add(r.now, op{kind: names, what: "remove " + from, path: from, binds: []bind{{dir, name, 0}}})
	return nil
}
