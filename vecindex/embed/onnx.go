package embed

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	_ "github.com/gomlx/gomlx/backends/simplego" // runs models in Go, without a library of the system
	"github.com/knights-analytics/hugot/backends"
	"github.com/knights-analytics/hugot/options"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// An onnxModel is a sentence model in ONNX, run by hugot in Go. Tokens are cut by
// package token: hugot's own tokenizer ends the process where it fails, and asks
// for a folder with one .onnx file.
type onnxModel struct {
	folder   *folder
	identity Identity
	output   int // which of the model's outputs is taken

	mu    sync.Mutex // one run at a time: it uses all cores as it is
	model *backends.Model
	base  *backends.BasePipeline
}

// Texts are run in groups of about the same length, which are padded to one of
// these: every shape is a program of its own that the backend keeps.
const sentenceBatch = 8

// lengths are the shapes, in tokens.
func lengths() []int { return []int{16, 32, 64, 128, 192, 256, 384, 512} }

func openONNX(f *folder) (_ *onnxModel, err error) {
	defer recoverPanic(&err)
	b, err := f.weightBytes()
	if err != nil {
		return nil, err
	}
	opt := options.Defaults()
	opt.Backend = "GO"
	m := &backends.Model{Path: f.dir, OnnxBytes: b, Pipelines: map[string]backends.Pipeline{}, MaxPositionEmbeddings: f.maxSeq}
	if err := backends.CreateModelBackend(m, opt); err != nil {
		return nil, fmt.Errorf("%s cannot be run: %s: %w", f.weights, clipped(err), fold.ErrInvalid)
	}
	s := &onnxModel{folder: f, model: m, base: &backends.BasePipeline{Model: m, Runtime: "GO"}}
	for _, in := range m.InputsMeta {
		switch in.Name {
		case "input_ids", "attention_mask", "token_type_ids":
		default:
			return nil, fmt.Errorf("%s wants %.40q, which no sentence model does: %w", f.weights, in.Name, fold.ErrInvalid)
		}
	}
	if len(m.OutputsMeta) == 0 {
		return nil, fmt.Errorf("%s gives nothing: %w", f.weights, fold.ErrInvalid)
	}
	for i, out := range m.OutputsMeta {
		if out.Name == "sentence_embedding" { // pooled already
			s.output = i
		}
	}
	vecs, err := s.run(context.Background(), [][]int32{f.tok.Encode("foldwatch", true, f.maxSeq)}, lengths()[0])
	if err != nil {
		return nil, err
	}
	dim := len(vecs[0])
	if dim == 0 || dim > maxDim {
		return nil, fmt.Errorf("%s gives vectors of %d dimensions: %w", f.weights, dim, fold.ErrInvalid)
	}
	s.identity = f.identity(dim)
	return s, nil
}

// clipped is what an error says, without the trace that these libraries put behind
// it.
func clipped(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return cut(first, 300)
}

// recoverPanic turns a panic in the code that runs models into an error.
func recoverPanic(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the model cannot be run: %.300v: %w", r, fold.ErrInvalid)
	}
}

func (s *onnxModel) Identity() Identity { return s.identity }

func (s *onnxModel) Embed(ctx context.Context, texts []string, kind Kind) ([][]float32, error) {
	type one struct {
		at     int
		tokens []int32
	}
	var all []one
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		all = append(all, one{i, s.folder.tok.Encode(s.folder.prompt(kind)+text, true, s.folder.maxSeq)})
	}
	slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(len(a.tokens), len(b.tokens)) })
	out := make([][]float32, len(texts))
	for start := 0; start < len(all); {
		n := paddedLength(len(all[start].tokens))
		end := start + 1
		for end < len(all) && end-start < sentenceBatch && paddedLength(len(all[end].tokens)) == n {
			end++
		}
		if end-start < sentenceBatch {
			end = start + 1 // shapes are few: a full group, or one by one
		}
		group := make([][]int32, end-start)
		for i := range group {
			group[i] = all[start+i].tokens
		}
		vecs, err := s.run(ctx, group, n)
		if err != nil {
			return nil, err
		}
		for i, v := range vecs {
			u, err := unit(v)
			if err != nil {
				return nil, fmt.Errorf("model %s: %w", s.identity.Model, err)
			}
			out[all[start+i].at] = u
		}
		start = end
	}
	return out, nil
}

// paddedLength is the shape for n tokens.
func paddedLength(n int) int {
	for _, l := range lengths() {
		if n <= l {
			return l
		}
	}
	return n
}

// run puts tokens through the model, each padded to n.
func (s *onnxModel) run(ctx context.Context, group [][]int32, n int) (vecs []vector, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer recoverPanic(&err)
	batch := backends.NewBatch(len(group))
	batch.MaxSequenceLength = n
	for _, tokens := range group {
		in := backends.TokenizedInput{
			TokenIDs: make([]uint32, len(tokens)), TypeIDs: make([]uint32, len(tokens)), AttentionMask: make([]uint32, len(tokens)), MaxAttentionIndex: len(tokens) - 1,
		}
		for i, id := range tokens {
			in.TokenIDs[i], in.AttentionMask[i] = uint32(id), 1
		}
		batch.Input = append(batch.Input, in)
	}
	if err := backends.CreateInputTensors(batch, s.model, s.base.Runtime); err != nil {
		return nil, fmt.Errorf("run the model: %s: %w", clipped(err), fold.ErrInvalid)
	}
	defer func() {
		if derr := batch.Destroy(); err == nil && derr != nil {
			err = fmt.Errorf("run the model: %w", derr)
		}
	}()
	if err := backends.RunSessionOnBatch(batch, s.base); err != nil {
		return nil, fmt.Errorf("run the model: %s: %w", clipped(err), fold.ErrInvalid)
	}
	return s.pool(batch.OutputValues[s.output], len(group))
}

// pool makes one vector of each text's, which come without those of padding.
func (s *onnxModel) pool(output any, texts int) ([]vector, error) {
	out := make([]vector, texts)
	switch v := output.(type) {
	case [][]float32:
		for i := range out {
			out[i] = v[i]
		}
	case [][][]float32:
		for i := range out {
			tokens := v[i]
			if len(tokens) == 0 {
				return nil, fmt.Errorf("the model gives no vector for a text: %w", fold.ErrInvalid)
			}
			if s.folder.first {
				out[i] = tokens[0]
				continue
			}
			sum := make(vector, len(tokens[0]))
			for _, t := range tokens {
				for d, f := range t {
					sum[d] += f
				}
			}
			for d := range sum {
				sum[d] /= float32(len(tokens))
			}
			out[i] = sum
		}
	default:
		return nil, fmt.Errorf("the model gives %T: %w", output, fold.ErrInvalid)
	}
	for _, v := range out {
		if len(v) > 0 && math.IsNaN(float64(v[0])) {
			return nil, fmt.Errorf("the model gives what is no number: %w", fold.ErrInvalid)
		}
	}
	return out, nil
}
