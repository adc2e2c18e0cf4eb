package embed_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foldwatch/foldwatch/meta/fold"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// write puts files of a model folder into dir.
func write(t testing.TB, dir, name string, b []byte) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func asJSON(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wordsOf is the vocabulary of the small models below.
func wordsOf() []string {
	return []string{"[UNK]", "[CLS]", "[SEP]", "validate", "check", "token", "open", "the", "file", "pool"}
}

func tokenizerFile(t testing.TB) []byte {
	vocab := map[string]int{}
	for i, w := range wordsOf() {
		vocab[w] = i
	}
	return asJSON(t, map[string]any{
		"normalizer": map[string]any{"type": "BertNormalizer"}, "pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"post_processor": map[string]any{"type": "BertProcessing", "sep": []any{"[SEP]", 2}, "cls": []any{"[CLS]", 1}},
		"model":          map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab},
	})
}

// rowsOf are their vectors: validate and check mean about the same.
func rowsOf() [][]float32 {
	return [][]float32{
		{9, 9, 9},
		{0, 0, .01},
		{0, 0, .01},
		{1, 0, 0},
		{.9, .1, 0},
		{0, 1, 0},
		{0, 0, 1},
		{.1, .1, .1},
		{0, .2, 1},
		{-1, 0, 0},
	}
}

// tensorFile writes float32 tensors as safetensors.
func tensorFile(t testing.TB, tensors map[string][][]float32) []byte {
	var data []byte
	header := map[string]any{}
	for name, rows := range tensors {
		from := len(data)
		for _, r := range rows {
			for _, f := range r {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(f))
			}
		}
		header[name] = map[string]any{"dtype": "F32", "shape": []int{len(rows), len(rows[0])}, "data_offsets": []int{from, len(data)}}
	}
	h := asJSON(t, header)
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(h))), h...), data...)
}

func flatFolder(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "tiny")
	write(t, dir, "tokenizer.json", tokenizerFile(t))
	write(t, dir, "model.safetensors", tensorFile(t, map[string][][]float32{"embeddings": rowsOf()}))
	write(t, dir, "config.json", []byte(`{"model_type":"model2vec","normalize":true}`))
	return dir
}

func TestLocalStaticModel(t *testing.T) {
	dir := flatFolder(t)
	e, err := embed.OpenLocal(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	id := e.Identity()
	if id.Provider != "local" || id.Model != "tiny" || id.Dim != 3 || len(id.Revision) != 12 {
		t.Errorf("identity %+v", id)
	}
	vecs, err := e.Embed(t.Context(), []string{"validate the token", "Check token!", "open the file", "xyz", "", "validate xyz token"}, embed.Document)
	if err != nil {
		t.Fatal(err)
	}
	// (1,0,0) + (.1,.1,.1) + (0,1,0), of unit length
	n := float32(math.Sqrt(1.1*1.1*2 + .01))
	if d := cmp.Diff([]float32{1.1 / n, 1.1 / n, .1 / n}, vecs[0], approx()); d != "" {
		t.Errorf("validate the token: %s", d)
	}
	if vecs[3] != nil || vecs[4] != nil || vecs[5] == nil {
		t.Errorf("unknown words %v, no words %v, known and unknown %v", vecs[3], vecs[4], vecs[5])
	}
	if near, far := cosine(vecs[0], vecs[1]), cosine(vecs[0], vecs[2]); near < .95 || far > .5 {
		t.Errorf("near %v, far %v", near, far)
	}
	again, err := embed.OpenLocal(t.Context(), dir)
	if err != nil || again.Identity() != id {
		t.Errorf("opened again: %+v, %v", again.Identity(), err)
	}
	// other weights are another model
	rows := rowsOf()
	rows[3][0] = 2
	write(t, dir, "model.safetensors", tensorFile(t, map[string][][]float32{"embeddings": rows}))
	if again, err = embed.OpenLocal(t.Context(), dir); err != nil || again.Identity() == id {
		t.Errorf("other weights: %+v, %v", again.Identity(), err)
	}
}

func approx() cmp.Option {
	return cmp.Comparer(func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-5 })
}

func TestLocalStaticModelWithWeightsAndMapping(t *testing.T) {
	dir := flatFolder(t)
	weights := [][]float32{{0}, {0}, {0}, {2}, {1}, {1}, {1}, {0}, {1}, {1}}
	all := tensorFile(t, map[string][][]float32{"embeddings": rowsOf(), "weights": weights})
	write(t, dir, "model.safetensors", all)
	e, err := embed.OpenLocal(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	vecs, err := e.Embed(t.Context(), []string{"validate the token"}, embed.Query)
	if d := cmp.Diff([]float32{2 / float32(math.Sqrt(5)), 1 / float32(math.Sqrt(5)), 0}, vecs[0], approx()); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}

func TestLocalFolderErrorsSayWhatToDo(t *testing.T) {
	for _, tc := range []struct {
		name  string
		kind  error
		want  string
		spoil func(dir string)
	}{
		{"no folder", fold.ErrNotFound, "no such folder", func(dir string) { os.RemoveAll(dir) }},
		{"no tokenizer", fold.ErrNotFound, "tokenizer.json is missing", func(dir string) { os.Remove(filepath.Join(dir, "tokenizer.json")) }},
		{"no weights", fold.ErrNotFound, "no weights", func(dir string) { os.Remove(filepath.Join(dir, "model.safetensors")) }},
		{"a page", fold.ErrInvalid, "tokenizer", func(dir string) { write(t, dir, "tokenizer.json", []byte("<html>")) }},
		{"cut off", fold.ErrInvalid, "safetensors", func(dir string) { write(t, dir, "model.safetensors", []byte("xx")) }},
		{"of another kind", fold.ErrInvalid, "no tensor called embeddings", func(dir string) {
			write(t, dir, "model.safetensors", tensorFile(t, map[string][][]float32{"encoder.layer.0": rowsOf()}))
		}},
		{"too few rows", fold.ErrInvalid, "knows 4 tokens", func(dir string) {
			write(t, dir, "model.safetensors", tensorFile(t, map[string][][]float32{"embeddings": rowsOf()[:4]}))
		}},
		{"NaN", fold.ErrInvalid, "none of four common words", func(dir string) {
			rows := rowsOf()
			for _, r := range rows {
				r[0] = float32(math.NaN())
			}
			write(t, dir, "model.safetensors", tensorFile(t, map[string][][]float32{"embeddings": rows}))
		}},
		{"bad config", fold.ErrInvalid, "config.json", func(dir string) { write(t, dir, "config.json", []byte("{")) }},
		{"no ONNX", fold.ErrInvalid, "model.onnx", func(dir string) { write(t, dir, "model.onnx", []byte("not a model")) }},
		{"a pointer of Git LFS", fold.ErrInvalid, "model.onnx", func(dir string) {
			write(t, dir, "onnx/model.onnx", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 90405214\n"))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := flatFolder(t)
			tc.spoil(dir)
			e, err := embed.OpenLocal(t.Context(), dir)
			if e != nil || !errors.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("OpenLocal = %v", err)
			}
			if errors.Is(err, fold.ErrNotFound) && fold.Hint(err) == "" {
				t.Error("no advice")
			}
		})
	}
}

// TestLocalSentenceModel runs a model in ONNX that looks up a vector for each
// token, through the whole machinery.
func TestLocalSentenceModel(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mini")
	write(t, dir, "tokenizer.json", tokenizerFile(t))
	write(t, dir, "onnx/model.onnx", lookupModel(rowsOf()))
	write(t, dir, "config_sentence_transformers.json", []byte(`{"prompts":{"query":"check ","document":""}}`))
	e, err := embed.OpenLocal(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if id := e.Identity(); id.Dim != 3 || id.Model != "mini" || id.Prompt != "|check " {
		t.Errorf("identity %+v", id)
	}
	texts := []string{"validate token", "", "open the file", strings.Repeat("pool ", 40)}
	for range 20 { // two full groups, and single ones
		texts = append(texts, "check token")
	}
	vecs, err := e.Embed(t.Context(), texts, embed.Document)
	if err != nil {
		t.Fatal(err)
	}
	// the mean of [CLS] validate token [SEP], padding left out
	n := float32(math.Sqrt(2 + .02*.02))
	if d := cmp.Diff([]float32{1 / n, 1 / n, .02 / n}, vecs[0], approx()); d != "" {
		t.Errorf("validate token: %s", d)
	}
	if vecs[1] != nil || cosine(vecs[3], []float32{-1, 0, 0}) < .99 {
		t.Errorf("blank %v, pool %v", vecs[1], vecs[3])
	}
	for _, v := range vecs[4:] {
		if d := cmp.Diff(vecs[4], v, approx()); d != "" {
			t.Errorf("equal texts: %s", d)
		}
	}
	q, err := e.Embed(t.Context(), []string{"token"}, embed.Query)
	if d := cmp.Diff(vecs[4], q[0], approx()); err != nil || d != "" {
		t.Errorf("the prompt of queries: %v %s", err, d)
	}
	write(t, dir, "1_Pooling/config.json", []byte(`{"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":false}`))
	if e, err = embed.OpenLocal(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if vecs, err = e.Embed(t.Context(), []string{"validate"}, embed.Document); err != nil || cosine(vecs[0], []float32{0, 0, 1}) < .999 {
		t.Errorf("first token: %v, %v", vecs, err)
	}
}

// BenchmarkStatic measures what a text of about 120 tokens costs a static model of
// 30,000 tokens in 256 dimensions.
func BenchmarkStatic(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "static")
	vocab, rows := map[string]int{"[UNK]": 0}, [][]float32{make([]float32, 256)}
	for i := range 30_000 {
		word := strconv.FormatInt(int64(i), 36)
		vocab["w"+word] = i + 1
		row := make([]float32, 256)
		row[i%256] = 1
		rows = append(rows, row)
	}
	for i, w := range strings.Fields("func ( p * pool ) open n int error { return check } // limits connections . validate token the file") {
		vocab[w] = i + 10
	}
	write(b, dir, "tokenizer.json", asJSON(b, map[string]any{
		"normalizer": map[string]any{"type": "BertNormalizer"}, "pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"model": map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab},
	}))
	write(b, dir, "model.safetensors", tensorFile(b, map[string][][]float32{"embeddings": rows}))
	e, err := embed.OpenLocal(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	text := []string{strings.Repeat("func (p *Pool) open(n int) error { return p.check(n) } // limits connections\n", 5)}
	for b.Loop() {
		if _, err := e.Embed(b.Context(), text, embed.Document); err != nil {
			b.Fatal(err)
		}
	}
}
