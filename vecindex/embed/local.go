package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex/token"
	"github.com/foldwatch/foldwatch/vecindex/weights"
)

// Files of a model folder.
const (
	tokenizerFile = "tokenizer.json"
	staticFile    = "model.safetensors"
)

// A folder is what was found in a model folder.
type folder struct {
	dir     string
	tok     *token.Tokenizer
	weights string // name of the file with them, with forward slashes
	sum     string // of weights and tokenizer, 12 hex digits
	config  struct {
		Positions int   `json:"max_position_embeddings"`
		Hidden    int   `json:"hidden_size"`
		Normalize *bool `json:"normalize"`
	}
	maxSeq  int  // tokens of one text
	first   bool // the first token stands for all, else their mean
	prompts struct {
		Prompts map[string]string `json:"prompts"`
	}
}

// OpenLocal opens a model folder: static embeddings as model2vec writes them
// (tokenizer.json, model.safetensors), or a sentence model in ONNX (tokenizer.json,
// model.onnx or onnx/model.onnx). It makes no request. It returns ErrNotFound if dir is
// no such folder and ErrInvalid if a file of it cannot be used; both say what to do.
func OpenLocal(ctx context.Context, dir string) (Embedder, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	var e Embedder
	if f.weights == staticFile {
		e, err = openTokenMean(f)
	} else {
		e, err = openONNX(f)
	}
	if err != nil {
		return nil, fmt.Errorf("model folder %s: %w", dir, err)
	}
	// A model that cannot embed two words cannot be used.
	if vecs, err := e.Embed(ctx, []string{"validate token", "open the file"}, Document); err != nil {
		return nil, fmt.Errorf("model folder %s: %w", dir, err)
	} else if vecs[0] == nil && vecs[1] == nil {
		return nil, fmt.Errorf("model folder %s: it knows none of four common words: %w", dir, fold.ErrInvalid)
	}
	return e, nil
}

func openFolder(dir string) (*folder, error) {
	const advice = "a model folder holds tokenizer.json and either model.safetensors (model2vec) or model.onnx; to get one: foldwatch model list"
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil, fold.WithHint(fmt.Errorf("model folder %s: there is no such folder: %w", dir, fold.ErrNotFound), advice)
	}
	f := &folder{dir: dir}
	b, err := readFile(dir, tokenizerFile, 64<<20)
	if err != nil {
		return nil, fold.WithHint(fmt.Errorf("model folder %s: %w", dir, err), advice)
	}
	if f.tok, err = token.Parse(b); err != nil {
		return nil, fmt.Errorf("model folder %s: %s: %w", dir, tokenizerFile, err)
	}
	for _, name := range []string{"model.onnx", "onnx/model.onnx", staticFile} {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil && info.Mode().IsRegular() {
			f.weights = name
			break
		}
	}
	if f.weights == "" {
		return nil, fold.WithHint(fmt.Errorf("model folder %s: no weights in it: %w", dir, fold.ErrNotFound), advice)
	}
	sum := sha256.Sum256(b)
	f.sum = hex.EncodeToString(sum[:])
	return f, f.readConfigs()
}

// readConfigs reads what is said about the model beside it, if anything is.
func (f *folder) readConfigs() error {
	var sentence struct {
		Max int `json:"max_seq_length"`
	}
	var pooling struct {
		CLS  bool `json:"pooling_mode_cls_token"`
		Mean bool `json:"pooling_mode_mean_tokens"`
		Max  bool `json:"pooling_mode_max_tokens"`
	}
	pooling.Mean = true
	for name, v := range map[string]any{
		"config.json": &f.config, "sentence_bert_config.json": &sentence, "1_Pooling/config.json": &pooling, "config_sentence_transformers.json": &f.prompts,
	} {
		b, err := readFile(f.dir, name, 1<<20)
		if errors.Is(err, fold.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("model folder %s: %w", f.dir, err)
		}
		if err := json.Unmarshal(b, v); err != nil {
			return fmt.Errorf("model folder %s: %s is not the JSON it should be: %w", f.dir, name, fold.ErrInvalid)
		}
	}
	if f.first = pooling.CLS; !pooling.CLS && (pooling.Max || !pooling.Mean) {
		return fmt.Errorf("model folder %s: it pools tokens in a way that is not known: %w", f.dir, fold.ErrInvalid)
	}
	f.maxSeq = 512
	for _, n := range []int{f.config.Positions, sentence.Max, f.tok.Max()} {
		if n > 0 {
			f.maxSeq = min(f.maxSeq, n)
		}
	}
	if f.maxSeq < 8 {
		return fmt.Errorf("model folder %s: it reads %d tokens of a text: %w", f.dir, f.maxSeq, fold.ErrInvalid)
	}
	return nil
}

// readFile returns a file of a model folder.
func readFile(dir, name string, most int64) ([]byte, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is missing: %w", name, fold.ErrNotFound)
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %w", name, fold.ErrUnavailable, err)
	case !info.Mode().IsRegular() || info.Size() > most:
		return nil, fmt.Errorf("%s is no file of at most %d bytes: %w", name, most, fold.ErrInvalid)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, fold.ErrUnavailable, err)
	}
	return b, nil
}

// weightBytes reads the weights and makes them part of the sum.
func (f *folder) weightBytes() ([]byte, error) {
	b, err := readFile(f.dir, f.weights, weights.MaxFile)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	h.Write([]byte(f.sum))
	h.Write(b)
	f.sum = hex.EncodeToString(h.Sum(nil))[:12]
	return b, nil
}

func (f *folder) identity(dim int) Identity {
	id := Identity{Provider: "local", Model: filepath.Base(f.dir), Revision: f.sum, Dim: dim, Normalize: "l2"}
	if d, q := f.prompt(Document), f.prompt(Query); d != "" || q != "" {
		id.Prompt = d + "|" + q
	}
	return id
}

func (f *folder) prompt(kind Kind) string {
	if p, ok := f.prompts.Prompts[string(kind)]; ok {
		return p
	}
	if kind == Document {
		return f.prompts.Prompts["passage"]
	}
	return ""
}

// A tokenMean is static embeddings: one vector for each token, whatever stands around
// it. The vector of a text is their mean.
type tokenMean struct {
	folder   *folder
	identity Identity
	rows     weights.Tensor
	mapping  weights.Tensor // from tokens to rows; empty if they are the same
	weight   weights.Tensor // of tokens; empty if all count alike
	count    int            // rows
}

func openTokenMean(f *folder) (*tokenMean, error) {
	b, err := f.weightBytes()
	if err != nil {
		return nil, err
	}
	all, err := weights.Tensors(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", staticFile, err)
	}
	rows, ok := all["embeddings"]
	if !ok {
		return nil, fold.WithHint(fmt.Errorf("%s has no tensor called embeddings, so that it is not of model2vec: %w", staticFile, fold.ErrInvalid),
			"a sentence model is read from model.onnx; most have one in the folder onnx of their repository")
	}
	m := &tokenMean{folder: f, rows: rows, mapping: all["mapping"], weight: all["weights"]}
	if len(rows.Shape) != 2 || rows.Shape[0] < 1 || rows.Shape[1] < 1 || rows.Shape[1] > maxDim {
		return nil, fmt.Errorf("%s: embeddings have shape %v: %w", staticFile, rows.Shape, fold.ErrInvalid)
	}
	m.count = rows.Shape[0]
	tokens := m.count
	if n := m.mapping.Len(); n > 0 {
		tokens = n
		for i := range n {
			if r := m.mapping.Int(i); r < 0 || r >= m.count {
				return nil, fmt.Errorf("%s: token %d has row %d of %d: %w", staticFile, i, r, m.count, fold.ErrInvalid)
			}
		}
	}
	if f.tok.Size() > tokens {
		return nil, fmt.Errorf("%s knows %d tokens, %s has %d: %w", staticFile, tokens, tokenizerFile, f.tok.Size(), fold.ErrInvalid)
	}
	if n := m.weight.Len(); n > 0 && n < tokens {
		return nil, fmt.Errorf("%s: weights of %d tokens for %d: %w", staticFile, n, tokens, fold.ErrInvalid)
	}
	m.identity = f.identity(rows.Shape[1])
	return m, nil
}

func (m *tokenMean) Identity() Identity { return m.identity }

func (m *tokenMean) Embed(ctx context.Context, texts []string, kind Kind) ([][]float32, error) {
	prompt, out := m.folder.prompt(kind), make([][]float32, len(texts))
	unknown, has := m.folder.tok.Unknown()
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sum, any := make(vector, m.identity.Dim), false
		for _, id := range m.folder.tok.Encode(prompt+text, false, m.folder.maxSeq) {
			if has && id == unknown {
				continue
			}
			any = true
			row, w := int(id), float32(1)
			if m.weight.Len() > 0 {
				w = m.weight.Float(int(id))
			}
			if m.mapping.Len() > 0 {
				row = m.mapping.Int(int(id))
			}
			m.rows.AddRow(sum, row, w)
		}
		if !any || strings.TrimSpace(text) == "" {
			continue
		}
		if v, err := unit(sum); err == nil {
			out[i] = v
		}
	}
	return out, nil
}
