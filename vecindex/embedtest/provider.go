// Package embedtest fakes providers of embeddings for tests of several packages.
package embedtest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Provider behaves as the real ones do: it knows its models, keeps to its limits,
// and tells documents from queries. It answers in this process, by [Provider.RoundTrip],
// where time can stand still, or on a port of this machine, by [Provider.Serve].
type Provider struct {
	Kind  string // ollama, openai, openrouter, gemini or voyage
	Model string
	Also  []string // other models it knows
	Dim   int
	Key   string // "" asks for none
	// limits, refused with 400 as the real ones do; 0 is none
	MaxTexts, MaxBytes int
	// Vector is what its model makes of a text. Nil has nothing to do with what the
	// text says, and is not of unit length, as with Gemini.
	Vector func(text string) []float32

	// Faults are what is wrong with it: set between requests, or by [Provider.Break].
	Faults
	// Asked are the requests for vectors so far: read between requests.
	Asked []Call

	mu sync.Mutex // guards Faults and Asked while requests come
}

// Faults are what may be wrong with a provider. The zero value is nothing.
type Faults struct {
	Gate  chan struct{}                           // closed lets requests through; nil is open
	Fault func(n int, w http.ResponseWriter) bool // answers request n itself, from 1
	Bend  func(vecs []any) []any                  // changes the vectors of an answer
	Shape func(items []any) []any                 // changes the items that hold them
}

// A Call is one request for vectors.
type Call struct {
	Texts []string
	Task  string
	At    time.Time
}

// Providers returns one of each kind, with the model that foldwatch asks by itself.
func Providers() []*Provider {
	return []*Provider{
		{Kind: "ollama", Model: "nomic-embed-text", Dim: 768, MaxTexts: 1000, MaxBytes: 1 << 20},
		{Kind: "openai", Model: "text-embedding-3-small", Dim: 1536, Key: "sk-" + "fake", MaxTexts: 256, MaxBytes: 8191 * 4},
		{Kind: "openrouter", Model: "openai/text-embedding-3-small", Dim: 1536, Key: "sk-or-" + "fake", MaxTexts: 256, MaxBytes: 8191 * 4},
		{Kind: "gemini", Model: "gemini-embedding-001", Dim: 3072, Key: "AI" + "fake", MaxTexts: 100, MaxBytes: 1 << 20},
		{Kind: "voyage", Model: "voyage-code-3", Dim: 1024, Key: "pa-" + "fake", MaxTexts: 1000, MaxBytes: 1 << 20},
	}
}

// Serve has p answer on a port of this machine until the test ends, and returns the
// URL of its root.
func (p *Provider) Serve(t testing.TB) string {
	url, stop := p.Start()
	t.Cleanup(stop)
	return url
}

// Start is Serve until stop is called, which lets go of requests that are held.
func (p *Provider) Start() (url string, stop func()) {
	s := httptest.NewServer(p)
	return s.URL, func() {
		s.CloseClientConnections()
		s.Close()
	}
}

// Break sets what is wrong from now on.
func (p *Provider) Break(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Faults = f
}

// Sent returns how many texts it was asked for.
func (p *Provider) Sent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, c := range p.Asked {
		n += len(c.Texts)
	}
	return n
}

// RoundTrip answers one request without a connection.
func (p *Provider) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.ServeHTTP(rec, r)
	}()
	<-done
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

// ServeHTTP answers one request.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == "/api/tags" && p.Kind == "ollama" {
		p.send(w, map[string]any{"models": []any{map[string]any{"name": p.Model + ":latest", "digest": "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"}}})
		return
	}
	texts, task, dim := p.read(w, r)
	if texts == nil {
		return
	}
	p.mu.Lock()
	p.Asked = append(p.Asked, Call{texts, task, time.Now()})
	n, wrong := len(p.Asked), p.Faults
	p.mu.Unlock()
	if wrong.Gate != nil {
		select {
		case <-wrong.Gate:
		case <-r.Context().Done():
			return
		}
	}
	if wrong.Fault != nil && wrong.Fault(n, w) {
		return
	}
	for _, t := range texts {
		if t == "" || p.MaxBytes > 0 && len(t) > p.MaxBytes || p.MaxTexts > 0 && len(texts) > p.MaxTexts {
			p.Refuse(w, http.StatusBadRequest, "invalid_request_error")
			return
		}
	}
	if dim == 0 {
		dim = p.Dim
	}
	vecs := make([]any, len(texts))
	for i, t := range texts {
		vecs[i] = p.vector(t, dim)
	}
	if wrong.Bend != nil {
		vecs = wrong.Bend(vecs)
	}
	p.answer(w, vecs, wrong.Shape)
}

// read takes a request apart as the provider's own server does.
func (p *Provider) read(w http.ResponseWriter, r *http.Request) (texts []string, task string, dim int) {
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
	switch p.Kind {
	case "ollama":
		path = "/api/embed"
	case "gemini":
		path, auth = "/models/"+p.Model+":batchEmbedContents", "Bearer "+r.Header.Get("x-goog-api-key")
		for _, q := range in.Requests {
			in.Model = strings.TrimPrefix(q.Model, "models/")
			in.Input, in.InputType, in.Dimensions = append(in.Input, q.Content.Parts[0].Text), q.Task, q.Dim
		}
	}
	switch {
	case err != nil:
		p.Refuse(w, http.StatusBadRequest, "invalid_json")
	case p.Key != "" && auth != "Bearer "+p.Key:
		p.Refuse(w, http.StatusUnauthorized, "invalid_api_key")
	case !strings.HasSuffix(r.URL.Path, path), in.Model != p.Model && !slices.Contains(p.Also, in.Model):
		p.Refuse(w, http.StatusNotFound, "model_not_found")
	case len(in.Input) == 0:
		p.Refuse(w, http.StatusBadRequest, "invalid_request_error")
	default:
		return in.Input, in.InputType, max(in.Dimensions, in.OutputDim)
	}
	return nil, "", 0
}

func (p *Provider) answer(w http.ResponseWriter, vecs []any, shape func([]any) []any) {
	var items []any
	for i, v := range vecs {
		switch p.Kind {
		case "ollama":
			items = append(items, v)
		case "gemini":
			items = append(items, map[string]any{"values": v})
		default:
			items = append(items, map[string]any{"object": "embedding", "index": i, "embedding": v})
		}
	}
	if shape != nil {
		items = shape(items)
	}
	switch p.Kind {
	case "ollama", "gemini":
		p.send(w, map[string]any{"embeddings": items})
	default:
		p.send(w, map[string]any{"object": "list", "data": items, "usage": map[string]any{"total_tokens": 5}})
	}
}

// Refuse answers with a status, and as some do with the key, which nobody may
// repeat.
func (p *Provider) Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error":{"message":"no, and your key %s is bad","code":%q}}`, p.Key, code)
}

// send writes JSON, and what Go's encoder refuses: NaN as some servers do.
func (p *Provider) send(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, strings.ReplaceAll(strings.ReplaceAll(string(b), `"NAN"`, "NaN"), `"HUGE"`, "1e400"))
}

// vector is what the model makes of a text, as numbers of JSON.
func (p *Provider) vector(text string, dim int) []any {
	if p.Vector != nil {
		var out []any
		for _, f := range p.Vector(text) {
			out = append(out, f)
		}
		return out
	}
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

// Base64 is a vector of an answer in the other form that some have.
func Base64(v []any) string {
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
