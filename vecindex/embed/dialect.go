package embed

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/foldwatch/foldwatch/daemon/provider"
	"github.com/foldwatch/foldwatch/meta/fold"
)

// A requester makes requests; *provider.Client is one.
type requester interface {
	Do(ctx context.Context, call provider.Call, out any) error
}

// A dialect is how one kind of provider is asked for vectors.
type dialect interface {
	// prompt names everything about the request that changes vectors, "" if
	// documents and queries are asked for alike.
	prompt() string
	// ask returns one vector for each text, as they come.
	ask(ctx context.Context, p requester, call provider.Call, in request) ([]vector, error)
}

// A request is what a dialect puts into its own words.
type request struct {
	model string
	texts []string
	kind  Kind
	dim   int // 0: as the model gives it
}

func dialectOf(kind string) dialect {
	switch kind {
	case "ollama":
		return ollama{}
	case "gemini":
		return gemini{}
	case "voyage":
		return openAI{voyage: true}
	}
	return openAI{}
}

// openAI speaks to OpenAI and to everything shaped like it: LM Studio, llama.cpp,
// vLLM, OpenRouter; and to Voyage, which differs in the names of fields.
type openAI struct{ voyage bool }

func (o openAI) prompt() string {
	if o.voyage {
		return "input_type"
	}
	return ""
}

func (o openAI) ask(ctx context.Context, p requester, call provider.Call, in request) ([]vector, error) {
	body := map[string]any{"model": in.model, "input": in.texts}
	switch {
	case o.voyage:
		body["input_type"], body["truncation"] = string(in.kind), true
		if in.dim > 0 {
			body["output_dimension"] = in.dim
		}
	default:
		body["encoding_format"] = "float"
		if in.dim > 0 {
			body["dimensions"] = in.dim
		}
	}
	call.Path, call.Body = "/embeddings", body
	var out struct {
		Data []struct {
			Index     *int   `json:"index"`
			Embedding vector `json:"embedding"`
		} `json:"data"`
	}
	if err := p.Do(ctx, call, &out); err != nil {
		return nil, err
	}
	vecs := make([]vector, len(in.texts))
	for i, d := range out.Data {
		at := i
		if d.Index != nil {
			at = *d.Index // servers that work in parallel answer in any order
		}
		if at < 0 || at >= len(vecs) || vecs[at] != nil {
			return nil, fmt.Errorf("vector with index %d of %d: %w", at, len(vecs), errAnswer)
		}
		vecs[at] = d.Embedding
	}
	return vecs, nil
}

// ollama speaks to Ollama's own door, which cuts texts to what the model reads.
type ollama struct{}

func (ollama) prompt() string { return "" }

func (ollama) ask(ctx context.Context, p requester, call provider.Call, in request) ([]vector, error) {
	call.Path, call.Body = "/api/embed", map[string]any{"model": in.model, "input": in.texts, "truncate": true}
	var out struct {
		Embeddings []vector `json:"embeddings"`
	}
	if err := p.Do(ctx, call, &out); err != nil {
		var pe *provider.Error
		if errors.As(err, &pe) && pe.Status == http.StatusNotFound {
			return nil, fold.WithHint(err, "ollama pull "+in.model)
		}
		return nil, err
	}
	return out.Embeddings, nil
}

// revision asks which weights stand behind a name: it may be pulled anew.
func (ollama) revision(ctx context.Context, p requester, call provider.Call, model string) (string, error) {
	call.Method, call.Path = http.MethodGet, "/api/tags"
	var out struct {
		Models []struct {
			Name   string `json:"name"`
			Digest string `json:"digest"`
		} `json:"models"`
	}
	if err := p.Do(ctx, call, &out); err != nil {
		return "", err
	}
	for _, m := range out.Models {
		if m.Name == model || m.Name == model+":latest" {
			return m.Digest[:min(12, len(m.Digest))], nil
		}
	}
	return "", nil
}

// gemini speaks to Google's API. Vectors of less than the full dimension come
// without unit length.
type gemini struct{}

func (gemini) prompt() string { return "task_type" }

func (gemini) ask(ctx context.Context, p requester, call provider.Call, in request) ([]vector, error) {
	task := "RETRIEVAL_DOCUMENT"
	if in.kind == Query {
		task = "CODE_RETRIEVAL_QUERY"
	}
	type one map[string]any
	requests := make([]one, len(in.texts))
	for i, text := range in.texts {
		requests[i] = one{
			"model": "models/" + in.model, "taskType": task,
			"content": one{"parts": []one{{"text": text}}},
		}
		if in.dim > 0 {
			requests[i]["outputDimensionality"] = in.dim
		}
	}
	call.Path, call.Body = "/models/"+url.PathEscape(in.model)+":batchEmbedContents", one{"requests": requests}
	var out struct {
		Embeddings []struct {
			Values vector `json:"values"`
		} `json:"embeddings"`
	}
	if err := p.Do(ctx, call, &out); err != nil {
		return nil, err
	}
	vecs := make([]vector, len(out.Embeddings))
	for i, e := range out.Embeddings {
		vecs[i] = e.Values
	}
	return vecs, nil
}

// errAnswer says that a provider answered what cannot be vectors of our texts.
var errAnswer = fmt.Errorf("the answer does not fit what was asked: %w", fold.ErrUnavailable)

// A vector is read from an array of numbers, or from base64 of little-endian
// float32. What is no number stays one: see [unit].
type vector []float32

// UnmarshalJSON reads a vector. It returns an error for null, NaN and the like in
// an array.
func (v *vector) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var raw []byte
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil || len(raw)%4 != 0 {
			return errAnswer
		}
		out := make(vector, len(raw)/4)
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		*v = out
		return nil
	}
	if len(b) < 2 || b[0] != '[' {
		return errAnswer
	}
	out := make(vector, 0, 1024)
	for i := 1; i < len(b); {
		switch b[i] {
		case ' ', '\n', '\t', '\r', ',', ']':
			i++
			continue
		}
		end := i
		for end < len(b) && b[end] != ',' && b[end] != ']' && b[end] > ' ' {
			end++
		}
		f, err := strconv.ParseFloat(string(b[i:end]), 32)
		if err != nil && !math.IsInf(f, 0) { // too large a number is found by its infinity
			return errAnswer
		}
		out = append(out, float32(f))
		i = end
	}
	*v = out
	return nil
}

// unit returns v with unit length. It returns an error if v is not finite, or zero.
func unit(v vector) ([]float32, error) {
	square := 0.0
	for _, f := range v {
		square += float64(f) * float64(f)
	}
	if math.IsNaN(square) || math.IsInf(square, 0) {
		return nil, fmt.Errorf("a vector is not finite: %w", errAnswer)
	}
	if square < 1e-24 {
		return nil, fmt.Errorf("a vector is zero: %w", errAnswer)
	}
	out, length := make([]float32, len(v)), math.Sqrt(square)
	for i, f := range v {
		out[i] = float32(float64(f) / length)
	}
	return out, nil
}
