package chunker

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// errDamaged is what DecodeResult wraps.
var errDamaged = errors.New("damaged chunk result")

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
	d := decoder{b: b}
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
	if d.bad || len(d.b) > 0 {
		return Result{}, fmt.Errorf("decode chunks: %w: %w", errDamaged, fold.ErrInvalid)
	}
	return r, nil
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
	b   []byte
	bad bool
}

func (d *decoder) num() int {
	n, size := binary.Uvarint(d.b)
	if size <= 0 || n > 1<<31 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[size:]
	return int(n)
}

// count reads how many things of at least size bytes each follow.
func (d *decoder) count(size int) int {
	n := d.num()
	if n > len(d.b)/size {
		d.bad, d.b = true, nil
		return 0
	}
	return n
}

func (d *decoder) str() string {
	n := d.num()
	if n > len(d.b) {
		d.bad, d.b = true, nil
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) flag() bool {
	if len(d.b) == 0 {
		d.bad = true
		return false
	}
	f := d.b[0] == 1
	d.b = d.b[1:]
	return f
}
