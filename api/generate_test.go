package api_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/foldwatch/foldwatch/api"
)

var update = flag.Bool("update", false, "rewrite generated and golden files")

const generated = "client/client_gen.go"

// TestClientIsGenerated holds the client to the operations of the server; with
// -update it writes it.
func TestClientIsGenerated(t *testing.T) {
	want, err := format.Source(generateClient(t))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(generated, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(generated)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the routes give; run: make openapi", generated)
	}
}

// clientless are routes whose twin is in the client already.
var clientless = map[string]bool{"removeLinkOf": true, "ready": true, "createTokenOfAuth": true, "tokensOfAuth": true, "revokeTokenOfAuth": true}

// arguments turns the input of an operation into those of a client method.
type arguments struct {
	params []string // "slug string"
	path   map[string]string
	query  []string // statements
	body   string
}

func generateClient(t *testing.T) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated from the routes of package api; DO NOT EDIT.\n\npackage client\n\nimport (\n\t\"context\"\n\t\"net/url\"\n\n\t\"github.com/foldwatch/foldwatch/api/wire\"\n)\n")
	for _, r := range api.Routes() {
		if r.In == nil || clientless[r.ID] {
			continue
		}
		name := strings.ToUpper(r.ID[:1]) + r.ID[1:]
		a := arguments{path: map[string]string{}, body: "nil"}
		a.read(t, r.In)
		fmt.Fprintf(&b, "\n// %s calls %s: %s.\n", name, r.Pattern(), strings.ToLower(r.Summary[:1])+r.Summary[1:])
		params := strings.Join(append([]string{"ctx context.Context"}, a.params...), ", ")
		results, out := "error", "nil"
		if r.Out != nil {
			results, out = "("+typeName(r.Out)+", error)", "&out"
		}
		fmt.Fprintf(&b, "func (c *Client) %s(%s) %s {\n", name, params, results)
		query := "nil"
		if len(a.query) > 0 {
			query = "q"
			b.WriteString("q := url.Values{}\n" + strings.Join(a.query, "\n") + "\n")
		}
		call := fmt.Sprintf("c.call(ctx, %q, %s, %s, %s, %s)", r.Method, a.pathOf(r.Path), query, a.body, out)
		if r.Out == nil {
			fmt.Fprintf(&b, "return %s\n}\n", call)
			continue
		}
		fmt.Fprintf(&b, "var out %s\nerr := %s\nreturn out, err\n}\n", typeName(r.Out), call)
	}
	return b.Bytes()
}

func typeName(t reflect.Type) string { return t.String() }

// read collects the arguments that a struct of inputs needs, in its order.
func (a *arguments) read(t *testing.T, in reflect.Type) {
	for f := range in.Fields() {
		switch {
		case f.Tag.Get("header") != "":
		case f.Name == "Body":
			body := f.Type
			if body.Kind() == reflect.Pointer {
				body = body.Elem()
			}
			a.params, a.body = append(a.params, "in "+typeName(body)), "in"
		case f.Anonymous && strings.HasSuffix(f.Type.PkgPath(), "/wire"):
			a.params = append(a.params, "query "+typeName(f.Type))
			for g := range f.Type.Fields() {
				a.set(t, g, "query."+g.Name)
			}
		case f.Anonymous:
			a.read(t, f.Type)
		case f.Tag.Get("path") != "":
			name := argName(f.Name)
			a.params = append(a.params, name+" string")
			a.path[f.Tag.Get("path")] = name
		case f.Tag.Get("query") != "":
			name := argName(f.Name)
			a.params = append(a.params, name+" "+f.Type.String())
			a.set(t, f, name)
		}
	}
}

func (a *arguments) set(t *testing.T, f reflect.StructField, value string) {
	name := f.Tag.Get("query")
	if name == "" {
		t.Fatalf("field %s has no query tag", f.Name)
	}
	switch f.Type.Kind() {
	case reflect.String:
		a.query = append(a.query, fmt.Sprintf("setString(q, %q, %s)", name, value))
	case reflect.Int:
		a.query = append(a.query, fmt.Sprintf("setInt(q, %q, %s)", name, value))
	case reflect.Bool:
		a.query = append(a.query, fmt.Sprintf("setBool(q, %q, %s)", name, value))
	case reflect.Slice:
		a.query = append(a.query, fmt.Sprintf("setString(q, %q, listOf(%s))", name, value))
	default:
		t.Fatalf("query %s: no way to write a %s", name, f.Type)
	}
}

func argName(field string) string {
	if field == strings.ToUpper(field) {
		return strings.ToLower(field)
	}
	return strings.ToLower(field[:1]) + field[1:]
}

// pathOf writes the path of a route as an expression.
func (a *arguments) pathOf(path string) string {
	var parts []string
	for path != "" {
		before, rest, found := strings.Cut(path, "{")
		if before != "" {
			parts = append(parts, fmt.Sprintf("%q", before))
		}
		if !found {
			break
		}
		name, after, _ := strings.Cut(rest, "}")
		parts = append(parts, "url.PathEscape("+a.path[name]+")")
		path = after
	}
	return strings.Join(parts, " + ")
}
