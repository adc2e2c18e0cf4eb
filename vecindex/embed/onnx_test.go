package embed_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// What follows writes ONNX: protocol buffers by hand, as much as these models need.

type proto []byte

func (p proto) varint(field int, v uint64) proto {
	p = binary.AppendUvarint(p, uint64(field)<<3)
	return binary.AppendUvarint(p, v)
}

func (p proto) bytes(field int, b []byte) proto {
	p = binary.AppendUvarint(p, uint64(field)<<3|2)
	p = binary.AppendUvarint(p, uint64(len(b)))
	return append(p, b...)
}

func (p proto) text(field int, s string) proto { return p.bytes(field, []byte(s)) }

const (
	onnxFloat = 1
	onnxInt64 = 7
)

// graph is an ONNX graph being written.
type graph struct {
	nodes, tensors proto
	n              int
}

func (g *graph) name() string {
	g.n++
	return fmt.Sprintf("t%d", g.n)
}

func attrInt(name string, v int) proto {
	return proto{}.text(1, name).varint(3, uint64(v)).varint(20, 2)
}

func attrInts(name string, vs ...int) proto {
	p := proto{}.text(1, name)
	for _, v := range vs {
		p = p.varint(8, uint64(v))
	}
	return p.varint(20, 7)
}

// op adds a node with one output.
func (g *graph) op(kind, out string, in []string, attrs ...proto) string {
	if out == "" {
		out = g.name()
	}
	var p proto
	for _, s := range in {
		p = p.text(1, s)
	}
	p = p.text(2, out).text(3, g.name()).text(4, kind)
	for _, a := range attrs {
		p = p.bytes(5, a)
	}
	g.nodes = g.nodes.bytes(1, p)
	return out
}

func (g *graph) floats(shape []int, v []float32) string {
	name, p := g.name(), proto{}
	for _, d := range shape {
		p = p.varint(1, uint64(d))
	}
	raw := make([]byte, 0, 4*len(v))
	for _, f := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	g.tensors = g.tensors.bytes(5, p.varint(2, onnxFloat).text(8, name).bytes(9, raw))
	return name
}

func (g *graph) ints(v ...int) string {
	name := g.name()
	var raw []byte
	for _, n := range v {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(n))
	}
	g.tensors = g.tensors.bytes(5, proto{}.varint(1, uint64(len(v))).varint(2, onnxInt64).text(8, name).bytes(9, raw))
	return name
}

func valueInfo(name string, kind int, dims ...any) proto {
	var shape proto
	for _, d := range dims {
		switch d := d.(type) {
		case int:
			shape = shape.bytes(1, proto{}.varint(1, uint64(d)))
		case string:
			shape = shape.bytes(1, proto{}.text(2, d))
		}
	}
	tensor := proto{}.varint(1, uint64(kind)).bytes(2, shape)
	return proto{}.text(1, name).bytes(2, proto{}.bytes(1, tensor))
}

// model closes the graph: token ids and mask go in, one vector per token comes out.
func (g *graph) model(dim int) []byte {
	p := append(proto{}, g.nodes...)
	p = p.text(2, "g")
	p = append(p, g.tensors...)
	for _, in := range []string{"input_ids", "attention_mask", "token_type_ids"} {
		p = p.bytes(11, valueInfo(in, onnxInt64, "batch", "sequence"))
	}
	p = p.bytes(12, valueInfo("last_hidden_state", onnxFloat, "batch", "sequence", dim))
	return proto{}.varint(1, 8).bytes(7, p).bytes(8, proto{}.varint(2, 13))
}

// lookupModel gives every token its row.
func lookupModel(rows [][]float32) []byte {
	g := &graph{}
	var flat []float32
	for _, r := range rows {
		flat = append(flat, r...)
	}
	table := g.floats([]int{len(rows), len(rows[0])}, flat)
	g.op("Gather", "last_hidden_state", []string{table, "input_ids"}, attrInt("axis", 0))
	return g.model(len(rows[0]))
}

// miniLM has the shape of all-MiniLM-L6-v2: six layers of 384, twelve heads,
// 30,522 tokens. Its weights are random, which costs the same time.
func miniLM(vocab int) []byte {
	const dim, heads, inner, layers, positions = 384, 12, 1536, 6, 512
	rng, g := rand.New(rand.NewPCG(1, 2)), &graph{}
	random := func(shape ...int) string {
		n := 1
		for _, d := range shape {
			n *= d
		}
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(rng.NormFloat64()) * .05
		}
		return g.floats(shape, v)
	}
	ones := make([]float32, dim)
	for i := range ones {
		ones[i] = 1
	}
	norm := func(x string) string {
		mean := g.op("ReduceMean", "", []string{x}, attrInts("axes", -1))
		d := g.op("Sub", "", []string{x, mean})
		square := g.op("ReduceMean", "", []string{g.op("Mul", "", []string{d, d})}, attrInts("axes", -1))
		dev := g.op("Sqrt", "", []string{g.op("Add", "", []string{square, g.floats(nil, []float32{1e-12})})})
		return g.op("Add", "", []string{g.op("Mul", "", []string{g.op("Div", "", []string{d, dev}), g.floats([]int{dim}, ones)}), random(dim)})
	}
	linear := func(x string, in, out int) string {
		return g.op("Add", "", []string{g.op("MatMul", "", []string{x, random(in, out)}), random(out)})
	}
	shape := g.op("Shape", "", []string{"input_ids"})
	batch := g.op("Slice", "", []string{shape, g.ints(0), g.ints(1), g.ints(0)})
	seq := g.op("Slice", "", []string{shape, g.ints(1), g.ints(2), g.ints(0)})
	x := g.op("Gather", "", []string{random(vocab, dim), "input_ids"}, attrInt("axis", 0))
	x = g.op("Add", "", []string{x, g.op("Gather", "", []string{random(2, dim), "token_type_ids"}, attrInt("axis", 0))})
	x = norm(x)
	mask := g.op("Cast", "", []string{"attention_mask"}, attrInt("to", onnxFloat))
	mask = g.op("Mul", "", []string{g.op("Sub", "", []string{g.floats(nil, []float32{1}), mask}), g.floats(nil, []float32{-10000})})
	mask = g.op("Unsqueeze", "", []string{mask, g.ints(1, 2)})
	split := g.op("Concat", "", []string{batch, seq, g.ints(heads), g.ints(dim / heads)}, attrInt("axis", 0))
	join := g.op("Concat", "", []string{batch, seq, g.ints(dim)}, attrInt("axis", 0))
	for range layers {
		head := func(perm ...int) string {
			return g.op("Transpose", "", []string{g.op("Reshape", "", []string{linear(x, dim, dim), split})}, attrInts("perm", perm...))
		}
		q, k, v := head(0, 2, 1, 3), head(0, 2, 3, 1), head(0, 2, 1, 3)
		scores := g.op("Div", "", []string{g.op("MatMul", "", []string{q, k}), g.floats(nil, []float32{float32(math.Sqrt(dim / heads))})})
		att := g.op("Softmax", "", []string{g.op("Add", "", []string{scores, mask})}, attrInt("axis", 3))
		y := g.op("Transpose", "", []string{g.op("MatMul", "", []string{att, v})}, attrInts("perm", 0, 2, 1, 3))
		x = norm(g.op("Add", "", []string{x, linear(g.op("Reshape", "", []string{y, join}), dim, dim)}))
		h := linear(x, dim, inner)
		erf := g.op("Erf", "", []string{g.op("Div", "", []string{h, g.floats(nil, []float32{math.Sqrt2})})})
		h = g.op("Mul", "", []string{g.op("Mul", "", []string{h, g.op("Add", "", []string{erf, g.floats(nil, []float32{1})})}), g.floats(nil, []float32{.5})})
		x = norm(g.op("Add", "", []string{x, linear(h, inner, dim)}))
	}
	g.op("Identity", "last_hidden_state", []string{x})
	return g.model(dim)
}

// BenchmarkMiniLM measures what a text costs: a question of some words, and
// chunks of code of about 120 tokens.
func BenchmarkMiniLM(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "all-MiniLM-L6-v2")
	vocab := map[string]int{"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102}
	for i := range 26 {
		vocab[string(rune('a'+i))], vocab["##"+string(rune('a'+i))] = 1000+i, 1100+i
	}
	for i, w := range strings.Fields("func pool set max open conns int error return validate token the of how are sessions limited ( ) { } . * \" , := == != nil if err n p 0") {
		vocab[w] = 2000 + i
	}
	tok, err := json.Marshal(map[string]any{
		"normalizer": map[string]any{"type": "BertNormalizer"}, "pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"post_processor": map[string]any{"type": "BertProcessing", "sep": []any{"[SEP]", 102}, "cls": []any{"[CLS]", 101}},
		"model":          map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab},
	})
	if err != nil {
		b.Fatal(err)
	}
	write(b, dir, "tokenizer.json", tok)
	write(b, dir, "model.onnx", miniLM(30522))
	if info, err := os.Stat(filepath.Join(dir, "model.onnx")); err == nil {
		b.Logf("model.onnx: %.1f MB", float64(info.Size())/1e6)
	}
	e, err := embed.OpenLocal(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	chunk := strings.Repeat("func ( p * pool ) open ( n int ) error { if n == 0 { return err } } ", 5)
	for name, texts := range map[string][]string{"query": {"how are sessions limited"}, "chunks": {chunk, chunk, chunk, chunk, chunk, chunk, chunk, chunk}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := e.Embed(b.Context(), texts, embed.Document); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N*len(texts)), "ms/text")
		})
	}
}
