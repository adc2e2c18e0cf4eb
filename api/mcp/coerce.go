package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foldwatch/foldwatch/meta/fold"
)

// coerce fills the struct that out points to from the arguments of a call. Models write
// "true" for true, "5" for 5, "a, b" for a list, and objects as text; all of these are
// accepted. Anything else is an ErrInvalid that says what is expected.
func coerce(raw json.RawMessage, out any, tool string) error {
	args := map[string]any{}
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && string(raw) != "null" {
		v, err := decode(raw)
		if err != nil {
			return fmt.Errorf("the arguments are no JSON object: %w", fold.ErrInvalid)
		}
		if text, ok := v.(string); ok {
			if v, err = decode([]byte(text)); err != nil {
				return fmt.Errorf("the arguments are text, not a JSON object: %w", fold.ErrInvalid)
			}
		}
		object, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("the arguments must be a JSON object: %w", fold.ErrInvalid)
		}
		args = object
	}
	return fill(reflect.ValueOf(out).Elem(), args, tool)
}

func decode(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("more than one value: %w", fold.ErrInvalid)
	}
	return v, nil
}

// fill sets the fields of a struct; where names it in errors.
func fill(v reflect.Value, args map[string]any, where string) error {
	fields := fieldsOf(v.Type())
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, f.name)
		arg, ok := args[f.name]
		if !ok || arg == nil {
			if !f.optional && f.name != "project" {
				return fmt.Errorf("%s needs %s (%s): %w", where, f.name, typeWord(f.typ), fold.ErrInvalid)
			}
			continue
		}
		if err := set(v.FieldByIndex(f.index), arg, f.name); err != nil {
			return err
		}
		if err := within(v.FieldByIndex(f.index), f); err != nil {
			return err
		}
	}
	unknown := []string{}
	for name := range args {
		if !slices.Contains(names, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		slices.Sort(names)
		return fmt.Errorf("%s has no parameter %q; it takes: %s: %w", where, unknown[0], strings.Join(names, ", "), fold.ErrInvalid)
	}
	return nil
}

// within checks a value against the limits that its schema tells.
func within(v reflect.Value, f field) error {
	v = reflect.Indirect(v)
	if enum := f.tag.Get("enum"); enum != "" && v.Kind() == reflect.String && v.String() != "" && !slices.Contains(strings.Split(enum, ","), v.String()) {
		return fmt.Errorf("%s must be one of %s, not %q: %w", f.name, strings.ReplaceAll(enum, ",", ", "), clip(v.String(), 40), fold.ErrInvalid)
	}
	if f.tag.Get("minLength") != "" && v.Kind() == reflect.String && strings.TrimSpace(v.String()) == "" {
		return fmt.Errorf("%s is empty: %w", f.name, fold.ErrInvalid)
	}
	if f.tag.Get("minItems") != "" && v.Kind() == reflect.Slice && v.Len() == 0 {
		return fmt.Errorf("%s is empty: %w", f.name, fold.ErrInvalid)
	}
	var n float64
	switch v.Kind() {
	case reflect.Int:
		n = float64(v.Int())
	case reflect.Float64:
		n = v.Float()
	default:
		return nil
	}
	if low, err := strconv.ParseFloat(f.tag.Get("minimum"), 64); err == nil && n < low {
		return fmt.Errorf("%s is %v and must be at least %v: %w", f.name, n, low, fold.ErrInvalid)
	}
	if high, err := strconv.ParseFloat(f.tag.Get("maximum"), 64); err == nil && n > high {
		return fmt.Errorf("%s is %v and must be at most %v: %w", f.name, n, high, fold.ErrInvalid)
	}
	return nil
}

func typeWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return typeWord(t.Elem())
	}
	return "text"
}

// set stores one argument in v, taken as meant.
func set(v reflect.Value, arg any, name string) error {
	bad := func() error {
		b, err := json.Marshal(arg)
		if err != nil {
			b = nil
		}
		return fmt.Errorf("%s must be %s, not %s: %w", name, typeWord(v.Type()), clip(string(b), 60), fold.ErrInvalid)
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return set(v.Elem(), arg, name)
	case reflect.String:
		switch a := arg.(type) {
		case string:
			v.SetString(a)
		case json.Number, bool:
			v.SetString(fmt.Sprint(a))
		default:
			return bad()
		}
	case reflect.Bool:
		b, ok := toBool(arg)
		if !ok {
			return bad()
		}
		v.SetBool(b)
	case reflect.Int:
		n, ok := toNumber(arg)
		if !ok || n != math.Trunc(n) || math.Abs(n) > 1<<53 {
			return bad()
		}
		v.SetInt(int64(n))
	case reflect.Float64:
		n, ok := toNumber(arg)
		if !ok {
			return bad()
		}
		v.SetFloat(n)
	case reflect.Slice:
		return setSlice(v, arg, name, bad)
	case reflect.Struct:
		return setStruct(v, arg, name, bad)
	default:
		return bad()
	}
	return nil
}

func setSlice(v reflect.Value, arg any, name string, bad func() error) error {
	if text, ok := arg.(string); ok {
		text = strings.TrimSpace(text)
		switch {
		case strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{"):
			var err error
			if arg, err = decode([]byte(text)); err != nil {
				return bad()
			}
		case v.Type().Elem().Kind() == reflect.String:
			items := []any{}
			for s := range strings.SplitSeq(text, ",") {
				if s = strings.TrimSpace(s); s != "" {
					items = append(items, s)
				}
			}
			arg = items
		default:
			return bad()
		}
	}
	items, ok := arg.([]any)
	if !ok {
		items = []any{arg} // one item, without the list around it
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		if err := set(list.Index(i), item, name+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func setStruct(v reflect.Value, arg any, name string, bad func() error) error {
	if v.Type() == reflect.TypeFor[time.Time]() {
		text, ok := arg.(string)
		if !ok {
			return bad()
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return bad()
		}
		v.Set(reflect.ValueOf(at))
		return nil
	}
	if text, ok := arg.(string); ok {
		var err error
		if arg, err = decode([]byte(text)); err != nil {
			return bad()
		}
	}
	object, ok := arg.(map[string]any)
	if !ok {
		return bad()
	}
	return fill(v, object, name)
}

func toBool(arg any) (bool, bool) {
	switch a := arg.(type) {
	case bool:
		return a, true
	case json.Number:
		return a != "0", a == "0" || a == "1"
	case string:
		switch strings.ToLower(strings.TrimSpace(a)) {
		case "true", "yes", "on", "1":
			return true, true
		case "false", "no", "off", "0", "":
			return false, true
		}
	}
	return false, false
}

func toNumber(arg any) (float64, bool) {
	var text string
	switch a := arg.(type) {
	case json.Number:
		text = a.String()
	case string:
		text = strings.TrimSpace(a)
	default:
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
}
