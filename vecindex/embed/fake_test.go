package embed_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/foldwatch/foldwatch/daemon/provider"
	"github.com/foldwatch/foldwatch/vecindex/embed"
)

// A fake is a provider that behaves as the real ones do: it knows its models, keeps
// to its limits, and tells documents from queries. It answers in this process, so
// that time can stand still. Its faults are set by tests.
type fake struct {
	kind  string
	model string
	dim   int
	key   string
	// limits, refused with 400 as the real ones do
	maxTexts, maxBytes int

	mu    sync.Mutex
	fault func(n int, w http.ResponseWriter) bool // answers request n itself, from 1
	bend  func(vecs []any) []any                  // changes the vectors of an answer
	shape func(items []any) []any                 // changes the items that hold them
	asked []fakeCall
}

type fakeCall struct {
	texts []string
	task  string
	at    time.Time
}

func fakes() []*fake {
	return []*fake{
		{kind: "ollama", model: "nomic-embed-text", dim: 768, maxTexts: 1000, maxBytes: 1 << 20},
		{kind: "openai", model: "text-embedding-3-small", dim: 1536, key: "sk-" + "fake", maxTexts: 256, maxBytes: 8191 * 4},
		{kind: "openrouter", model: "openai/text-embedding-3-small", dim: 1536, key: "sk-or-" + "fake", maxTexts: 256, maxBytes: 8191 * 4},
		{kind: "gemini", model: "gemini-embedding-001", dim: 3072, key: "AI" + "fake", maxTexts: 100, maxBytes: 1 << 20},
		{kind: "voyage", model: "voyage-code-3", dim: 1024, key: "pa-" + "fake", maxTexts: 1000, maxBytes: 1 << 20},
	}
}

// RoundTrip answers one request.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.ServeHTTP(rec, r)
	}()
	<-done
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method == http.MethodGet && r.URL.Path == "/api/tags" && f.kind == "ollama" {
		f.send(w, map[string]any{"models": []any{map[string]any{"name": f.model + ":latest", "digest": "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"}}})
		return
	}
	texts, task, dim := f.read(w, r)
	if texts == nil {
		return
	}
	f.asked = append(f.asked, fakeCall{texts, task, time.Now()})
	if f.fault != nil && f.fault(len(f.asked), w) {
		return
	}
	for _, t := range texts {
		if t == "" || len(t) > f.maxBytes || len(texts) > f.maxTexts {
			f.refuse(w, 400, "invalid_request_error")
			return
		}
	}
	if dim == 0 {
		dim = f.dim
	}
	vecs := make([]any, len(texts))
	for i, t := range texts {
		vecs[i] = fakeVector(t, dim)
	}
	if f.bend != nil {
		vecs = f.bend(vecs)
	}
	f.answer(w, vecs)
}

// read takes a request apart as the provider's own server does.
func (f *fake) read(w http.ResponseWriter, r *http.Request) (texts []string, task string, dim int) {
	var in struct {
		Model          string   `json:"model"`
		Input          []string `json:"input"`
		InputType      string   `json:"input_type"`
		Dimensions     int      `json:"dimensions"`
		OutputDim      int      `json:"output_dimension"`
		EncodingFormat string   `json:"encoding_format"`
		Requests       []struct {
			Model   string `json:"model"`
			Task    string `json:"taskType"`
			Dim     int    `json:"outputDimensionality"`
			Content struct {
				Parts []struct {
					Text string `json:"text"`
				} `json:"parts"`
			} `json:"content"`
		} `json:"requests"`
	}
	b, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(b, &in)
	}
	path, auth := "/embeddings", r.Header.Get("Authorization")
	switch f.kind {
	case "ollama":
		path = "/api/embed"
	case "gemini":
		path, auth = "/models/"+f.model+":batchEmbedContents", "Bearer "+r.Header.Get("x-goog-api-key")
		for _, q := range in.Requests {
			in.Model = strings.TrimPrefix(q.Model, "models/")
			in.Input, in.InputType, in.Dimensions = append(in.Input, q.Content.Parts[0].Text), q.Task, q.Dim
		}
	}
	switch {
	case err != nil:
		f.refuse(w, 400, "invalid_json")
	case f.key != "" && auth != "Bearer "+f.key:
		f.refuse(w, 401, "invalid_api_key")
	case !strings.HasSuffix(r.URL.Path, path), in.Model != f.model:
		f.refuse(w, 404, "model_not_found")
	case len(in.Input) == 0:
		f.refuse(w, 400, "invalid_request_error")
	default:
		return in.Input, in.InputType, max(in.Dimensions, in.OutputDim)
	}
	return nil, "", 0
}

func (f *fake) answer(w http.ResponseWriter, vecs []any) {
	var items []any
	for i, v := range vecs {
		switch f.kind {
		case "ollama":
			items = append(items, v)
		case "gemini":
			items = append(items, map[string]any{"values": v})
		default:
			items = append(items, map[string]any{"object": "embedding", "index": i, "embedding": v})
		}
	}
	if f.shape != nil {
		items = f.shape(items)
	}
	switch f.kind {
	case "ollama", "gemini":
		f.send(w, map[string]any{"embeddings": items})
	default:
		f.send(w, map[string]any{"object": "list", "data": items, "usage": map[string]any{"total_tokens": 5}})
	}
}

func (f *fake) refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":"no, and your key %s is bad","code":%q}}`, f.key, code)
}

// send writes JSON, and what Go's encoder refuses: NaN as some servers do.
func (f *fake) send(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, strings.ReplaceAll(strings.ReplaceAll(string(b), `"NAN"`, "NaN"), `"HUGE"`, "1e400"))
}

// fakeVector is what the fake's model makes of a text: not of unit length, as with
// Gemini, and different for every text.
func fakeVector(text string, dim int) []any {
	out, h := make([]any, dim), uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	for i := range out {
		h = h*6364136223846793005 + 1442695040888963407
		out[i] = json.Number(strconv.FormatFloat(float64(int32(h>>33))/(1<<28), 'g', -1, 32))
	}
	return out
}

func asBase64(v []any) string {
	b := make([]byte, 0, 4*len(v))
	for _, n := range v {
		f, err := strconv.ParseFloat(string(n.(json.Number)), 32)
		if err != nil {
			panic(err)
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
	}
	return base64.StdEncoding.EncodeToString(b)
}

func (f *fake) open(t *testing.T) *embed.Remote {
	t.Helper()
	r, err := f.tryOpen(t, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = nil // the probe
	return r
}

func (f *fake) tryOpen(t *testing.T, dim int, known *embed.Identity) (*embed.Remote, error) {
	t.Helper()
	opt := provider.Options{
		Name: f.kind, URL: embed.DefaultURL(f.kind), Key: provider.Key(f.key), Transport: f,
		Allowed: func(string) error { return nil }, Jitter: func() float64 { return 0 },
	}
	if f.kind == "gemini" {
		opt.KeyHeader = "x-goog-api-key"
	}
	c, err := provider.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return embed.OpenRemote(t.Context(), embed.RemoteOptions{Name: f.kind, Kind: f.kind, Model: f.model, Dim: dim, Project: "app", Client: c}, known)
}
