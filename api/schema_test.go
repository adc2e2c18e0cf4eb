package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/foldwatch/foldwatch/api"
	"github.com/foldwatch/foldwatch/api/wire"
)

// A document is the checked-in description of the API, as a validator that is
// not ours reads it.
type document struct {
	root     map[string]any
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
	places   map[string]place
}

func openDocument(t *testing.T) *document {
	t.Helper()
	TestDocumentIsCheckedIn(t) // with -update it is written before it is read
	b, err := os.ReadFile(checkedIn)
	if err != nil {
		t.Fatal(err)
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{root: root.(map[string]any), compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}, places: map[string]place{}}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("file:///openapi.json", root); err != nil {
		t.Fatal(err)
	}
	return d
}

var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// A place is an object of the document, and where it stands.
type place struct {
	object map[string]any
	at     string
}

// at follows keys, and references, to an object and the place where it stands.
func (d *document) at(keys ...string) (map[string]any, string) {
	whole := strings.Join(keys, "\x00")
	if p, ok := d.places[whole]; ok {
		return p.object, p.at
	}
	p := d.follow(keys)
	d.places[whole] = p
	return p.object, p.at
}

func (d *document) follow(keys []string) place {
	v, at := any(d.root), ""
	for _, key := range keys {
		o, ok := v.(map[string]any)
		if !ok || o[key] == nil {
			return place{}
		}
		v, at = o[key], at+"/"+url.PathEscape(pointer.Replace(key))
		if ref, ok := v.(map[string]any)["$ref"].(string); ok {
			v, at = d.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		}
	}
	o, _ := v.(map[string]any)
	return place{o, at}
}

func (d *document) validate(at string, body []byte) error {
	s := d.compiled[at]
	if s == nil {
		var err error
		if s, err = d.compiler.Compile("file:///openapi.json#" + at); err != nil {
			return err
		}
		d.compiled[at] = s
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// statuses are those documented for a route.
func (d *document) statuses(r api.Route) []string {
	o, _ := d.at("paths", r.Path, strings.ToLower(r.Method), "responses")
	var out []string
	for status := range o {
		out = append(out, status)
	}
	slices.Sort(out)
	return out
}

// fault says what of an answer is not as documented, "" if nothing is.
func (d *document) fault(r api.Route, w *httptest.ResponseRecorder) string {
	keys := []string{"paths", r.Path, strings.ToLower(r.Method), "responses", fmt.Sprint(w.Code)}
	res, _ := d.at(keys...)
	if res == nil {
		return fmt.Sprintf("answered %d, which is not documented: %.300s", w.Code, w.Body)
	}
	headers, _ := res["headers"].(map[string]any)
	for name := range headers {
		h, _ := d.at(append(slices.Clone(keys), "headers", name)...)
		if h["required"] == true && w.Header().Get(name) == "" {
			return fmt.Sprintf("answered %d without %s", w.Code, name)
		}
	}
	content, _ := res["content"].(map[string]any)
	if content == nil {
		if w.Body.Len() > 0 {
			return fmt.Sprintf("answered %d with a body that is not documented: %.300s", w.Code, w.Body)
		}
		return ""
	}
	sent, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
	if err != nil {
		return fmt.Sprintf("answered %d with Content-Type %q", w.Code, w.Header().Get("Content-Type"))
	}
	for media := range content {
		if base, _, _ := strings.Cut(media, ";"); base != sent {
			continue
		}
		if !strings.HasSuffix(sent, "json") {
			return ""
		}
		_, at := d.at(append(slices.Clone(keys), "content", media)...)
		if err := d.validate(at+"/schema", w.Body.Bytes()); err != nil {
			return fmt.Sprintf("answered %d, against its schema: %v: %.300s", w.Code, err, w.Body)
		}
		if sent == "application/problem+json" {
			return problemFault(w)
		}
		if r.In != nil && hasNull(w.Body.Bytes()) {
			return fmt.Sprintf("answered with null: %.300s", w.Body)
		}
		return ""
	}
	return fmt.Sprintf("answered %d as %s, which is not documented: %.300s", w.Code, sent, w.Body)
}

// problemFault holds a problem to the registry of codes.
func problemFault(w *httptest.ResponseRecorder) string {
	var p wire.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		return err.Error()
	}
	known := slices.ContainsFunc(wire.Codes(), func(k wire.Kind) bool {
		return k.Code == p.Code && k.Title == p.Title && (k.Status == w.Code || k.Also == w.Code)
	})
	if !known || p.Status != w.Code || p.Type != wire.ProblemType(p.Code) || p.Request != w.Header().Get("X-Request-Id") || p.Request == "" {
		return fmt.Sprintf("answered %d with a problem that is not in the registry: %s", w.Code, w.Body)
	}
	return ""
}

// hasNull reports whether a null is anywhere in JSON: lists without items are [],
// and what is not known is left out.
func hasNull(b []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(b))
	for {
		tok, err := dec.Token()
		if err != nil {
			return false
		}
		if tok == nil {
			return true
		}
	}
}

// TestFaultsOfAnswersAreSeen shows the check what is wrong.
func TestFaultsOfAnswersAreSeen(t *testing.T) {
	t.Parallel()
	d, r := openDocument(t), api.Route{Method: "GET", Path: "/api/projects/{slug}/memories/{id}/links", In: nil}
	for _, tc := range []struct {
		status            int
		media, body, want string
	}{
		{418, "application/json", "{}", "not documented"},
		{200, "text/html", "<p>", "not documented"},
		{200, "application/json", `{}`, "schema"},
		{200, "application/json", `{"items":[],"more":1}`, "schema"},
		{200, "application/json", `{"items":[]`, "schema"},
		{200, "application/json", `{"items":[]}`, ""},
		{404, "application/problem+json", `{"type":"urn:foldwatch:problem:lost","title":"Lost","status":404,"code":"lost","request_id":"x"}`, "registry"},
		{404, "application/problem+json", `{"type":"urn:foldwatch:problem:not_found","title":"Not found","status":404,"code":"not_found","request_id":"x"}`, ""},
	} {
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", tc.media)
		w.Header().Set("X-Request-Id", "x")
		w.Header().Set("X-Foldwatch-Version", "x")
		w.WriteHeader(tc.status)
		_, _ = w.WriteString(tc.body)
		if got := d.fault(r, w); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%d %s %s: %q, want %q", tc.status, tc.media, tc.body, got, tc.want)
		}
	}
	w := httptest.NewRecorder()
	w.WriteHeader(http.StatusOK)
	if got := d.fault(r, w); !strings.Contains(got, "without") {
		t.Errorf("without headers: %q", got)
	}
}
