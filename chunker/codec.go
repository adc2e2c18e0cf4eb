package chunker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// errDamaged is what DecodeResult and readRequest wrap.
var errDamaged = errors.New("damaged encoding")

// Encode returns r in a compact form that DecodeResult reads: for the cache, and
// for the pipe between pool and worker. IDs and MemoryIDs are not kept.
func (r Result) Encode() []byte {
	e := encoder{b: make([]byte, 0, 128+96*len(r.Chunks))}
	e.str(Version)
	e.str(r.Language)
	e.str(r.Strategy)
	e.str(r.Package)
	e.str(r.Doc)
	e.flag(r.Truncated)
	e.num(len(r.Imports))
	for _, s := range r.Imports {
		e.str(s)
	}
	e.num(len(r.Chunks))
	for i := range r.Chunks {
		c := &r.Chunks[i]
		e.num(c.EndByte - c.StartByte) // they partition the file
		e.num(c.StartLine)
		e.num(c.EndLine)
		e.str(c.Hash)
		e.str(c.NodeType)
		e.str(c.NodeName)
		e.str(c.Parent)
		e.str(c.Doc)
	}
	return e.b
}

// DecodeResult reads what [Result.Encode] wrote. It returns an error that wraps
// fold.ErrInvalid if b was damaged or written by another version.
func DecodeResult(b []byte) (Result, error) {
	d := decoder{s: string(b)} // one copy, of which every string is a part
	if v := d.str(); d.bad || v != Version {
		return Result{}, fmt.Errorf("decode chunks: version %.20q, want %q: %w: %w", v, Version, errDamaged, fold.ErrInvalid)
	}
	r := Result{Language: d.str(), Strategy: d.str(), Package: d.str(), Doc: d.str(), Truncated: d.flag()}
	if n := d.count(1); n > 0 {
		r.Imports = make([]string, n)
		for i := range r.Imports {
			r.Imports[i] = d.str()
		}
	}
	if n := d.count(8); n > 0 {
		r.Chunks = make([]fold.Chunk, n)
		at := 0
		for i := range r.Chunks {
			c := &r.Chunks[i]
			c.StartByte = at
			c.EndByte = at + d.num()
			at = c.EndByte
			c.StartLine, c.EndLine = d.num(), d.num()
			c.Hash, c.NodeType, c.NodeName, c.Parent, c.Doc = d.str(), d.str(), d.str(), d.str(), d.str()
			c.Language = r.Language
		}
	}
	if d.bad || len(d.s) > 0 {
		return Result{}, fmt.Errorf("decode chunks: %w: %w", errDamaged, fold.ErrInvalid)
	}
	return r, nil
}

// maxPath is how many bytes of a path a worker is told: its end, which names the
// language.
const maxPath = 4 << 10

// appendRequest appends what a worker is told of a file before its source.
func appendRequest(b []byte, path string, opt Options) []byte {
	e := encoder{b: b}
	e.str(path[max(0, len(path)-maxPath):])
	e.num(opt.MinLines)
	e.num(opt.MaxLines)
	e.num(opt.LineSize)
	e.num(opt.MaxBytes)
	e.num(int(opt.Deadline.Microseconds()))
	e.flag(opt.Whole)
	e.flag(opt.SlowGo)
	return e.b
}

// readRequest reads what appendRequest wrote, and returns what follows as src.
func readRequest(b []byte) (path string, opt Options, src []byte, err error) {
	head := string(b[:min(len(b), 2*maxPath)])
	d := decoder{s: head}
	path = d.str()
	opt.MinLines, opt.MaxLines, opt.LineSize, opt.MaxBytes = d.num(), d.num(), d.num(), d.num()
	opt.Deadline = time.Duration(d.num()) * time.Microsecond
	opt.Whole, opt.SlowGo = d.flag(), d.flag()
	if d.bad {
		return "", Options{}, nil, fmt.Errorf("read request: %w", errDamaged)
	}
	return path, opt, b[len(head)-len(d.s):], nil
}

type encoder struct{ b []byte }

func (e *encoder) num(n int) { e.b = binary.AppendUvarint(e.b, uint64(n)) }

func (e *encoder) str(s string) {
	e.num(len(s))
	e.b = append(e.b, s...)
}

func (e *encoder) flag(f bool) {
	var c byte
	if f {
		c = 1
	}
	e.b = append(e.b, c)
}

// A decoder reads until something is wrong, and then returns zeros.
type decoder struct {
	s   string
	bad bool
}

func (d *decoder) fail() { d.bad, d.s = true, "" }

func (d *decoder) num() int {
	var n uint64
	for i := 0; i < len(d.s) && i < 5; i++ {
		n |= uint64(d.s[i]&0x7f) << (7 * i)
		if d.s[i] >= 0x80 {
			continue
		}
		if n > 1<<31 {
			break
		}
		d.s = d.s[i+1:]
		return int(n)
	}
	d.fail()
	return 0
}

// count reads how many things of at least size bytes each follow.
func (d *decoder) count(size int) int {
	n := d.num()
	if n > len(d.s)/size {
		d.fail()
		return 0
	}
	return n
}

func (d *decoder) str() string {
	n := d.num()
	if n > len(d.s) {
		d.fail()
		return ""
	}
	s := d.s[:n]
	d.s = d.s[n:]
	return s
}

func (d *decoder) flag() bool {
	if d.s == "" {
		d.bad = true
		return false
	}
	f := d.s[0] == 1
	d.s = d.s[1:]
	return f
}
