package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/foldwatch/foldwatch/api/client"
	"github.com/foldwatch/foldwatch/api/sock"
	"github.com/foldwatch/foldwatch/api/wire"
)

// byOthers are operations that no method of the client calls: MCP is spoken by the
// shim, and what is gone is called by nobody.
// Browsers log in.
var byOthers = []string{"mcp", "mcpStream", "mcpEnd", "mcpSSE", "login", "loginCallback", "logout", "resource", "resourceOfMCP"}

// TestClientCoversTheDocument calls every method of the client, generated or
// written by hand, and holds what it sends to the document: each request is an
// operation with its parameters and its body, and each operation is called.
func TestClientCoversTheDocument(t *testing.T) {
	t.Parallel()
	d, path := openDocument(t), sock.Path(filepath.Join(t.TempDir(), "r", "s"))
	ln, err := sock.Listen(path, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	called := map[string]bool{}
	faults := make(chan string, 1000)
	hs := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, fault := d.operationOf(r)
		mu.Lock()
		called[id] = true
		mu.Unlock()
		if fault != "" {
			faults <- r.Method + " " + r.URL.String() + " " + fault
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	})}
	ended := make(chan error, 1)
	go func() { ended <- hs.Serve(ln) }()
	c := client.New(path)
	v := reflect.ValueOf(c)
	for i := range v.NumMethod() {
		name, m := v.Type().Method(i).Name, v.Method(i)
		if slices.Contains([]string{"Close", "DaemonVersion", "Mismatch", "Notices", "Socket"}, name) {
			continue // asks nothing
		}
		in := []reflect.Value{reflect.ValueOf(t.Context())}
		for j := 1; j < m.Type().NumIn(); j++ {
			in = append(in, filled(m.Type().In(j)))
		}
		if out := m.Call(in); !out[len(out)-1].IsNil() {
			t.Errorf("%s: %v", name, out[len(out)-1])
		}
	}
	if err := c.Events(t.Context(), 7, nil, func(wire.Event) error { return nil }); err != nil {
		t.Error(err)
	}
	_ = hs.Close()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	close(faults)
	for fault := range faults {
		t.Error(fault)
	}
	all := 0
	d.eachOperation(func(_, _, id string, _ map[string]any) {
		all++
		if !called[id] && !clientless[id] && !slices.Contains(byOthers, id) {
			t.Errorf("%s: no method of the client calls it", id)
		}
	})
	t.Logf("CLIENT operations=%d called=%d", all, len(called))
}

// filled returns a value of a type with all its fields set to something.
func filled(typ reflect.Type) reflect.Value {
	v := reflect.New(typ).Elem()
	if typ == reflect.TypeFor[json.RawMessage]() {
		return reflect.ValueOf(json.RawMessage(`{}`))
	}
	switch typ.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int:
		v.SetInt(3)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(typ.Elem())))
	case reflect.Struct:
		for i := range v.NumField() {
			if typ.Field(i).IsExported() {
				v.Field(i).Set(filled(typ.Field(i).Type))
			}
		}
	}
	return v
}

func (d *document) eachOperation(fn func(path, method, id string, op map[string]any)) {
	paths, _ := d.at("paths")
	for path, item := range paths {
		for method, op := range item.(map[string]any) {
			o := op.(map[string]any)
			fn(path, method, o["operationId"].(string), o)
		}
	}
}

// operationOf returns the operation that a request calls, and what of the request
// is not in the document.
func (d *document) operationOf(r *http.Request) (id, fault string) {
	var found map[string]any
	best := -1
	d.eachOperation(func(path, method, name string, op map[string]any) {
		if literal, ok := matches(path, r.URL.Path); ok && strings.EqualFold(method, r.Method) && literal > best {
			id, found, best = name, op, literal
		}
	})
	if found == nil {
		return "", "is no operation"
	}
	known := map[string]bool{}
	params, _ := found["parameters"].([]any)
	for _, p := range params {
		p := p.(map[string]any)
		known[p["in"].(string)+" "+strings.ToLower(p["name"].(string))] = true
	}
	for name := range r.URL.Query() {
		if !known["query "+name] {
			return id, "has the parameter " + name + ", which is not documented"
		}
	}
	for _, name := range []string{"Last-Event-ID", "If-Match"} { // an Idempotency-Key comes with every POST
		if r.Header.Get(name) != "" && !known["header "+strings.ToLower(name)] {
			return id, "has the header " + name + ", which is not documented"
		}
	}
	if _, takes := found["requestBody"]; takes != (r.ContentLength > 0) {
		return id, "has a body where none is taken, or none where one is"
	}
	return id, ""
}

// matches reports whether a path is one of a template, and how many of its parts
// the template has by name.
func matches(template, path string) (literal int, ok bool) {
	a, b := strings.Split(template, "/"), strings.Split(path, "/")
	if len(a) != len(b) {
		return 0, false
	}
	for i := range a {
		switch {
		case strings.HasPrefix(a[i], "{"):
		case a[i] == b[i]:
			literal++
		default:
			return 0, false
		}
	}
	return literal, true
}
