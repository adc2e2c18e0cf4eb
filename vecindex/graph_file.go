package vecindex

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// A graph has a file beside the snapshot, because building one takes half a
// millisecond for each row. The file names the generation of its table and has a
// digest of the scales of its rows: rows only come to a table, so it fits every
// snapshot that has its rows, but after a crash other rows may have come in the
// place of those no snapshot had yet. A graph that is damaged or does not fit is
// built again.
const (
	graphName = "graph.snap"
	graphMark = "foldwatch graph 2\n" // the format number is in it
)

// save writes the graph over t, with the nodes there are now.
func (g *graph) save(dir string, t *table) error {
	return replaceFile(dir, graphName, func(w io.Writer) error { return g.encode(w, t) })
}

func (g *graph) encode(w io.Writer, t *table) error {
	nodes, entry := uint32(g.nodes.Load()), g.entry.Load()
	if row, _, ok := unpackEntry(entry); ok { // it is linked before it becomes the entry
		nodes = max(nodes, uint32(row)+1)
	}
	b := []byte(graphMark)
	b = binary.LittleEndian.AppendUint64(b, g.generation)
	b = binary.LittleEndian.AppendUint32(b, nodes)
	b = binary.LittleEndian.AppendUint64(b, entry)
	b = append(b, t.scaleSum(int(nodes))...)
	if _, err := w.Write(b); err != nil {
		return err
	}
	for row := range int32(nodes) {
		b = appendLinks(b[:0], g.links(row, 0), nodes)
		layers := g.layers(row)
		b = append(b, byte(layers))
		for l := 1; l <= layers; l++ {
			b = appendLinks(b, g.links(row, l), nodes)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// appendLinks appends a list without links to rows from nodes on, which are still
// being linked.
func appendLinks(b []byte, links []uint32, nodes uint32) []byte {
	n := len(b)
	b = append(b, 0)
	for i := range links {
		r := atomic.LoadUint32(&links[i])
		if r == noLink {
			break
		}
		if r < nodes {
			b = binary.LittleEndian.AppendUint32(b, r)
			b[n]++
		}
	}
	return b
}

// loadGraph returns the graph saved for t, nil if there is none, or an error that
// says what is wrong with it.
func loadGraph(dir string, t *table) (*graph, error) {
	f, err := os.Open(filepath.Join(dir, graphName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return decodeGraph(f, t)
}

func decodeGraph(f io.ReadSeeker, t *table) (*graph, error) {
	r, err := verified(f, graphMark)
	if err != nil {
		return nil, fmt.Errorf("graph is %w", err)
	}
	g := newGraph(r.uint64())
	nodes, entry := r.uint32(), r.uint64()
	sum := bytes.Clone(r.take(sha256.Size))
	if g.generation != t.generation {
		return nil, errors.New("graph is of another generation")
	}
	row, layer, ok := unpackEntry(entry)
	if r.failed || int64(nodes) > int64(t.len()) || ok && (uint32(row) >= nodes || layer >= graphLayers) || entry != 0 && !ok {
		return nil, fmt.Errorf("graph is %w: header", errDamaged)
	}
	if !bytes.Equal(sum, t.scaleSum(int(nodes))) {
		return nil, errors.New("graph is of other rows")
	}
	for row := range int32(nodes) {
		if err := g.decodeNode(r, row, nodes); err != nil {
			return nil, err
		}
	}
	if r.failed || r.left != 0 || ok && layer > 0 && len(g.links(row, layer)) == 0 {
		return nil, fmt.Errorf("graph is %w: wrong size", errDamaged)
	}
	g.nodes.Store(int64(nodes))
	g.entry.Store(entry)
	return g, nil
}

func (g *graph) decodeNode(r *reader, row int32, nodes uint32) error {
	var lists [graphLayers][]uint32
	lists[0] = r.links(graphLowest, nodes)
	layers := int(r.take(1)[0])
	if layers >= graphLayers {
		return fmt.Errorf("graph is %w: row %d", errDamaged, row)
	}
	for l := 1; l <= layers; l++ {
		lists[l] = r.links(graphLinks, nodes)
	}
	if r.failed {
		return fmt.Errorf("graph is %w: row %d", errDamaged, row)
	}
	g.grow(row, layers)
	for l := range layers + 1 {
		copy(g.links(row, l), lists[l])
	}
	return nil
}

// links takes a list of at most most links to rows below nodes.
func (r *reader) links(most int, nodes uint32) []uint32 {
	n := int(r.take(1)[0])
	if n > most {
		r.failed = true
		return nil
	}
	out := make([]uint32, n)
	for i := range out {
		if out[i] = r.uint32(); out[i] >= nodes {
			r.failed = true
		}
	}
	return out
}
