package mcp

import (
	"reflect"
	"strings"
	"time"
)

// A field is one property of a JSON object, as a Go struct has it. Embedded
// structs are flattened; of two fields with one name the outer one counts.
type field struct {
	name     string
	index    []int
	typ      reflect.Type
	tag      reflect.StructTag
	optional bool
}

// hidden are properties that no agent may set: only a person may allow a credential to be
// stored.
var hidden = map[string]bool{"allow_secret": true}

func fieldsOf(t reflect.Type) []field {
	var out []field
	at := map[string]int{}
	var walk func(t reflect.Type, index []int)
	walk = func(t reflect.Type, index []int) {
		for i := range t.NumField() {
			f := t.Field(i)
			here := append(append([]int{}, index...), i)
			if f.Anonymous && f.Tag.Get("json") == "" {
				walk(f.Type, here)
				continue
			}
			name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.IsExported() || name == "-" || name == "" || hidden[name] {
				continue
			}
			g := field{name: name, index: here, typ: f.Type, tag: f.Tag, optional: strings.Contains(opts, "omitempty") || f.Type.Kind() == reflect.Pointer}
			if j, ok := at[name]; ok {
				if len(here) < len(out[j].index) {
					out[j] = g
				}
				continue
			}
			at[name] = len(out)
			out = append(out, g)
		}
	}
	walk(t, nil)
	return out
}

// outputDepth is how deep the schemas of results go. Deeper objects have no properties,
// since every client pays for tools/list in tokens.
const outputDepth = 2

// inputSchema and outputSchema return the JSON schema of a struct. Maps marshal
// with sorted keys, so that equal types always give equal bytes.
func inputSchema(t reflect.Type) map[string]any  { return schemaOf(t, true, 1<<10) }
func outputSchema(t reflect.Type) map[string]any { return schemaOf(t, false, outputDepth) }

func schemaOf(t reflect.Type, input bool, depth int) map[string]any {
	switch {
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem(), input, depth)
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Struct:
		if depth == 0 {
			return map[string]any{"type": "object"}
		}
		return objectSchema(t, input, depth-1)
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), input, depth)}
	case reflect.Map:
		return map[string]any{"type": "object"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{"type": "string"}
}

// objectSchema has only what a client must know to make a call, since every agent pays for
// it in tokens in each session. The meaning of parameters is in the server's instructions;
// errors name limits and unknown parameters.
func objectSchema(t reflect.Type, input bool, depth int) map[string]any {
	properties := map[string]any{}
	required := []string{}
	for _, f := range fieldsOf(t) {
		below := depth
		if _, brief := f.tag.Lookup("brief"); brief && input {
			below = 0 // another tool tells it
		}
		p := schemaOf(f.typ, input, below)
		if enum := f.tag.Get("enum"); enum != "" {
			p["enum"] = strings.Split(enum, ",")
		}
		properties[f.name] = p
		if !f.optional {
			required = append(required, f.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}
